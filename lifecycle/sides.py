"""Open every index that is a view of the ledger, for a comparison; one that does not open is
a side that cannot be read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from cluster.errors import StoreError
from cluster.settings import Settings
from cluster.stores.open import open_text_index, open_vector_index
from cluster.stores.protocols import HeldGeneration, Ledger, TextIndex, VectorIndex
from lifecycle.reconcile import Side

TEXT = "text"
VECTORS = "vectors"


class Unopened:
    """Raises what its opening raised."""

    def __init__(self, error: StoreError) -> None:
        self._error = error

    async def versions(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        raise self._error

    async def scan(self) -> AsyncIterator[list[tuple[str, int]]]:
        raise self._error
        yield []  # makes it a generator


def side_name(held: HeldGeneration) -> str:
    """`vectors` for the active generation, else with its state, of which there is one each."""
    return VECTORS if held.state == "active" else f"{VECTORS}-{held.state}"


async def live_generations(ledger: Ledger) -> list[HeldGeneration]:
    async with ledger.transaction() as tx:
        return await tx.generations.live()


@asynccontextmanager
async def open_sides(settings: Settings, ledger: Ledger) -> AsyncIterator[Mapping[str, Side]]:
    """The vector index of each live generation and the text index, by name; empty before the
    first ingest has chosen an encoder. They are closed when the block ends."""
    sides: dict[str, Side] = {}
    async with AsyncExitStack() as opened:
        for held in await live_generations(ledger):
            sides[side_name(held)] = Side(
                index=await _opened(open_vector_index(settings, held.generation), opened),
                generation=held.fingerprint,
                building=held.state == "building",
            )
        if sides:
            text = await _opened(open_text_index(settings, read_only=True), opened)
            sides[TEXT] = Side(index=text)
        yield sides


async def _opened(
    opening: Awaitable[TextIndex | VectorIndex], opened: AsyncExitStack
) -> TextIndex | VectorIndex | Unopened:
    try:
        index = await opening
    except StoreError as error:
        return Unopened(error)
    opened.push_async_callback(index.close)
    return index
