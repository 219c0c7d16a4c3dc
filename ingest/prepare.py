"""Item -> revision with chunks: parse, chunk, metadata, authority. No store, no model."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from cluster.errors import UnreadableItem
from cluster.ids import content_id, digest, revision_id, sha256_hex
from cluster.model import Revision
from cluster.settings import Settings
from cluster.stores.protocols import Prepared
from ingest import authority, chunk, metadata
from ingest.chunk import ChunkLimits, ChunkSpan
from ingest.load import Item
from ingest.metadata import Layer, Resolved
from ingest.near_duplicates import sketches
from ingest.parse.dispatch import parse
from ingest.parse.parsed import Block, Parsed, ParseLimits
from ingest.path_rules import PathFacts, path_facts
from ingest.rules import Rules, canonical

RECIPE = f"prepare-2/{chunk.RECIPE}"
"""Changes whenever the same bytes would give another revision."""

_IN_TEXT = ("front_matter", "html", "file", "text")


class TokenCounter(Protocol):
    """The part of an `Embedder` that chunking needs."""

    @property
    def max_tokens(self) -> int: ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything about a run that a stage has to know; travels to every worker.

    `flags` hold fields under our names that override all others; `source` names the source;
    `owner` and `agent` are put on every revision. `chunked_as` is `Generation.chunked_as`.
    """

    settings: Settings
    run_id: str
    tenant: str
    rules: Rules
    fingerprint: str
    chunked_as: str
    flags: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None
    owner: str | None = None
    agent: str | None = None

    def chunk_limits(self, encoder_max_tokens: int) -> ChunkLimits:
        most = min(self.settings.chunk.max_tokens, encoder_max_tokens)
        return ChunkLimits(
            max_tokens=most, target_tokens=min(self.settings.chunk.target_tokens, most)
        )

    @property
    def parse_limits(self) -> ParseLimits:
        ingest = self.settings.ingest
        return ParseLimits(
            max_item_bytes=int(ingest.max_item_mb * 1024 * 1024),
            max_unpacked_bytes=int(ingest.max_unpacked_mb * 1024 * 1024),
        )

    @property
    def recipe(self) -> str:
        """What shapes chunks beside the content; the limit of the encoder that they were first
        cut for is in its name."""
        limits = self.settings.chunk
        return f"{RECIPE}|{limits.max_tokens}|{limits.target_tokens}|{self.chunked_as}"

    def item_digest(self, item: Item) -> str:
        """Equal digest: the item would give what is there already."""
        flags = "\0".join(f"{key}={value}" for key, value in sorted(self.flags.items()))
        whose = f"{self.source}\0{self.owner}\0{self.agent}"
        return digest(item.raw_digest, flags, whose, self.rules.digest, self.recipe).hex()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A prepared revision. `label` names the item in messages, `identity` says which edition of
    which document it is; `notes` tell what was odd about it."""

    label: str
    identity: str
    prepared: Prepared
    notes: tuple[str, ...] = ()


def prepare(item: Item, plan: Plan, *, counter: TokenCounter) -> Draft:
    """`UnreadableItem` when nothing can be made of it."""
    parsed = _turn_text(item) if item.turn is not None else _parsed(item, plan)
    facts = _facts(item)
    kind = "turn" if item.turn is not None else "document"
    resolved = metadata.resolve(_layers(item, plan, parsed, facts))
    values = dict(resolved.values)
    if item.turn is not None and item.turn.said_at is not None:
        values["said_at"] = item.turn.said_at
    judged = authority.judge(values, path=item.path, kind=kind, rules=plan.rules)
    settled = metadata.settle(resolved, judged, text=parsed.text)
    return _draft(item, plan, parsed, facts, settled, counter=counter)


def identity_of(document: str, edition: str) -> str:
    return content_id("idn", document, edition)


def stored_digest(item_digest: str, identity: str) -> str:
    """What the ledger keeps as item digest: the digest, and whose it is, so that an unchanged
    item still holds its place when another claims the same identity."""
    return f"{item_digest}.{identity}"


def read_stored(stored: str) -> tuple[str, str]:
    """Digest, identity."""
    item_digest, _, rest = stored.partition(".")
    return item_digest, rest.partition(".")[0]


def _parsed(item: Item, plan: Plan) -> Parsed:
    parsed = _in_time(
        lambda: parse(
            item.content, name=item.name, media_type=item.media_type, limits=plan.parse_limits
        ),
        timeout_s=plan.settings.ingest.parse_timeout_s,
    )
    if not parsed.text.strip():
        raise UnreadableItem("empty", "there is no text in it")
    return parsed


def _in_time(work: Callable[[], Parsed], *, timeout_s: float) -> Parsed:
    """What takes longer is given up; its thread cannot be stopped and is left behind."""
    done: Future[Parsed] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001  # carried over to the waiting thread
            done.set_exception(error)

    threading.Thread(target=run, name="parse", daemon=True).start()
    try:
        return done.result(timeout=timeout_s)
    except TimeoutError as error:
        raise UnreadableItem(
            "unreadable", f"parsing took longer than ingest.parse_timeout_s, {timeout_s:g} s"
        ) from error


def _turn_text(item: Item) -> Parsed:
    text = clean(item.content.decode("utf-8", "replace"))
    if not text.strip():
        raise UnreadableItem("empty", "a turn without text")
    block = Block(kind="turn", start=0, end=len(text))
    return Parsed(text=text, blocks=(block,), title="", media_type="text/plain")


def clean(text: str) -> str:
    """`\\n` as the only line end, no NUL, no lone surrogate: as every store takes it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return re.sub(r"[\ud800-\udfff]", "\ufffd", text)


