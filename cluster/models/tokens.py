"""Which tokens does a model see of a text?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from cluster.errors import ModelError

_REPLACEMENT = "\ufffd"
_UNASSIGNED = "\U0010fff0"
_UNSAFE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokenized:
    """`ids` as the model gets them, and the span in `clean(text)` of each that belongs to the
    text. A piece that holds only the mark of a word's start has an empty span or one of white
    space."""

    ids: list[int]
    spans: list[tuple[int, int]]


class TextTokens:
    """The tokenizer of a model, with its limit. Text is text: a special token's spelling in it
    (`</s>`, `[MASK]`, also full-width) gives the tokens of its characters."""

    def __init__(self, tokenizer: Tokenizer, *, max_length: int) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self._before, self._after = _frame(tokenizer)
        self._spelled = spelled_specials(tokenizer)
        self.special_count = len(self._before) + len(self._after)
        self.max_length = max_length
        if max_length <= self.special_count:
            raise ModelError(f"a model limit of {max_length} tokens leaves no room for text")

    def count(self, texts: Sequence[str], *, prompt: str = "") -> list[int]:
        """Tokens of each text behind `prompt`, without those of the prompt and specials."""
        (empty, *bodies) = self._bodies(["", *texts], prompt)
        return [max(0, len(body) - len(empty)) for body in bodies]

    def encode(self, texts: Sequence[str], *, prompt: str = "") -> list[list[int]]:
        """Ids as the model gets them: prompt and text cut at the limit, specials around."""
        room = self.max_length - self.special_count
        bodies = self._bodies(texts, prompt)
        return [[*self._before, *body[:room], *self._after] for body in bodies]

    def head(self, prompt: str) -> int:
        """How many ids stand before those of the text."""
        return len(self._before) + len(self._bodies([""], prompt)[0])

    @property
    def tail(self) -> int:
        """How many ids stand after those of the text."""
        return len(self._after)

    def encode_with_spans(self, texts: Sequence[str], *, prompt: str = "") -> list[Tokenized]:
        """The same ids as of `encode`."""
        head = self.head(prompt)
        room = self.max_length - self.special_count
        own = len(prompt.lstrip())
        prompted = [(prompt + clean(text)).strip() for text in texts]
        tokenized = []
        for encoding in self._tokenizer.encode_batch(prompted, add_special_tokens=False):
            pairs = self._plain_with_spans(encoding.ids, encoding.offsets)[:room]
            spans = [(start - own, end - own) for _, (start, end) in pairs]
            ids = [*self._before, *(one for one, _ in pairs), *self._after]
            tokenized.append(Tokenized(ids=ids, spans=spans[head - len(self._before) :]))
        return tokenized

    def _plain_with_spans(
        self, ids: list[int], spans: list[tuple[int, int]]
    ) -> list[tuple[int, tuple[int, int]]]:
        return [
            (plain, span)
            for token, span in zip(ids, spans, strict=True)
            for plain in self._spelled.get(token, (token,))
        ]

    def _bodies(self, texts: Sequence[str], prompt: str) -> list[list[int]]:
        # A prompt ends in a space; before an empty text that would be a token of its own.
        prompted = [(prompt + clean(text)).strip() for text in texts]
        encodings = self._tokenizer.encode_batch_fast(prompted, add_special_tokens=False)
        return [self._plain(encoding.ids) for encoding in encodings]

    def _plain(self, ids: list[int]) -> list[int]:
        if self._spelled.keys().isdisjoint(ids):
            return ids
        return [plain for token in ids for plain in self._spelled.get(token, (token,))]


def clean(text: str) -> str:
    """NFC, without surrounding white space; what cannot be encoded or is NUL is replaced."""
    return unicodedata.normalize("NFC", encodable(text)).strip()


def encodable(text: str) -> str:
    """As long as `text`."""
    return _UNSAFE.sub(_REPLACEMENT, text)


def _frame(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """The special tokens that the model wants before and after a text."""
    bare = tokenizer.encode("a", add_special_tokens=False).ids
    framed = tokenizer.encode("a", add_special_tokens=True).ids
    for start in range(len(framed) - len(bare) + 1):
        if framed[start : start + len(bare)] == bare:
            return framed[:start], framed[start + len(bare) :]
    raise ModelError("the tokenizer changes a text when it adds special tokens")


def spelled_specials(tokenizer: Tokenizer) -> dict[int, tuple[int, ...]]:
    """Special id -> ids of the characters of its spelling. Unigram models find special tokens
    in plain text even when told not to, because they are pieces like any other."""
    unknown = _unknown(tokenizer)
    spelled = {}
    for token, added in tokenizer.get_added_tokens_decoder().items():
        if added.special and token not in unknown:
            ids = [_character_id(tokenizer, character) for character in added.content]
            spelled[token] = tuple(at for at in ids if at is not None and at != token)
    return spelled


def _unknown(tokenizer: Tokenizer) -> set[int]:
    """What stands for characters that the model does not know: no spelling, but its own token.
    Some normalisers drop unassigned ones, so the model is asked by its name as well."""
    found = set(tokenizer.encode(_UNASSIGNED, add_special_tokens=False).ids)
    named = getattr(tokenizer.model, "unk_token", None)
    token = tokenizer.token_to_id(named) if named else None
    return found if token is None else {*found, int(token)}


def _character_id(tokenizer: Tokenizer, character: str) -> int | None:
    token = tokenizer.token_to_id(character)
    if token is not None:
        return int(token)
    ids = tokenizer.encode(character, add_special_tokens=False).ids
    return int(ids[-1]) if ids else None
