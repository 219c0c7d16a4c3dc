"""A question is encoded once, however many ask for its vectors."""

from __future__ import annotations

import asyncio

from cluster.model import EncodedQuery
from serve.channels.semantic import EncodeQuery


class OnceEncoded:
    """`EncodeQuery` for the time of one question: the first who asks begins a pass, the others
    wait for the same one. One of them giving up does not end it; `close` does."""

    def __init__(self, encode: EncodeQuery) -> None:
        self._encode = encode
        self._passes: dict[tuple[str, str], asyncio.Task[EncodedQuery]] = {}

    async def __call__(self, question: str, language: str) -> EncodedQuery:
        asked = (question, language)
        if asked not in self._passes:
            self._passes[asked] = asyncio.create_task(self._pass(question, language))
        return await asyncio.shield(self._passes[asked])

    async def close(self) -> None:
        """Nothing goes on and no error is left untold to whom nobody waits for."""
        for task in self._passes.values():
            task.cancel()
        await asyncio.gather(*self._passes.values(), return_exceptions=True)

    async def _pass(self, question: str, language: str) -> EncodedQuery:
        return await self._encode(question, language)
