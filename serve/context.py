"""Passages -> one text for a model: what binds first, each part labelled, within the budget.

Pure. The caller counts the tokens of all lines at once, `fitted` chooses the lines, and the whole
is counted once more as it is; `smaller` gives up the least important line until it fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rerank.citations import CitedPassage
from rerank.quoting import Quote
from serve.context_parts import LABELS, Label

Written = Literal["en", "zh"]

HEADINGS: Mapping[Written, Mapping[Label | Literal["references"], str]] = {
    "en": {
        "hard_constraint": "Must be followed",
        "session_fact": "Said in this session",
        "profile": "About the user",
        "evidence": "Evidence",
        "soft_clue": "Clues, to be checked",
        "references": "References",
    },
    "zh": {
        "hard_constraint": "必须遵守",
        "session_fact": "本次会话中的事实",
        "profile": "用户画像",
        "evidence": "依据",
        "soft_clue": "线索（需核实）",
        "references": "引用",
    },
}
_WITHHELD: Mapping[Written, str] = {
    "en": "text withheld: the source does not allow quotes; say it in other words",
    "zh": "原文不提供：来源不允许引用，请用自己的话转述",
}
_SHORTENED: Mapping[Written, str] = {"en": "(shortened)", "zh": "（节选）"}
_UPDATED: Mapping[Written, str] = {"en": "updated {}", "zh": "更新于 {}"}
_PUBLISHED: Mapping[Written, str] = {"en": "published {}", "zh": "发布于 {}"}
_VERSION: Mapping[Written, str] = {"en": "version {}", "zh": "版本 {}"}
_SAID: Mapping[Written, str] = {"en": "{}, {}", "zh": "{}，{}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One thing to tell; without `passage` it is the caller's own word."""

    label: Label
    text: str
    passage: CitedPassage | None = None

    @property
    def key(self) -> str:
        return self.passage.citation.chunk_ids[0] if self.passage else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """`number` stands in the text as `[number]`."""

    number: int
    line: str
    passage: CitedPassage


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """`text` as it stands in the context; `reference` is its number, None for the caller's own
    word."""

    label: Label
    text: str
    reference: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What found no room; `chunk_id` is None for the caller's own word."""

    label: Label
    chunk_id: str | None
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """`text` has all `items` in their order and then the `references`."""

    text: str
    language: Written
    items: tuple[ContextItem, ...]
    references: tuple[Reference, ...]
    left_out: tuple[LeftOut, ...]


def written_in(language: str) -> Written:
    """The language of labels for a question in `language`."""
    return "zh" if language == "zh" else "en"


def pieces_of(
    passages: Sequence[tuple[Label, CitedPassage]], *, constraints: Sequence[str] = ()
) -> list[Piece]:
    """In the order of `LABELS`, the caller's own constraints first; each chunk once, where it
    binds most."""
    own = [Piece(label="hard_constraint", text=text) for text in dict.fromkeys(constraints)]
    found: dict[str, Piece] = {}
    for label, passage in sorted(passages, key=lambda each: LABELS.index(each[0])):
        piece = Piece(label=label, text=passage.text, passage=passage)
        found.setdefault(piece.key, piece)
    return [*own, *found.values()]


def lines_to_count(pieces: Sequence[Piece], *, language: Written) -> list[str]:
    """Every heading, then for each piece its line and its reference: what `fitted` wants counted.
    Numbers are the highest there can be."""
    headings = [f"## {heading}" for heading in HEADINGS[language].values()]
    number = len(pieces)
    lines = [
        line
        for piece in pieces
        for line in (_line(piece, number, language), _reference_line(piece, number, language))
    ]
    return [*headings, *lines]


def fitted(
    pieces: Sequence[Piece], counted: Sequence[int], *, room_tokens: int, language: Written
) -> list[Piece]:
    """Those that fit, in their order; a piece for which there is no room is passed over.
    `counted`: the tokens of `lines_to_count`."""
    names = list(HEADINGS[language])
    headings = dict(zip(names, counted[: len(names)], strict=True))
    costs = counted[len(names) :]
    kept: list[Piece] = []
    used, labels = 0, set[str]()
    for at, piece in enumerate(pieces):
        needed = costs[2 * at] + (costs[2 * at + 1] if piece.passage else 0)
        needed += 0 if piece.label in labels else headings[piece.label]
        if piece.passage and "references" not in labels:
            needed += headings["references"]
        if used + needed <= room_tokens:
            kept.append(piece)
            used += needed
            labels |= {piece.label} | ({"references"} if piece.passage else set())
    return kept


