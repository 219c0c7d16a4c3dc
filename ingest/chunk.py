"""Parsed text -> chunks that fit the encoder, cut where a reader would cut.

Chunks hold every character that is not white space, in order and without overlap. No grapheme
cluster, word, sentence, fence or table row is broken unless it alone exceeds the limit. What a
reader needs to understand a piece (title, headings above it, header of a split table, opening
line of a split fence) goes into its context. Pure: the same input gives the same chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from cluster.ids import chunk_id
from cluster.model import Chunk
from ingest import cuts
from ingest.cuts import Cuttable, Span
from ingest.parse.parsed import Block, Parsed

RECIPE = "chunk-1"
"""Changes whenever the same text would be cut differently."""

CountTokens = Callable[[Sequence[str]], list[int]]

_COUNTED_CHARS = 20_000
_TOO_MANY = 10**12
_HEADING_CHARS = 120
_WHOLE_KINDS = ("heading", "code", "table", "turn")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkLimits:
    """`max_tokens` bounds context and text together and is never exceeded; chunks are filled up
    to `target_tokens` of text. At most a quarter of `max_tokens` goes to the context."""

    max_tokens: int
    target_tokens: int

    @property
    def max_context_tokens(self) -> int:
        return self.max_tokens // 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSpan:
    """`parsed.text[start:end] == text`. `token_count` is that of context and text together: near
    the limit as the encoder counts it, below that the sum over the parts."""

    start: int
    end: int
    text: str
    context: str
    heading_path: tuple[str, ...]
    token_count: int
    page: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Atom:
    """What is not cut any more. `repeat` is told again when a chunk begins with this atom."""

    span: Span
    tokens: int
    block: Block
    repeat: str = ""
    repeat_tokens: int = 0

    @property
    def is_heading(self) -> bool:
        return self.block.kind == "heading"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Atoms that make one chunk. `whole` when they are entire sections."""

    atoms: tuple[_Atom, ...]
    path: tuple[str, ...]
    whole: bool

    @property
    def tokens(self) -> int:
        return self.atoms[0].repeat_tokens + sum(atom.tokens for atom in self.atoms)


def chunk(
    parsed: Parsed, *, limits: ChunkLimits, count_tokens: CountTokens, title: str | None = None
) -> tuple[ChunkSpan, ...]:
    """`title` stands at the head of each context; unset: `parsed.title`.

    `count_tokens` may count a whole at most a quarter higher than its parts together.
    """
    text = cuts.cuttable(parsed.text)
    blocks = _covering(parsed, text)
    if not blocks:
        return ()
    maker = _Maker(
        text=text,
        limits=limits,
        count=count_tokens,
        title=parsed.title if title is None else title,
    )
    groups = _merge_sections(
        (maker.pack(section) for section in _sections(maker.atoms(blocks))),
        target=limits.target_tokens,
    )
    return maker.spans(groups)


def chunks_of(spans: Sequence[ChunkSpan], *, revision_id: str) -> tuple[Chunk, ...]:
    """The same, with ids."""
    return tuple(
        Chunk(
            chunk_id=chunk_id(revision=revision_id, start=span.start, end=span.end, text=span.text),
            revision_id=revision_id,
            ordinal=ordinal,
            start=span.start,
            end=span.end,
            text=span.text,
            context=span.context,
            heading_path=span.heading_path,
            token_count=span.token_count,
            page=span.page,
        )
        for ordinal, span in enumerate(spans)
    )


