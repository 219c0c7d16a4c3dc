"""The reference embedder: words and bigrams hashed to signed coordinates. No model, no wait."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from cluster.errors import InvalidRequest
from cluster.model import EncodedQuery, TokenVectors, Vectors
from cluster.models.centring import token_recipe
from cluster.models.embedder import check_pairs, encoded_query
from cluster.models.tokens import clean
from cluster.text.content_words import content_tokens

MAX_TOKENS = 512

_SPREAD = np.uint64(0x9E3779B97F4A7C15)

_TOKEN = re.compile(
    r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]|\w+?(?=[\u2e80-\u9fff])|\w+|[^\w\s]"
)


class HashingEmbedder:
    """Texts that share words or word pairs get similar vectors; nothing else is understood.

    A token is a word, a Han character, a kana, a hangul syllable or a sign. Queries and
    documents are treated alike, languages are ignored, tokens beyond `max_tokens` are cut off.
    """

    def __init__(self, dim: int, *, max_tokens: int = MAX_TOKENS) -> None:
        if dim < 1:
            raise InvalidRequest(f"a hashing embedder needs at least one dimension, not {dim}")
        self._dim = dim
        self._max_tokens = max_tokens

    @property
    def dim(self) -> int:
        return self._dim

    @property
    def fingerprint(self) -> str:
        return f"hashing-{self._dim}@1"

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(_TOKEN.findall(clean(text))) for text in texts]

    def embed_documents(self, texts: Sequence[str], *, languages: Sequence[str]) -> Vectors:
        check_pairs(texts, languages)
        features = [self._features(text) for text in texts]
        rows = np.repeat(np.arange(len(texts)), [len(found) for found in features])
        hashes = np.fromiter(chain.from_iterable(features), dtype=np.uint64)
        return self._scatter(rows, hashes, count=len(texts))

    def embed_queries(self, texts: Sequence[str], *, languages: Sequence[str]) -> Vectors:
        return self.embed_documents(texts, languages=languages)

    @property
    def token_recipe(self) -> str:
        return token_recipe(None)

    def embed_documents_with_tokens(
        self, texts: Sequence[str], *, languages: Sequence[str]
    ) -> tuple[Vectors, list[TokenVectors]]:
        vectors = self.embed_documents(texts, languages=languages)
        made = [self._tokens(text) for text in texts]
        return vectors, [
            tokens[content_tokens(clean(text), spans)]
            for text, (tokens, spans) in zip(texts, made, strict=True)
        ]

    def encode_queries(
        self, texts: Sequence[str], *, languages: Sequence[str]
    ) -> list[EncodedQuery]:
        vectors = self.embed_queries(texts, languages=languages)
        made = [self._tokens(text) for text in texts]
        return [
            encoded_query(text, spans, vector, tokens, recipe=self.token_recipe)
            for text, vector, (tokens, spans) in zip(texts, vectors, made, strict=True)
        ]

    def _tokens(self, text: str) -> tuple[TokenVectors, list[tuple[int, int]]]:
        """The same vector for the same word wherever it stands, and its span in `clean(text)`.
        Every coordinate is a sign drawn from the word: other words are about square to it."""
        found = list(_TOKEN.finditer(clean(text)))[: self._max_tokens]
        words = [zlib.crc32(one.group().lower().encode()) for one in found]
        seeds = np.array(words, dtype=np.uint64)[:, None] + np.uint64(1)
        mixed = seeds * (_SPREAD + np.uint64(2) * np.arange(-(-self._dim // 8), dtype=np.uint64))
        drawn = ((mixed ^ (mixed >> np.uint64(29))) * _SPREAD >> np.uint64(40)).astype(np.uint8)
        signs = np.unpackbits(drawn, axis=1, count=self._dim).astype(np.float32)
        tokens: TokenVectors = (signs * 2 - 1) / np.float32(self._dim**0.5)
        return tokens, [one.span() for one in found]

    def _features(self, text: str) -> list[int]:
        """One hash for each token and each pair of neighbours; the empty text has one too."""
        tokens = _TOKEN.findall(clean(text).lower())[: self._max_tokens]
        hashes = [zlib.crc32(token.encode()) for token in tokens] or [0]
        return hashes + [first * 31 + second for first, second in pairwise(hashes)]

    def _scatter(
        self, rows: NDArray[np.int64], hashes: NDArray[np.uint64], *, count: int
    ) -> Vectors:
        mixed = hashes * _SPREAD
        columns = (mixed >> np.uint64(33)) % np.uint64(self._dim)
        signs = np.where(mixed & np.uint64(1 << 32), 1.0, -1.0)
        places = rows * self._dim + columns.astype(np.int64)
        summed = np.bincount(places, weights=signs, minlength=count * self._dim)
        vectors: Vectors = summed.reshape(count, self._dim).astype(np.float32)
        # Signs can cancel out to nothing; such a text points along the first axis.
        vectors[~vectors.any(axis=1), 0] = 1.0
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors
