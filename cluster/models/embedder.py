"""How does a text become a unit vector?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cluster.errors import InvalidRequest, ModelError
from cluster.model import EncodedQuery, TokenVectors, Vector, Vectors
from cluster.models.centring import Centres, Side, centred, centred_tokens, token_recipe
from cluster.models.origins import spans_in
from cluster.models.tokens import TextTokens, clean
from cluster.text.content_words import content_tokens

Ids = NDArray[np.int64]

States = NDArray[np.float32]
"""Shape `(n, t, dim)`: one row for each token of each text, of any length."""


class Forward(Protocol):
    """One pass through a model: ids and mask, `(n, t)` -> pooled vectors, `(n, dim)`, float32,
    of any length."""

    def __call__(self, ids: Ids, mask: Ids) -> Vectors: ...

    def with_tokens(self, ids: Ids, mask: Ids) -> tuple[Vectors, States]:
        """The same pass, and the last layer's state of each token."""
        ...


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
        token_centres: Centres | None = None,
        batch_tokens: int,
        pad_id: int,
    ) -> None:
        self._tokens = tokens
        self._forward = forward
        self._fingerprint = fingerprint
        self._dim = dim
        self._prompts = prompts
        self._centres = centres
        self._token_centres = token_centres
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

    @property
    def token_recipe(self) -> str:
        return token_recipe(self._token_centres)

    def embed_documents_with_tokens(
        self, texts: Sequence[str], *, languages: Sequence[str]
    ) -> tuple[Vectors, list[TokenVectors]]:
        vectors, tokens, content = self.embed_documents_with_all_tokens(texts, languages=languages)
        return vectors, [rows[kept] for rows, kept in zip(tokens, content, strict=True)]

    def embed_documents_with_all_tokens(
        self, texts: Sequence[str], *, languages: Sequence[str]
    ) -> tuple[Vectors, list[TokenVectors], list[NDArray[np.bool_]]]:
        """Function words too, and which tokens are of content words."""
        check_pairs(texts, languages)
        prompt = self._prompts.document
        found = self._tokens.encode_with_spans(texts, prompt=prompt)
        head = self._tokens.head(prompt)
        ids = [one.ids for one in found]
        vectors, tokens = self._both(ids, languages, head=head, side="document")
        content = [
            content_tokens(clean(text), one.spans) for text, one in zip(texts, found, strict=True)
        ]
        return vectors, tokens, content

    def encode_queries(
        self, texts: Sequence[str], *, languages: Sequence[str]
    ) -> list[EncodedQuery]:
        check_pairs(texts, languages)
        prompt = self._prompts.query
        found = self._tokens.encode_with_spans(texts, prompt=prompt)
        head = self._tokens.head(prompt)
        made = self._both([one.ids for one in found], languages, head=head, side="query")
        return [
            encoded_query(text, one.spans, vector, tokens, recipe=self.token_recipe)
            for text, one, vector, tokens in zip(texts, found, *made, strict=True)
        ]

    def _embed(
        self, texts: Sequence[str], languages: Sequence[str], *, side: Side, prompt: str
    ) -> Vectors:
        check_pairs(texts, languages)
        vectors = np.empty((len(texts), self._dim), dtype=np.float32)
        ids = self._tokens.encode(texts, prompt=prompt)
        for batch in self._batches(ids):
            pooled = self._forward(*self._padded(ids, batch))
            vectors[batch] = unit(pooled, names=batch)
        return self._centred(vectors, languages, side=side)

    def _both(
        self, rows: Sequence[Sequence[int]], languages: Sequence[str], *, head: int, side: Side
    ) -> tuple[Vectors, list[TokenVectors]]:
        """Of ids as the model gets them; the tokens from `head` on belong to the text."""
        vectors = np.empty((len(rows), self._dim), dtype=np.float32)
        tokens: dict[int, TokenVectors] = {}
        for batch in self._batches(rows):
            pooled, states = self._forward.with_tokens(*self._padded(rows, batch))
            vectors[batch] = unit(pooled, names=batch)
            for place, at in enumerate(batch):
                own = states[place, head : len(rows[at]) - self._tokens.tail]
                plain = unit(own, names=[at] * len(own))
                tokens[at] = self._centred_tokens(plain, languages[at], side=side)
        return self._centred(vectors, languages, side=side), [tokens[at] for at in range(len(rows))]

    def _batches(self, rows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        return batches([len(row) for row in rows], batch_tokens=self._batch_tokens)

    def _padded(self, rows: Sequence[Sequence[int]], batch: Sequence[int]) -> tuple[Ids, Ids]:
        return padded([rows[at] for at in batch], pad_id=self._pad_id)

    def _centred(self, vectors: Vectors, languages: Sequence[str], *, side: Side) -> Vectors:
        if self._centres is None:
            return vectors
        return centred(vectors, languages=languages, side=side, centres=self._centres)

    def _centred_tokens(self, tokens: TokenVectors, language: str, *, side: Side) -> TokenVectors:
        if self._token_centres is None:
            return tokens
        return centred_tokens(tokens, language=language, side=side, centres=self._token_centres)


def encoded_query(
    text: str,
    spans: Sequence[tuple[int, int]],
    vector: Vector,
    tokens: TokenVectors,
    *,
    recipe: str,
) -> EncodedQuery:
    """`spans` are of `clean(text)`, one for each of `tokens`; those of white space go."""
    given = spans_in(text, spans)
    kept = [at for at, (start, end) in enumerate(given) if start < end]
    return EncodedQuery(
        vector=vector,
        tokens=tokens[kept],
        spans=tuple(given[at] for at in kept),
        recipe=recipe,
    )


def check_pairs(texts: Sequence[str], languages: Sequence[str]) -> None:
    if len(texts) != len(languages):
        raise InvalidRequest(f"{len(texts)} texts, but {len(languages)} languages")


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
