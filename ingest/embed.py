"""Chunks -> vectors in the ledger; a text that was encoded before is not encoded again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from cluster.errors import ModelError
from cluster.ids import vector_key
from cluster.kill_points import reached
from cluster.model import Vector
from cluster.models.protocols import Embedder
from cluster.stores.protocols import Prepared, Transaction
from ingest.link import LedgerLink

_PUT_ROWS = 1000
_GET_KEYS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """How many vectors were made, and how many chunks took theirs from the cache or from each
    other."""

    embedded: int
    from_cache: int


class EmbedChunks:
    """`open_embedder` is called when the first text has to be encoded, not before."""

    def __init__(
        self, link: LedgerLink, *, fingerprint: str, open_embedder: Callable[[], Embedder]
    ) -> None:
        self._link = link
        self._fingerprint = fingerprint
        self._open_embedder = open_embedder
        self._embedder: Embedder | None = None

    def __call__(self, batch: Sequence[Prepared]) -> Embedded:
        """Afterwards the ledger has a vector for every chunk of `batch`."""
        texts = texts_by_key(batch)
        chunks = sum(len(each.chunks) for each in batch)
        known = self._known(list(texts))
        missing = [key for key in texts if key not in known]
        if missing:
            self._encode({key: texts[key] for key in missing})
        return Embedded(embedded=len(missing), from_cache=chunks - len(missing))

    def _known(self, keys: list[str]) -> set[str]:
        known: set[str] = set()
        for start in range(0, len(keys), _GET_KEYS):
            part = keys[start : start + _GET_KEYS]

            async def ask(tx: Transaction, part: list[str] = part) -> set[str]:
                return await tx.vectors.known(part, fingerprint=self._fingerprint)

            known.update(self._link.call(ask))
        return known

    def _encode(self, texts: Mapping[str, tuple[str, str]]) -> None:
        if self._embedder is None:
            self._embedder = self._open_embedder()
            if self._embedder.fingerprint != self._fingerprint:
                raise ModelError(
                    f"the ledger is encoded by {self._fingerprint}, what opened is "
                    f"{self._embedder.fingerprint}; bring that model back, or run "
                    "`palimpsest reembed`"
                )
        made = self._embedder.embed_documents(
            [text for _, text in texts.values()],
            languages=[language for language, _ in texts.values()],
        )
        pairs = iter(zip(texts, made, strict=True))
        while part := dict(islice(pairs, _PUT_ROWS)):

            async def put(tx: Transaction, part: dict[str, Vector] = part) -> None:
                await tx.vectors.put(part, fingerprint=self._fingerprint)

            self._link.call(put)
            reached("ingest.vectors_put")


def texts_by_key(batch: Sequence[Prepared]) -> dict[str, tuple[str, str]]:
    """Vector key -> (language, text) of all chunks, each once."""
    texts: dict[str, tuple[str, str]] = {}
    for each in batch:
        language = each.revision.metadata.language
        for chunk in each.chunks:
            texts.setdefault(
                vector_key(language, chunk.indexed_text), (language, chunk.indexed_text)
            )
    return texts