def _facts(item: Item) -> PathFacts:
    if item.turn is not None:
        return PathFacts(path=item.path)
    return path_facts(item.path, root_name=item.root.rsplit("/", 1)[-1])


def _layers(item: Item, plan: Plan, parsed: Parsed, facts: PathFacts) -> list[Layer]:
    inside = {name: _inside(parsed, name, plan.rules) for name in _IN_TEXT}
    layers = [
        Layer(came_from="flag", fields=plan.flags),
        Layer(came_from="record", fields=item.record),
        Layer(came_from="front_matter", fields=inside["front_matter"]),
        Layer(came_from="sidecar", fields=item.sidecar),
        Layer(came_from="html", fields={**item.page, **inside["html"]}),
        Layer(came_from="file", fields=inside["file"]),
        metadata.path_layer(facts),
        Layer(came_from="text", fields={**inside["text"], "title": parsed.title}),
    ]
    if item.turn is None:
        layers.append(Layer(came_from="path", fields={"title": item.path.rsplit("/", 1)[-1]}))
    return layers


def _inside(parsed: Parsed, name: str, rules: Rules) -> dict[str, Any]:
    own = {
        key: value
        for key, value in parsed.fields.items()
        if parsed.field_sources.get(key) == name and key != "encoding"
    }
    fields = canonical(own, rules.document_aliases)
    for key in ("text", "path", "id", "turns", "conversation", "session", "speaker", "media_type"):
        fields.pop(key, None)
    return fields


def _draft(
    item: Item,
    plan: Plan,
    parsed: Parsed,
    facts: PathFacts,
    settled: Resolved,
    *,
    counter: TokenCounter,
) -> Draft:
    known = metadata.metadata(settled)
    place = metadata.identity(
        settled, path=item.path, facts=facts, named_source=plan.source, root=item.root
    )
    owner = plan.owner or _text(item.record.get("owner"))
    document = place.document(plan.tenant, owner=owner)
    agent = plan.agent or _text(item.record.get("agent"))
    derived_from: tuple[str, ...] = settled.values.get("derived_from", ())
    content = sha256_hex(parsed.text)
    spans = chunk.chunk(
        parsed,
        limits=plan.chunk_limits(counter.max_tokens),
        count_tokens=counter.count_tokens,
        title=known.title if item.turn is None else "",
    )
    revision = revision_id(
        document=document,
        edition=place.edition,
        content=content + _cut(spans),
        metadata=metadata.metadata_digest(known)
        + repr(item.turn)
        + f"{owner}\0{agent}"
        + (repr(derived_from) if derived_from else ""),
        recipe=plan.recipe,
    )
    identity = identity_of(document, place.edition)
    row = Revision(
        revision_id=revision,
        document_id=document,
        tenant=plan.tenant,
        owner=owner,
        agent=agent,
        kind="turn" if item.turn is not None else "document",
        source=place.source,
        path=metadata.plain_text(place.path),
        edition=place.edition,
        edition_key=place.edition_key,
        origin=item.origin,
        item_digest=stored_digest(plan.item_digest(item), identity),
        media_type=parsed.media_type,
        content_sha256=content,
        text=parsed.text,
        metadata=known,
        turn=item.turn,
        fingerprint=plan.fingerprint,
        run_id=plan.run_id,
        derived_from=derived_from,
    )
    chunks = chunk.chunks_of(spans, revision_id=revision)
    prepared = Prepared(revision=row, chunks=chunks, bands=sketches(row, chunks))
    return Draft(
        label=item.label,
        identity=identity,
        prepared=prepared,
        notes=(*settled.notes, *parsed.notes),
    )


def _cut(spans: Sequence[ChunkSpan]) -> str:
    """A digest of where the chunks are: the same text may be laid out on other pages."""
    parts = ((span.start, span.end, span.page or 0, span.context) for span in spans)
    return digest(*(part for each in parts for part in each)).hex()


def _text(value: object) -> str | None:
    return metadata.plain_text(value) or None if isinstance(value, str) else None
