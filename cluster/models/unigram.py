"""How does a SentencePiece Unigram model become a `tokenizer.json`?"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from cluster.errors import ModelError

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
MASK = "<mask>"
WORD = "▁"

_Trie = dict[int, "_Trie | int"]
_LEAF = 0
_OFFSET_LIMIT = 1 << 21


def unigram_tokenizer(pieces: Sequence[tuple[str, float]], charmap: Mapping[int, str]) -> Tokenizer:
    """A tokenizer whose ids are the positions of `pieces`; the first four are `SPECIALS`."""
    if tuple(text for text, _ in pieces[:4]) != SPECIALS:
        raise ModelError(f"the vocabulary does not begin with {', '.join(SPECIALS)}")
    tokenizer = Tokenizer(models.Unigram(list(pieces), unk_id=3, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(charsmap(charmap)),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=WORD, prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement=WORD, prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    tokenizer.add_special_tokens(
        [
            *(AddedToken(text, special=True, normalized=False) for text in SPECIALS),
            AddedToken(MASK, special=True, normalized=False, lstrip=True),
        ]
    )
    return tokenizer


def charsmap(charmap: Mapping[int, str]) -> bytes:
    """SentencePiece's form of a character map: the size of a Darts double array, the array
    (UTF-8 of a character -> offset of its replacement), the replacements, each ended by NUL."""
    trie: _Trie = {}
    texts = bytearray()
    for code_point, replacement in sorted(charmap.items()):
        _insert(trie, chr(code_point).encode("utf-8", "surrogatepass"), len(texts))
        texts += replacement.encode("utf-8") + b"\0"
    units = _double_array(trie)
    array = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(array)) + array + bytes(texts)


def _insert(trie: _Trie, key: bytes, value: int) -> None:
    if _LEAF in key:
        raise ModelError("the character map holds NUL, which no double array can")
    node = trie
    for byte in key:
        child = node.setdefault(byte, {})
        if isinstance(child, int):
            raise ModelError("the character map is not UTF-8")
        node = child
    node[_LEAF] = value


def _double_array(trie: _Trie) -> list[int]:
    """Each node owns a base of its own; its child by label `c` stands at `base ^ c`, and its
    value at `base`. A unit holds the distance to its base, whether there is a value, a label."""
    cells: dict[int, int] = {}
    bases: set[int] = set()
    waiting = [(0, _LEAF, trie)]
    taken = {0}
    while waiting:
        position, label, node = waiting.pop()
        base = _free_base(node, taken, bases)
        bases.add(base)
        taken.update(base ^ byte for byte in node)
        cells[position] = (position ^ base) << 10 | (_LEAF in node) << 8 | label
        for byte, child in node.items():
            if isinstance(child, int):
                cells[base] = 1 << 31 | child
            else:
                waiting.append((base ^ byte, byte, child))
    size = max(taken) + 256
    if size >= _OFFSET_LIMIT:
        raise ModelError("the character map is too large for a double array")
    return [cells.get(position, 0) for position in range(size)]


def _free_base(node: _Trie, taken: set[int], bases: set[int]) -> int:
    # Starting near the end keeps the search short and the array dense enough.
    base = max(1, max(taken) - 512)
    while base in bases or any(base ^ byte in taken for byte in node):
        base += 1
    return base
