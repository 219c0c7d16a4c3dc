"""Traditional and simplified Chinese characters."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_DICTIONARY = "dictionary"


def to_simplified(text: str) -> str:
    """Character by character; the length stays, so offsets hold in both."""
    return text.translate(_simplified())


def is_traditional(text: str) -> bool:
    """More characters that only traditional script has than ones that only simplified has."""
    traditional = sum(ord(letter) in _simplified() for letter in text)
    simplified = sum(letter in _only_simplified() for letter in text)
    return traditional > simplified


@cache
def _simplified() -> dict[int, str]:
    """OpenCC's table, the first reading of each character. Read once, at first use."""
    return {ord(char): forms[0] for char, forms in _entries("TSCharacters.txt") if char != forms[0]}


@cache
def _only_simplified() -> frozenset[str]:
    return frozenset(char for char, forms in _entries("STCharacters.txt") if char not in forms)


def _entries(name: str) -> list[tuple[str, list[str]]]:
    lines = files("opencc").joinpath(_DICTIONARY, name).read_text(encoding="utf-8").splitlines()
    split = (line.split("\t") for line in lines if "\t" in line)
    return [(char, forms.split()) for char, forms in split if len(char) == 1]
