"""The seam to models that turn text into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cluster.model import EncodedQuery, TokenVectors, Vectors


class Embedder(Protocol):
    """Text -> unit vectors. Implementations are synchronous and not thread-safe: call them
    from one thread at a time (`asyncio.to_thread` behind a lock, or an actor)."""

    @property
    def dim(self) -> int: ...

    @property
    def fingerprint(self) -> str:
        """Same fingerprint, same vectors: name, revision, dimension, prompts, normalisation,
        backend, centring."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens of a document text that reach the model, prompt and special tokens taken off."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as the model sees it, prompt and special tokens not counted."""
        ...

    def embed_documents(self, texts: Sequence[str], *, languages: Sequence[str]) -> Vectors:
        """Shape `(len(texts), dim)`, in the order of `texts`. `languages` are codes of
        `cluster.text.languages` (`zh`, `en`, `und`…) and choose the mean that is taken off."""
        ...

    def embed_queries(self, texts: Sequence[str], *, languages: Sequence[str]) -> Vectors: ...

    @property
    def token_recipe(self) -> str:
        """Eight hex digits: how token vectors are made, as far as the fingerprint does not say."""
        ...

    def embed_documents_with_tokens(
        self, texts: Sequence[str], *, languages: Sequence[str]
    ) -> tuple[Vectors, list[TokenVectors]]:
        """As `embed_documents`, and the token vectors of each text, by one pass for both: of
        its content words (`cluster.text.content_words`) alone, as others decide nothing."""
        ...

    def encode_queries(
        self, texts: Sequence[str], *, languages: Sequence[str]
    ) -> list[EncodedQuery]:
        """As `embed_queries`, with the token vectors of each text."""
        ...
