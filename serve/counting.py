"""How many tokens does a text have, by the encoder that is searched with?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, runtime_checkable

CountTokens = Callable[[Sequence[str]], Awaitable[list[int]]]
"""Tokens of each text as the model sees it, prompt and special tokens not counted. Raises
`ModelError` or `Overloaded`."""


@runtime_checkable
class CountsTokens(Protocol):
    """An encoder that tells its tokens as well."""

    async def count(self, texts: Sequence[str]) -> list[int]: ...


def counter_of(encode: object) -> CountTokens | None:
    """What counts in the tokens of this encoder, if it can be asked."""
    return encode.count if isinstance(encode, CountsTokens) else None
