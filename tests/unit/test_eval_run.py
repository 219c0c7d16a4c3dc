"""Questions asked of the real pipeline on the reference stores, and what is written down."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from serving import TENANT, fill, memory_stores, prepared, service_on

from cluster.filters import Eq
from cluster.model import Metadata, Scope
from eval.ablation import ablate
from eval.citations import faults, trace
from eval.recording import recorded
from eval.records import Record, stages_of
from eval.replay import replayed
from eval.results import About, Results
from eval.run import as_question, ask, ask_all
from eval.scores import score
from eval.sets import Asked, Corpus, EvalSet
from eval.truncation import truncate
from serve.service import Service

TEXTS = {
    "lease": "A worker holds the lease of a task for thirty seconds.",
    "retry": "A task that failed is tried again eight times.",
    "vector": "Vectors are kept beside the chunk they belong to.",
}
SET = EvalSet(
    name="tiny",
    corpus=Corpus(name="tiny", file=Path("corpus.jsonl"), documents=3),
    questions=(
        Asked(question_id="q1", text="how long is a lease?", relevant={"lease": 1}, group="q1"),
        Asked(
            question_id="q2",
            text="vectors of a chunk",
            relevant={"vector": 1},
            group="q2",
            where=Eq("path", "retry"),
        ),
    ),
)


async def served() -> Service:
    stores = memory_stores()
    await fill(
        stores,
        [
            prepared(path, text, tenant=SET.corpus.tenant, metadata=Metadata(language="en"))
            for path, text in TEXTS.items()
        ]
        + [prepared("lease", TEXTS["lease"], tenant=TENANT)],
    )
    return service_on(stores)


async def answers() -> dict[str, Record]:
    kept: list[Record] = []
    await ask_all(SET.questions, await served(), of=SET, keep=kept.append)
    return {record.question_id: record for record in kept}


async def test_every_stage_is_written_down() -> None:
    record = (await answers())["q1"]
    assert stages_of([record])[-3:] == ["ranked", "passages", "final"]
    assert record.ranking("keyword")[0] == record.ranking("final")[0] == "lease"
    assert set(record.ranking("semantic")) <= set(TEXTS)
    heard = record.channels["keyword"].listed
    assert [chunk for chunk, _ in heard] == [chunk for chunk, _, _ in record.stages["keyword"]]
    assert all(score is not None for _, _, score in record.stages["final"])
    assert record.failures == ()
    assert record.timings_ms["total"] > 0


async def test_a_question_stays_inside_its_filter() -> None:
    record = (await answers())["q2"]
    assert set(record.ranking("final")) == {"retry"}
    assert score(
        Results(
            about=About(dataset="tiny", data="", fingerprint="", settings={}, code=""),
            records=(record,),
        )
    ).figure("final", "ndcg@10").value == 0.0  # fmt: skip


async def test_what_was_heard_of_one_question_is_not_told_of_another() -> None:
    many = replace(
        SET,
        questions=tuple(
            replace(SET.questions[0], question_id=f"q{number}", text=text)
            for number, text in enumerate(["lease of a task", "vectors", "tried eight times"] * 5)
        ),
    )
    kept: list[Record] = []
    await ask_all(many.questions, await served(), of=many, keep=kept.append)
    first = {record.question_id: record.stages["keyword"][0][1] for record in kept}
    wanted = ["lease", "vector", "retry"] * 5
    assert first == {f"q{number}": path for number, path in enumerate(wanted)}


async def test_replaying_what_was_kept_gives_the_same_passages() -> None:
    service = await served()
    kept: list[Record] = []
    await ask_all(SET.questions, service, of=SET, keep=kept.append)
    for record in kept:
        asked = next(each for each in SET.questions if each.question_id == record.question_id)
        again = await ask(asked, replayed(service, record), of=SET)
        assert again.stages["final"] == record.stages["final"]


async def test_a_replayed_channel_is_not_asked() -> None:
    service = await served()
    kept: list[Record] = []
    await ask_all(SET.questions[:1], service, of=SET, keep=kept.append)
    one = kept[0].channels["semantic"].listed[:1]
    short = replace(
        kept[0],
        channels={name: replace(each, listed=one) for name, each in kept[0].channels.items()},
    )
    again = await ask(SET.questions[0], replayed(service, short), of=SET)
    assert [chunk for chunk, _, _ in again.stages["final"]] == [one[0][0]]


async def test_each_stage_is_weighed_on_the_same_questions() -> None:
    service = await served()
    kept: list[Record] = []
    await ask_all(SET.questions[:1], service, of=SET, keep=kept.append)
    about = About(dataset="tiny", data="", fingerprint="", settings={}, code="")
    worths = await ablate(SET, Results(about=about, records=tuple(kept)), service)
    by_stage = {worth.stage: worth for worth in worths}
    assert {"keyword", "semantic", "rerank", "windows", "bonuses", "tail guard"} <= set(by_stage)
    assert by_stage["keyword"].with_it == 1.0
    assert all(worth.difference.questions == 1 for worth in worths)


async def test_every_shown_passage_is_followed_to_its_source() -> None:
    traced = await trace(SET, SET.questions, await served())
    assert (traced.answers, traced.wrong) == (2, ())
    assert traced.passages >= 2
    assert (traced.sources, traced.stale, traced.repeated) == (traced.passages, 0, 0)


async def test_a_citation_that_does_not_hold_is_told() -> None:
    service = await served()
    question = as_question(SET.questions[0], scope=Scope(tenant=SET.corpus.tenant))
    passage = (await service.search(question)).passages[0]
    stored = TEXTS["lease"]
    assert faults(passage, stored=stored) == []
    assert "is not stored" in faults(passage, stored=None)[0]
    assert len(faults(passage, stored=f"{stored} And more.")) == 1
    assert len(faults(passage, stored=stored.replace("thirty", "fifty"))) == 2
    unexplained = replace(passage, reasons=replace(passage.reasons, channels=()))
    assert "why it was found" in faults(unexplained, stored=stored)[0]


async def test_half_of_the_tokens_are_kept_to() -> None:
    told = await truncate(SET, SET.questions[:1], await served())
    assert told.passages_before == 3
    assert told.tokens_after <= max(told.tokens_before / 2, 64)
    assert told.change.value == 0.0
    assert told.repeated_before == told.repeated_after == 0.0


async def test_a_document_that_a_passage_names_as_its_copy_stands_behind_it() -> None:
    stores = memory_stores()
    about = Metadata(language="en")
    tenant = SET.corpus.tenant
    copies = {"lease": TEXTS["lease"], "other-lease": TEXTS["lease"], "retry": TEXTS["retry"]}
    await fill(
        stores,
        [prepared(path, text, tenant=tenant, metadata=about) for path, text in copies.items()],
    )
    record = await ask(SET.questions[0], recorded(service_on(stores)), of=SET)
    assert len({"lease", "other-lease"} & set(record.ranking("passages"))) == 1
    assert set(record.ranking("final")[:2]) == {"lease", "other-lease"}
