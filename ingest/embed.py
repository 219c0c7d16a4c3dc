"""Chunks -> vectors in the ledger; a text that was encoded before is not encoded again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from cluster.errors import ModelError
from cluster.ids import vector_key
from cluster.kill_points import reached
from cluster.model import Vector
from cluster.models.protocols import Embedder
from cluster.models.token_vectors import pack
from cluster.stores.protocols import Prepared, Transaction
from ingest.link import LedgerLink

_PIECE = 128
"""Texts of one put: their token vectors in full take 740 kB each in memory at most."""

_GET_KEYS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """How many vectors were made, and how many chunks took theirs from the cache or from each
    other."""

    embedded: int
    from_cache: int


class EmbedChunks:
    """`open_embedder` is called when the first text has to be encoded, not before. With
    `token_vectors`, those of a text go into the ledger with its vector, in one transaction."""

    def __init__(
        self,
        link: LedgerLink,
        *,
        fingerprint: str,
        open_embedder: Callable[[], Embedder],
        token_vectors: bool = True,
    ) -> None:
        self._link = link
        self._fingerprint = fingerprint
        self._token_vectors = token_vectors
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
        embedder = self._opened()
        for piece in _pieces(texts):
            vectors, tokens = self._made(embedder, piece)

            async def put(
                tx: Transaction,
                vectors: Mapping[str, Vector] = vectors,
                tokens: Mapping[str, bytes] = tokens,
            ) -> None:
                await tx.vectors.put(vectors, fingerprint=self._fingerprint, tokens=tokens)

            self._link.call(put)
            reached("ingest.vectors_put")

    def _opened(self) -> Embedder:
        if self._embedder is None:
            self._embedder = self._open_embedder()
            if self._embedder.fingerprint != self._fingerprint:
                raise ModelError(
                    f"the ledger is encoded by {self._fingerprint}, what opened is "
                    f"{self._embedder.fingerprint}; bring that model back, or run "
                    "`palimpsest reembed`"
                )
        return self._embedder

    def _made(
        self, embedder: Embedder, piece: Mapping[str, tuple[str, str]]
    ) -> tuple[dict[str, Vector], dict[str, bytes]]:
        languages, texts = zip(*piece.values(), strict=True)
        if not self._token_vectors:
            vectors = embedder.embed_documents(texts, languages=languages)
            return dict(zip(piece, vectors, strict=True)), {}
        vectors, tokens = embedder.embed_documents_with_tokens(texts, languages=languages)
        packed = (pack(one, recipe=embedder.token_recipe) for one in tokens)
        return dict(zip(piece, vectors, strict=True)), dict(zip(piece, packed, strict=True))


def _pieces(texts: Mapping[str, tuple[str, str]]) -> Iterator[dict[str, tuple[str, str]]]:
    """Of texts that are about as long, so that they share forward passes."""
    left = iter(sorted(texts.items(), key=lambda one: -len(one[1][1])))
    while piece := dict(islice(left, _PIECE)):
        yield piece


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
