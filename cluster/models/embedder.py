"""How does a text become a unit vector?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cluster.errors import InvalidRequest, ModelError
from cluster.model import Vectors
from cluster.models.centring import Centres, Side, centred
from cluster.models.tokens import TextTokens

Ids = NDArray[np.int64]


class Forward(Protocol):
    """One pass through a model: ids and mask, `(n, t)` -> pooled vectors, `(n, dim)`, float32,
    of any length."""

    def __call__(self, ids: Ids, mask: Ids) -> Vectors: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    query: str
    document: str


class ModelEmbedder:
    """A sentence encoder on any backend. Implements `cluster.models.protocols.Embedder`.

    A text longer than the model's limit is cut there; an empty one has the vector of its
    prompt alone. A vector that is not finite is a `ModelError`.
    """

    def __init__(
        self,
        tokens: TextTokens,
        forward: Forward,
        *,
        fingerprint: str,
        dim: int,
        prompts: Prompts,
        centres: Centres | None,
        batch_tokens: int,
        pad_id: int,
    ) -> None:
        self._tokens = tokens
        self._forward = forward
        self._fingerprint = fingerprint
        self._dim = dim
        self._prompts = prompts
        self._centres = centres
        self._batch_tokens = batch_tokens
        self._pad_id = pad_id

    @property
    def dim(self) -> int:
        return self._dim

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    @property
    def max_tokens(self) -> int:
        prompt = self._tokens.count([self._prompts.document])[0]
        return self._tokens.max_length - self._tokens.special_count - prompt

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._tokens.count(texts, prompt=self._prompts.document)

    def embed_documents(self, texts: Sequence[str], *, languages: Sequence[str]) -> Vectors:
        return self._embed(texts, languages, side="document", prompt=self._prompts.document)

    def embed_queries(self, texts: Sequence[str], *, languages: Sequence[str]) -> Vectors:
        return self._embed(texts, languages, side="query", prompt=self._prompts.query)

    def _embed(
        self, texts: Sequence[str], languages: Sequence[str], *, side: Side, prompt: str
    ) -> Vectors:
        if len(texts) != len(languages):
            raise InvalidRequest(f"{len(texts)} texts, but {len(languages)} languages")
        vectors = np.empty((len(texts), self._dim), dtype=np.float32)
        if not texts:
            return vectors
        ids = self._tokens.encode(texts, prompt=prompt)
        for batch in batches([len(row) for row in ids], batch_tokens=self._batch_tokens):
            pooled = self._forward(*padded([ids[at] for at in batch], pad_id=self._pad_id))
            vectors[batch] = unit(pooled, names=batch)
        if self._centres is None:
            return vectors
        return centred(vectors, languages=languages, side=side, centres=self._centres)


def batches(lengths: Sequence[int], *, batch_tokens: int) -> Iterator[list[int]]:
    """Positions, longest first, in groups whose padded size (count times longest) stays within
    `batch_tokens`; a single text may be longer. Ties keep their order."""
    group: list[int] = []
    longest = 0
    for at in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        if group and (len(group) + 1) * longest > batch_tokens:
            yield group
            group = []
        if not group:
            longest = lengths[at]
        group.append(at)
    if group:
        yield group


def padded(rows: Sequence[Sequence[int]], *, pad_id: int) -> tuple[Ids, Ids]:
    """Ids and mask of shape `(len(rows), longest)`; padding at the end."""
    longest = max(len(row) for row in rows)
    ids = np.full((len(rows), longest), pad_id, dtype=np.int64)
    mask = np.zeros((len(rows), longest), dtype=np.int64)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = row
        mask[at, : len(row)] = 1
    return ids, mask


def unit(vectors: Vectors, *, names: Sequence[int]) -> Vectors:
    """Rows scaled to length 1; `names` are the positions to name in an error."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    broken = ~np.isfinite(lengths[:, 0]) | (lengths[:, 0] == 0)
    if broken.any():
        at = names[int(np.flatnonzero(broken)[0])]
        raise ModelError(f"the encoder gave no finite vector for text {at}; try backend torch-fp32")
    scaled: Vectors = vectors / lengths
    return scaled
