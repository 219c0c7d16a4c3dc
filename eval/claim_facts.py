"""What pages of versioned documentation state, in a form that claims can be made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regex

from cluster.errors import InvalidRequest
from eval.datasets import read_lines

_ONE_LITERAL = regex.compile(r"`([^`]+)`")
_SECTION = regex.compile(r"^### `([^`]+)`.*?$(.*?)(?=^#{1,3} |\Z)", regex.M | regex.S)
_RANGE = regex.compile(r"(?:范围|取值范围)：`\[(\d+), (\d+)\]`")
_FENCE = regex.compile(r"^```.*?^```", regex.M | regex.S)
_MARKUP = regex.compile(r"[|<>{}\[\]#*_\\$=]|://|^\s*[-+>!:]|^\s*\d+[.)]")
_NUMBER = regex.compile(r"(?<![\p{L}\d._/`-])\d+(?:\.\d+)?(?![\d_/`-]|\.\d|[\p{Latin}])")
_SENTENCE_END = {"en": r"(?<=[.!?])\s+(?=\p{Lu})", "zh": r"(?<=[。！？])"}
_LENGTHS: Mapping[str, tuple[int, int]] = {"en": (40, 200), "zh": (15, 100)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultFact:
    """A setting and its default by version, where that is one literal; `numbers` are all that
    stand in its section of any version."""

    product: str
    name: str
    literals: Mapping[str, str]
    numbers: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeFact:
    """The least and greatest value of a setting by version."""

    product: str
    name: str
    bounds: Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceFact:
    """A plain sentence of a page with exactly one number, at `[start, end)` of `text`."""

    product: str
    version: str
    language: str
    text: str
    start: int
    end: int

    @property
    def number(self) -> str:
        return self.text[self.start : self.end]

    def with_number(self, number: str) -> str:
        return f"{self.text[: self.start]}{number}{self.text[self.end :]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """`words` are all words of all pages, to make sure that something is nowhere."""

    defaults: tuple[DefaultFact, ...]
    ranges: tuple[RangeFact, ...]
    sentences: tuple[SentenceFact, ...]
    words: frozenset[str]
    versions: Mapping[str, tuple[str, ...]]


def read_facts(folder: Path, *, projects: Sequence[str] = ()) -> Facts:
    """From `docs.jsonl` and `tidb_default_facts.jsonl` of the folder; of these projects only,
    if any are named. Settings and ranges are those of `tidb`."""
    pages = [
        page
        for _, page in read_lines(folder / "docs.jsonl")
        if not projects or page["project"] in projects
    ]
    if not pages:
        raise InvalidRequest(f"{folder / 'docs.jsonl'} has no pages")
    sections = _sections(pages)
    listed = [line for _, line in read_lines(folder / "tidb_default_facts.jsonl")]
    versions: dict[str, list[str]] = {}
    for page in pages:
        versions.setdefault(page["project"], []).append(page["version"])
    return Facts(
        defaults=tuple(_defaults(listed, sections)),
        ranges=tuple(_ranges(sections)),
        sentences=tuple(fact for page in pages for fact in _sentences(page)),
        words=frozenset(
            word for page in pages for word in regex.findall(r"[\p{L}\p{N}_]+", page["text"])
        ),
        versions={name: tuple(dict.fromkeys(each)) for name, each in versions.items()},
    )


def numbers_in(text: str) -> frozenset[str]:
    return frozenset(regex.findall(r"\d+(?:\.\d+)?", text))


def _sections(pages: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Name of a setting -> version -> its section."""
    found: dict[str, dict[str, str]] = {}
    for page in pages:
        if page["path"].endswith("system-variables.md"):
            for match in _SECTION.finditer(page["text"]):
                found.setdefault(match[1], {})[page["version"]] = match[2]
    return found


def _defaults(
    listed: Sequence[Mapping[str, Any]], sections: Mapping[str, Mapping[str, str]]
) -> Iterator[DefaultFact]:
    for line in listed:
        literals = {
            version: match[1]
            for version, told in line["defaults"].items()
            if told and (match := _ONE_LITERAL.fullmatch(told.strip().rstrip("。")))
        }
        if literals:
            texts = sections.get(line["variable"], {}).values()
            yield DefaultFact(
                product="tidb",
                name=line["variable"],
                literals=literals,
                numbers=frozenset().union(*(numbers_in(text) for text in texts)),
            )


def _ranges(sections: Mapping[str, Mapping[str, str]]) -> Iterator[RangeFact]:
    for name, by_version in sections.items():
        bounds = {
            version: (match[1], match[2])
            for version, text in by_version.items()
            if (match := _RANGE.search(text))
        }
        if bounds:
            yield RangeFact(product="tidb", name=name, bounds=bounds)


def _sentences(page: Mapping[str, Any]) -> Iterator[SentenceFact]:
    language = page["lang"]
    shortest, longest = _LENGTHS[language]
    for line in _FENCE.sub("", page["text"]).split("\n"):
        if _MARKUP.search(line):
            continue
        for sentence in regex.split(_SENTENCE_END[language], line.strip()):
            found = list(_NUMBER.finditer(sentence))
            whole = sentence.endswith((".", "。"))
            if not (shortest <= len(sentence) <= longest and len(found) == 1 and whole):
                continue
            if found[0][0] != page["version"]:
                yield SentenceFact(
                    product=page["project"],
                    version=page["version"],
                    language=language,
                    text=sentence,
                    start=found[0].start(),
                    end=found[0].end(),
                )
