"""What a golden database holds, and whether a ledger that opened it still tells all of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from cluster.filters import Eq
from cluster.model import ApiKey, Generation, ItemProblem, Run, Scope, Turn
from cluster.stores.protocols import Ledger, Shown, UsageReport
from contract.samples import (
    DIM,
    FINGERPRINT,
    NOW,
    chunk_ids,
    prepared,
    publish,
    put,
    show,
    vectors_of,
)

PORTS = Scope(tenant="harbour", owner="pilot")
OTHERS = Scope(tenant="hangar")
LATER = datetime(2026, 5, 2, tzinfo=UTC)

FIRST = prepared(
    "install.md",
    "Unpack the archive. Then start the service on port 8730.",
    edition="1.0",
    tenant="harbour",
    metadata={
        "title": "Installing",
        "author": "Documentation team",
        "product": "beacon",
        "tags": ("setup", '100% \\ "quoted"'),
        "authority": 0.8,
        "license": "CC0",
        "published_at": datetime(2025, 3, 1, tzinfo=UTC),
        "provenance": {"title": "front_matter", "product": "rule:folder"},
    },
)
SECOND = prepared(
    "install.md",
    "Run one command. It unpacks, starts and checks the service.",
    edition="2.0",
    tenant="harbour",
    metadata={"title": "Installing", "product": "beacon"},
)
SECOND_BEFORE = prepared(
    "install.md",
    "Run two commands. The second one checks the service.",
    edition="2.0",
    tenant="harbour",
    metadata={"title": "Installing", "product": "beacon"},
)
CHINESE = prepared(
    "zh/安装.md",
    "解压安装包，然后在 8730 端口启动服务。🙂",
    tenant="harbour",
    metadata={"title": "安装", "language": "zh", "product": "beacon"},
)
TURN = prepared(
    "talk/0",
    "Which port does the service use? 服务用哪个端口？",
    tenant="harbour",
    owner="pilot",
    agent="helper",
    pieces=1,
    turn=Turn(conversation="talk", session="morning", ordinal=0, speaker="user", said_at=NOW),
)
DRAFT = prepared("draft.md", "Not yet shown. 尚未发布。", tenant="harbour")
GONE = prepared("gone.md", "This page was deleted. 此页已删除。", tenant="harbour")
TWIN = prepared(
    "install.md",
    FIRST.revision.text,
    edition="1.0",
    tenant="hangar",
)

ENCODER = Generation(fingerprint=FINGERPRINT, dim=DIM, recipe={"model": "test", "centred": "no"})
RUN = Run(
    run_id="run-1",
    tenant="harbour",
    arguments={"source": "docs", "说明": "首次"},
    state="running",
    started_at=NOW,
    finished_at=None,
    counts={},
)
PROBLEM = ItemProblem(
    origin="file:///坏的.pdf", stage="parse", outcome="failed", kind="broken", reason="文件损坏"
)
UPLOAD = ("run-2", "harbour", "手册.md", "text/markdown", b"\x00\xff bytes", {"source": "docs"})
KEY = ApiKey(
    key_id="key-1",
    tenant="harbour",
    role="write",
    name="值班",
    owner="pilot",
    agent=None,
    created_at=NOW,
)
PACKED = b"\x01\x00\xff packed \\ token vectors"
TOLD = CHINESE.chunks[0].chunk_id
USED = UsageReport(
    search_id="srch_00000000000000000000000000", artifact="第一章.md", used=(TOLD,),
    verdicts={TOLD: "outdated"},
)  # fmt: skip
REVOKED = replace(KEY, key_id="key-2", role="read", name="old", owner=None)


async def fill(ledger: Ledger) -> None:
    """A few rows in every table, also in states that only last for moments."""
    async with ledger.transaction() as tx:
        await tx.generations.activate(ENCODER)
    await show(ledger, FIRST, SECOND_BEFORE, CHINESE, TURN, GONE, TWIN)
    async with ledger.transaction() as tx:
        await tx.outbox.done(await tx.outbox.take(limit=6))
    await show(ledger, SECOND, now=LATER)
    await put(ledger, DRAFT, now=LATER)
    async with ledger.transaction() as tx:
        kept = vectors_of([CHINESE])
        await tx.vectors.put(kept, fingerprint=FINGERPRINT, tokens=dict.fromkeys(kept, PACKED))
        await tx.documents.delete(PORTS, [GONE.revision.document_id])
        await tx.usage.add_shown([Shown(tenant="harbour", owner="pilot", chunk_id=TOLD, times=3)])
        await tx.usage.report(PORTS, USED, now=NOW)
    async with ledger.transaction() as tx:
        await tx.runs.start(RUN)
        await tx.runs.add_problems(RUN.run_id, [PROBLEM])
        await tx.runs.update(
            RUN.run_id, state="failed", counts={"loaded": 7, "failed": 1}, now=LATER, error="中断"
        )
        run, tenant, name, media_type, content, arguments = UPLOAD
        await tx.uploads.put(
            run, tenant, name=name, media_type=media_type, content=content, arguments=arguments
        )
        await tx.keys.put(KEY, secret_sha256="1" * 64)
        await tx.keys.put(REVOKED, secret_sha256="2" * 64)
        await tx.keys.revoke(REVOKED.key_id, now=LATER)


async def check(ledger: Ledger) -> None:
    """Everything that `fill` put is there, through the ledger's own verbs."""
    await _check_documents(ledger)
    await _check_owed(ledger)
    await _check_operations(ledger)
    await _check_usage(ledger)


