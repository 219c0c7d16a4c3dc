"""Prepared revisions -> ledger rows. Doing it twice gets it once; the indexer does the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cluster.clock import Clock
from cluster.errors import EncoderChanged, Forgotten, InvalidRequest, StoreRejected
from cluster.kill_points import reached
from cluster.stores.protocols import Prepared, Transaction
from ingest.embed import EmbedChunks, texts_by_key
from ingest.link import LedgerLink

_MAX_CHUNKS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """`new` revisions were written. Those at the places `refused` of the batch were not, for the
    reasons given, nor those that were `forgotten`."""

    new: int
    refused: dict[int, str]
    forgotten: dict[int, str]


class Publish:
    """`embed` is asked again for vectors that a delete took away since they were made; `room`
    waits until the indexes are near enough."""

    def __init__(
        self,
        link: LedgerLink,
        clock: Clock,
        embed: EmbedChunks,
        room: Callable[[], None],
    ) -> None:
        self._link = link
        self._clock = clock
        self._embed = embed
        self._room = room

    def __call__(self, batch: Sequence[Prepared]) -> Published:
        """Puts revisions in transactions of at most about 2,000 chunks; one by one where the
        ledger refuses some of them. `EncoderChanged` ends the run: it refuses all."""
        new = 0
        refused: dict[int, str] = {}
        forgotten: dict[int, str] = {}
        for part in _parts(batch):
            self._room()
            try:
                new += self._put([batch[at] for at in part])
            except EncoderChanged:
                raise
            except (InvalidRequest, StoreRejected):
                for at in part:
                    try:
                        new += self._put_alone(batch[at])
                    except EncoderChanged:
                        raise
                    except Forgotten as error:
                        forgotten[at] = str(error)
                    except (InvalidRequest, StoreRejected) as error:
                        refused[at] = str(error)
        if forgotten:
            self._drop_vectors([batch[at] for at in forgotten])
        return Published(new=new, refused=refused, forgotten=forgotten)

    def _put_alone(self, prepared: Prepared) -> int:
        try:
            return self._put([prepared])
        except Forgotten:
            raise
        except InvalidRequest:
            if not self._embed([prepared]).embedded:
                raise
        return self._put([prepared])

    def _drop_vectors(self, batch: list[Prepared]) -> None:
        """Of texts that were forgotten while they were encoded."""
        keys = list(texts_by_key(batch))

        async def drop(tx: Transaction) -> int:
            return await tx.forgetting.drop_vectors(keys)

        self._link.call(drop)
        reached("ingest.vectors_dropped")

    def _put(self, part: list[Prepared]) -> int:
        async def put(tx: Transaction) -> int:
            return await tx.documents.put(part, now=self._clock.now())

        new = self._link.call(put)
        reached("ingest.put")
        return new


def _parts(batch: Sequence[Prepared]) -> Iterator[list[int]]:
    """Places in `batch`."""
    part: list[int] = []
    chunks = 0
    for at, prepared in enumerate(batch):
        if part and chunks + len(prepared.chunks) > _MAX_CHUNKS:
            yield part
            part, chunks = [], 0
        part.append(at)
        chunks += len(prepared.chunks)
    if part:
        yield part