class _Maker:
    """Holds what every step needs: the text, the limits, the counter, known context sizes."""

    def __init__(
        self, *, text: Cuttable, limits: ChunkLimits, count: CountTokens, title: str
    ) -> None:
        self._text = text
        self._limits = limits
        self._count = count
        self._title = title
        self._contexts: dict[tuple[str, ...], tuple[str, int]] = {}

    def atoms(self, blocks: Sequence[Block]) -> list[_Atom]:
        """Blocks that fit stay whole; the others are cut into what is allowed by their kind."""
        self._learn_contexts({block.heading_path for block in blocks})
        counts = self._count_spans([(block.start, block.end) for block in blocks])
        atoms: list[_Atom] = []
        heading_tokens = 0
        for block, tokens in zip(blocks, counts, strict=True):
            budget = self._budget(block.heading_path)
            if tokens <= self._whole_limit(block, budget, heading_tokens):
                atoms.append(_Atom(span=(block.start, block.end), tokens=tokens, block=block))
            else:
                atoms.extend(self._cut_block(block, budget, heading_tokens))
            heading_tokens = heading_tokens + tokens if block.kind == "heading" else 0
        return atoms

    def pack(self, atoms: Sequence[_Atom]) -> list[_Group]:
        """One section into as few chunks as the target allows, headings with their body."""
        path = next((a.block.heading_path for a in atoms if not a.is_heading), None)
        path = atoms[-1].block.heading_path if path is None else path
        budget = self._budget(path)
        target = min(self._limits.target_tokens, budget)
        groups: list[list[_Atom]] = [[atoms[0]]]
        for atom in atoms[1:]:
            held = groups[-1][0].repeat_tokens + sum(each.tokens for each in groups[-1])
            bare = all(each.is_heading for each in groups[-1])
            limit = budget if bare or held < target // 4 else target
            if held + atom.tokens <= limit:
                groups[-1].append(atom)
            else:
                groups.append([atom])
        _join_short_tail(groups, budget=budget, short=target // 4)
        whole = len(groups) == 1
        return [_Group(atoms=tuple(group), path=path, whole=whole) for group in groups]

    def spans(self, groups: Sequence[_Group]) -> tuple[ChunkSpan, ...]:
        """Final texts. Those near the limit are counted as a whole, and cut again if need be."""
        made = [self._span(group) for group in groups]
        done: list[ChunkSpan] = []
        near = self._limits.max_tokens * 4 // 5
        long = [_indexed(span) for span in made if span.token_count > near]
        counts = iter(self._count(long) if long else [])
        for span in made:
            if span.token_count <= near:
                done.append(span)
            else:
                done.extend(self._fitting(replace(span, token_count=next(counts))))
        return tuple(done)

    def _span(self, group: _Group) -> ChunkSpan:
        start, end = self._text.trimmed((group.atoms[0].span[0], group.atoms[-1].span[1]))
        own = sum(
            1
            for atom in group.atoms
            if atom.is_heading
            and group.path[: len(atom.block.heading_path)] == atom.block.heading_path
        )
        above = group.path[: max(0, len(group.path) - own)]
        context, context_tokens = self._context(above)
        if group.path and not above and _same(self._title, group.path[0]):
            # The title is the first heading of the text itself.
            context, context_tokens = "", 0
        repeat = group.atoms[0].repeat
        return ChunkSpan(
            start=start,
            end=end,
            text=self._text.text[start:end],
            context="\n".join(part for part in (context, repeat) if part),
            heading_path=group.path,
            token_count=group.tokens + context_tokens,
            page=group.atoms[0].block.page,
        )

    def _fitting(self, span: ChunkSpan) -> Iterator[ChunkSpan]:
        cut = self._text.near_middle((span.start, span.end))
        if span.token_count <= self._limits.max_tokens or cut is None:
            yield span
            return
        for part in ((span.start, cut), (cut, span.end)):
            start, end = self._text.trimmed(part)
            half = replace(span, start=start, end=end, text=self._text.text[start:end])
            if half.text:
                counted = self._count([_indexed(half)])[0]
                yield from self._fitting(replace(half, token_count=counted))

    def _cut_block(self, block: Block, budget: int, heading_tokens: int) -> list[_Atom]:
        repeat = _repeat(block, self._text.text)
        repeat_tokens = self._count([repeat])[0] if repeat else 0
        if repeat_tokens > self._limits.max_context_tokens:
            repeat, repeat_tokens = "", 0
        room = budget - repeat_tokens
        room = room - heading_tokens if heading_tokens < room // 2 else room
        pieces = self._small_enough(self._first_cut(block), room, cells=block.kind == "table")
        return [
            _Atom(
                span=span,
                tokens=tokens,
                block=block,
                repeat=repeat if number else "",
                repeat_tokens=repeat_tokens if number else 0,
            )
            for number, (span, tokens) in enumerate(pieces)
        ]

    def _first_cut(self, block: Block) -> list[Span]:
        span = (block.start, block.end)
        if block.kind in ("code", "table"):
            return [piece for each in cuts.LINES for piece in self._text.spans(span, each)]
        if block.kind in ("list", "quote", "html"):
            return cuts.blocks_of_lines(self._text, span)
        return [piece for each in cuts.SENTENCES for piece in self._text.spans(span, each)]

    def _small_enough(
        self, spans: Sequence[Span], room: int, *, cells: bool
    ) -> list[tuple[Span, int]]:
        """Cut what is still too large: rows at cells, then sentences, words, clusters."""
        finished: list[tuple[Span, int]] = []
        for span, tokens in zip(spans, self._count_spans(spans), strict=True):
            if tokens <= room:
                finished.append((span, tokens))
                continue
            finer = self._finer(span, share=room / tokens, cells=cells)
            if finer is None:
                finished.append((span, tokens))
            else:
                finished.extend(self._small_enough(finer, room, cells=False))
        return finished

    def _finer(self, span: Span, *, share: float, cells: bool) -> list[Span] | None:
        patterns = (cuts.CELLS[1],) if cells else (cuts.LINES[0], *cuts.SENTENCES)
        for pattern in patterns:
            pieces = self._text.spans(span, pattern)
            if len(pieces) > 1:
                return pieces
        uncounted = span[1] - span[0] > _COUNTED_CHARS
        chars = _COUNTED_CHARS // 4 if uncounted else int((span[1] - span[0]) * share)
        return self._halves(span, chars=chars)

    def _halves(self, span: Span, *, chars: int) -> list[Span] | None:
        """In two, and on until the pieces have about `chars` characters."""
        cut = self._text.near_middle(span)
        if cut is None:
            return None
        pieces: list[Span] = []
        for half in ((span[0], cut), (cut, span[1])):
            deeper = self._halves(half, chars=chars) if half[1] - half[0] > chars else None
            pieces.extend(deeper or [half])
        return pieces

    def _count_spans(self, spans: Sequence[Span]) -> list[int]:
        """One call for all; what is very long counts as too long without being counted."""
        short = [span for span in spans if span[1] - span[0] <= _COUNTED_CHARS]
        counts = iter(self._count([self._text.text[a:b] for a, b in short]) if short else [])
        return [next(counts) if b - a <= _COUNTED_CHARS else _TOO_MANY for a, b in spans]

    def _whole_limit(self, block: Block, budget: int, heading_tokens: int) -> int:
        if block.kind in _WHOLE_KINDS:
            return budget
        with_heading = budget - heading_tokens if heading_tokens < budget // 2 else budget
        return min(self._limits.target_tokens, with_heading)

    def _budget(self, path: tuple[str, ...]) -> int:
        return max(1, self._limits.max_tokens - self._context(path)[1])

    def _context(self, path: tuple[str, ...]) -> tuple[str, int]:
        if path not in self._contexts:
            self._learn_contexts({path})
        return self._contexts[path]

    def _learn_contexts(self, paths: set[tuple[str, ...]]) -> None:
        """Innermost headings win when all of them would be too many."""
        waiting = {path: _context_parts(self._title, path) for path in sorted(paths)}
        if not self._title:
            self._contexts[()] = ("", 0)
            waiting.pop((), None)
        while waiting:
            texts = {path: " > ".join(parts) for path, parts in waiting.items()}
            counts = self._count(list(texts.values()))
            waiting_next: dict[tuple[str, ...], list[str]] = {}
            for (path, text), tokens in zip(texts.items(), counts, strict=True):
                # Two more for what stands between context and text.
                if not text or tokens + 2 <= self._limits.max_context_tokens:
                    self._contexts[path] = (text, tokens + 2 if text else 0)
                else:
                    waiting_next[path] = _shorter(waiting[path])
            waiting = waiting_next


def _covering(parsed: Parsed, text: Cuttable) -> list[Block]:
    """The blocks, trimmed and without overlap; text that no block holds becomes a paragraph."""
    found: list[Block] = []
    position = 0
    for block in (
        *parsed.blocks,
        Block(kind="paragraph", start=len(text.text), end=len(text.text)),
    ):
        start, end = max(position, block.start), min(len(text.text), block.end)
        between = Block(kind="paragraph", start=position, end=start)
        found.extend(_nonblank(text, (between, replace(block, start=start, end=max(start, end)))))
        position = max(position, end)
    return found


def _nonblank(text: Cuttable, blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        start, end = text.trimmed((block.start, block.end))
        while start in text.inside and start > 0:
            start -= 1
        if text.text[start:end].strip():
            yield replace(block, start=start, end=end)


def _sections(atoms: Sequence[_Atom]) -> Iterator[list[_Atom]]:
    """A heading and all up to the next one; headings without a body go with what follows."""
    section: list[_Atom] = []
    for atom in atoms:
        only_headings = all(each.is_heading for each in section)
        moved = bool(section) and atom.block.heading_path != section[-1].block.heading_path
        if section and not only_headings and (atom.is_heading or moved):
            yield section
            section = []
        section.append(atom)
    if section:
        yield section


def _merge_sections(sections: Iterable[list[_Group]], *, target: int) -> list[_Group]:
    """Small neighbours under one heading become one chunk."""
    merged: list[_Group] = []
    for groups in sections:
        first = groups[0]
        if merged and _may_merge(merged[-1], first, target=target):
            last = merged.pop()
            path = _common(last.path, first.path)
            first = _Group(atoms=last.atoms + first.atoms, path=path, whole=True)
        merged.extend((first, *groups[1:]))
    return merged


def _may_merge(one: _Group, other: _Group, *, target: int) -> bool:
    if not (one.whole and other.whole) or one.tokens + other.tokens > target:
        return False
    common = _common(one.path, other.path)
    return common == one.path or common == one.path[:-1] == other.path[:-1]


def _join_short_tail(groups: list[list[_Atom]], *, budget: int, short: int) -> None:
    if len(groups) == 1 or sum(atom.tokens for atom in groups[-1]) >= short:
        return
    before = groups[-2][0].repeat_tokens + sum(atom.tokens for atom in groups[-2])
    if before + sum(atom.tokens for atom in groups[-1]) <= budget:
        groups[-2].extend(groups.pop())


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return one[:length]


def _context_parts(title: str, path: tuple[str, ...]) -> list[str]:
    parts = [" ".join(part.split()) for part in (title, *path)]
    if len(parts) > 1 and _same(parts[0], parts[1]):
        parts = parts[1:]
    return [cuts.shortened(part, _HEADING_CHARS) for part in parts if part]


def _same(one: str, other: str) -> bool:
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()


def _shorter(parts: list[str]) -> list[str]:
    if len(parts) > 1:
        return parts[1:]
    return [cuts.shortened(parts[0], len(parts[0]) // 2)] if len(parts[0]) > 1 else []


def _repeat(block: Block, text: str) -> str:
    if block.kind == "table":
        return block.table_header.strip("\n")
    if block.kind == "code":
        first = text[block.start : block.end].split("\n", 1)[0].strip()
        return first if first.startswith(("```", "~~~")) and len(first) <= _HEADING_CHARS else ""
    return ""


def _indexed(span: ChunkSpan) -> str:
    return f"{span.context}\n{span.text}" if span.context else span.text