async def check_life(ledger: Ledger) -> None:
    """And life goes on: publish what was pending, write, delete."""
    before = await _counts(ledger)
    assert await publish(ledger, DRAFT, now=LATER) == 1
    new = prepared("later.md", "Written by the newer version. 新版本写入。", tenant="harbour")
    await show(ledger, new, now=LATER)
    async with ledger.transaction() as tx:
        held = vectors_of([TURN])
        await tx.vectors.put(held, fingerprint=FINGERPRINT, tokens=dict.fromkeys(held, PACKED))
        tokens = await tx.vectors.tokens_of(PORTS, chunk_ids(TURN), fingerprint=FINGERPRINT)
        assert tokens == dict.fromkeys(chunk_ids(TURN), PACKED)
        assert len(await tx.documents.visible(PORTS, chunk_ids(DRAFT, new))) == 4
        assert await tx.documents.delete(PORTS, [CHINESE.revision.document_id]) == 1
        assert await tx.documents.visible(PORTS, chunk_ids(CHINESE)) == {}
    after = await _counts(ledger)
    assert (after["documents"], after["pending"]) == (before["documents"] + 1, 0)


async def _check_documents(ledger: Ledger) -> None:
    shown = (FIRST, SECOND, CHINESE, TURN)
    hidden = (SECOND_BEFORE, DRAFT, GONE, TWIN)
    async with ledger.transaction() as tx:
        found = await tx.documents.visible(PORTS, chunk_ids(*shown, *hidden))
        assert found.keys() == set(chunk_ids(*shown))
        first = found[FIRST.chunks[0].chunk_id]
        assert (first.chunk, first.metadata) == (FIRST.chunks[0], FIRST.revision.metadata)
        assert (first.newest_edition, first.other_editions) == (False, ("2.0",))
        assert found[TURN.chunks[0].chunk_id].turn == TURN.revision.turn
        alone = await tx.documents.visible(Scope(tenant="harbour"), chunk_ids(TURN, FIRST))
        assert alone.keys() == set(chunk_ids(FIRST))
        assert (await tx.documents.visible(OTHERS, chunk_ids(TWIN))).keys() == set(chunk_ids(TWIN))
        for one in shown:
            text = await tx.documents.text(PORTS, one.revision.revision_id)
            assert text == one.revision.text
        page, _ = await tx.documents.page(PORTS, where=Eq("product", "beacon"), after=None, limit=9)
        assert {one.title for one in page} == {"Installing", "安装"}
        assert [one.edition for one in page if one.title == "Installing"] == ["1.0", "2.0"]
        digests = await tx.documents.digests("harbour", [CHINESE.revision.origin])
        assert digests == {CHINESE.revision.origin: CHINESE.revision.item_digest}


async def _check_owed(ledger: Ledger) -> None:
    held = vectors_of((FIRST, SECOND, CHINESE, TURN, DRAFT, TWIN))
    async with ledger.transaction() as tx:
        entries = await tx.outbox.take(limit=1000)
        owed = {entry.chunk_id: entry.operation for entry in entries}
        assert {owed.get(chunk_id) for chunk_id in chunk_ids(DRAFT)} == {"upsert"}
        assert {owed.get(chunk_id) for chunk_id in chunk_ids(SECOND_BEFORE, GONE)} == {"delete"}
        assert await tx.generations.active() == ENCODER
        vectors = await tx.vectors.get(list(held), fingerprint=FINGERPRINT)
    assert vectors.keys() == held.keys()
    assert all((vectors[key] == held[key]).all() for key in held)


async def _check_operations(ledger: Ledger) -> None:
    async with ledger.transaction() as tx:
        run, problems = await tx.runs.get("harbour", RUN.run_id)
        assert (run.state, run.error, run.arguments) == ("failed", "中断", RUN.arguments)
        assert (run.counts, problems) == ({"loaded": 7, "failed": 1}, [PROBLEM])
        assert await tx.uploads.get(UPLOAD[0]) == UPLOAD[1:]
        assert await tx.keys.find("1" * 64) == KEY
        assert await tx.keys.find("2" * 64) is None
        assert {key.key_id for key in await tx.keys.all_of("harbour")} == {"key-1", "key-2"}


async def _check_usage(ledger: Ledger) -> None:
    """Schemas before 9 had none."""
    async with ledger.transaction() as tx:
        for usage in await tx.usage.of_document(PORTS, CHINESE.revision.document_id):
            assert (usage.chunk_id, usage.shown, usage.used) == (TOLD, 3, 1)
            assert (usage.used_in, usage.verdicts) == ((USED.artifact,), {"outdated": 1})
        headed = await tx.lookups.headed(PORTS, ["start"], where=None, limit=9)
        assert CHINESE.chunks[1].chunk_id in {one.id for one in headed}


async def _counts(ledger: Ledger) -> dict[str, int]:
    async with ledger.transaction() as tx:
        return await tx.documents.counts("harbour")
