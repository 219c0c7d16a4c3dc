"""Which tokens does a cross-encoder see of a question and a passage?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Encoding, Tokenizer

from cluster.models.embedder import Ids, padded
from cluster.models.tokens import clean, spelled_specials

Pair = tuple[str, str]
"""(question, passage)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairIds:
    """Ids as the model gets them, and the type of each (0: of the question)."""

    ids: list[int]
    types: list[int]


class PairTokens:
    """The tokenizer of a model, with its limit: of a pair that is too long, the longer of the two
    is cut. Text is text, as in `TextTokens`: a special token's spelling in it is not that token.
    Without `typed` all tokens are of type 0."""

    def __init__(
        self, tokenizer: Tokenizer, *, max_length: int, pad_id: int, typed: bool = True
    ) -> None:
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length, strategy="longest_first")
        tokenizer.encode_special_tokens = True
        spelled = spelled_specials(tokenizer)
        self._plain = {token: spelling[0] for token, spelling in spelled.items() if spelling}
        self._tokenizer = tokenizer
        self._pad_id = pad_id
        self._typed = typed

    def encode(self, pairs: Sequence[Pair]) -> list[PairIds]:
        cleaned = [(clean(question), clean(passage)) for question, passage in pairs]
        return [self._pair(each) for each in self._tokenizer.encode_batch(cleaned)]

    def padded(self, rows: Sequence[PairIds]) -> tuple[Ids, Ids, Ids]:
        """Ids, mask and types of shape `(len(rows), longest)`; padding at the end."""
        ids, mask = padded([row.ids for row in rows], pad_id=self._pad_id)
        types, _ = padded([row.types for row in rows], pad_id=0)
        return ids, mask, types

    def _pair(self, found: Encoding) -> PairIds:
        ids = [
            token if own is None else self._plain.get(token, token)
            for token, own in zip(found.ids, found.sequence_ids, strict=True)
        ]
        return PairIds(ids=ids, types=list(found.type_ids) if self._typed else [0] * len(ids))