def assembled(kept: Sequence[Piece], *, pieces: Sequence[Piece], language: Written) -> Assembled:
    """The text of `kept`; the others of `pieces` are told as left out."""
    numbers = {
        piece.key: number
        for number, piece in enumerate((each for each in kept if each.passage), start=1)
    }
    blocks: list[str] = []
    items: list[ContextItem] = []
    for label in LABELS:
        lines = []
        for piece in kept:
            if piece.label == label:
                number = numbers.get(piece.key) if piece.passage else None
                lines.append(_line(piece, number, language))
                items.append(ContextItem(label=label, text=lines[-1], reference=number))
        if lines:
            blocks.append("\n".join([f"## {HEADINGS[language][label]}", *lines]))
    references = tuple(
        Reference(
            number=numbers[piece.key],
            line=_reference_line(piece, numbers[piece.key], language),
            passage=piece.passage,
        )
        for piece in kept
        if piece.passage
    )
    if references:
        heading = f"## {HEADINGS[language]['references']}"
        blocks.append("\n".join([heading, *(each.line for each in references)]))
    keys = {piece.key for piece in kept}
    return Assembled(
        text="\n\n".join(blocks),
        language=language,
        items=tuple(items),
        references=references,
        left_out=tuple(_left_out(piece) for piece in pieces if piece.key not in keys),
    )


def smaller(kept: Sequence[Piece]) -> list[Piece]:
    """Without the least important one."""
    return list(kept[:-1])


def _line(piece: Piece, number: int | None, language: Written) -> str:
    mark = f"[{number}] " if piece.passage else ""
    return f"- {mark}{_told(piece, language)}"


def _told(piece: Piece, language: Written) -> str:
    """A clue is told by what may be quoted of it, what must not be quoted not at all."""
    if piece.passage is None:
        return _one_line(piece.text)
    passage, quote = piece.passage, piece.passage.quote
    said = _speaker(passage, language)
    if passage.citation.quote_policy == "do_not_quote":
        return f"{' '.join(passage.citation.title.split())}: {_WITHHELD[language]}"
    if passage.citation.quote_policy == "clue" and quote.shortened:
        return f"{said}{_one_line(_quoted(passage, quote))} {_SHORTENED[language]}"
    cut = f" {_SHORTENED[language]}" if passage.shortened else ""
    named = quote.with_version
    version = f"({_VERSION[language].format(named)}) " if named else ""
    return f"{said}{version}{_one_line(passage.text)}{cut}"


def _speaker(passage: CitedPassage, language: Written) -> str:
    citation = passage.citation
    if citation.speaker is None:
        return ""
    speaker = " ".join(citation.speaker.split())
    if citation.said_at is None:
        return f"{speaker}: "
    return _SAID[language].format(speaker, citation.said_at.date().isoformat()) + ": "


def _quoted(passage: CitedPassage, quote: Quote) -> str:
    offset = passage.citation.start
    return passage.text[quote.start - offset : quote.end - offset]


def _one_line(text: str) -> str:
    """Lines of a passage stay apart, but can be no headings or items of the context."""
    return "\n  > ".join(line.rstrip() for line in text.strip().splitlines() if line.strip())


def _reference_line(piece: Piece, number: int, language: Written) -> str:
    if piece.passage is None:
        return ""
    citation = piece.passage.citation
    parts = [
        citation.title or citation.path,
        _VERSION[language].format(citation.version) if citation.version else "",
        _date(piece.passage, language),
        citation.url or citation.path,
        citation.source_type,
    ]
    told = ", ".join(dict.fromkeys(" ".join(part.split()) for part in parts if part))
    return f"[{number}] {told}"


def _date(passage: CitedPassage, language: Written) -> str:
    citation = passage.citation
    if citation.said_at is not None:
        return citation.said_at.date().isoformat()
    if citation.updated_at is not None:
        return _UPDATED[language].format(citation.updated_at.date().isoformat())
    if citation.published_at is not None:
        return _PUBLISHED[language].format(citation.published_at.date().isoformat())
    return ""


def _left_out(piece: Piece) -> LeftOut:
    if piece.passage is None:
        return LeftOut(label=piece.label, chunk_id=None, title=piece.text)
    citation = piece.passage.citation
    return LeftOut(
        label=piece.label, chunk_id=citation.chunk_ids[0], title=citation.title or citation.path
    )
