"""Which candidates say the same as a better one, so that they are clues and no results?

A *near copy* shares more than 85 % of its shingles with another passage, and what differs is
nothing that matters: no number, version, date, negation or limit (`only`, `除非`), and no word
put in the place of another. Two pages that differ in a name or a figure are two statements,
however alike they are. A *retold* fact stands in a source of lower authority whose content words
are nearly all in a better source, with the same figures and negations.

Of near copies the primary source stays: the highest authority, then the earliest date. What
people say in a conversation is an event each time and never a copy.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import SequenceMatcher
from functools import lru_cache

import regex

from cluster.model import StoredPassage
from cluster.text.function_words import is_function_word
from cluster.text.sentences import sentence_spans
from cluster.text.shingles import Shingles, jaccard, shingles, words_of
from cluster.text.versions import version_key
from rerank.dedup import Block, Copy
from rerank.hard_words import is_hard, is_neutral, is_number, stem_of
from rerank.replaced_values import differ_in_fact

SIMILAR = 0.85
RETOLD = 0.75
"""So much of the content of a retelling stands in its source."""

LESS_AUTHORITY = 0.1
"""A retelling's source is trusted at least so much less."""

MIN_RETOLD_TERMS = 4
MAX_RETOLD = 60
"""Longer texts are articles of their own."""

POOL = 100
"""Copies are looked for among so many best candidates."""

MAX_COMMON = 24
"""A shingle of more passages than that is a phrase of the trade and says nothing."""

_FAR = datetime.max.replace(tzinfo=UTC)

_NAME = regex.compile(r"(?<=[\p{Ll}\p{N},] )\p{Lu}[\p{L}\p{N}]+|[\w]+[._]\w[\w.]*")
"""A capitalised word inside a sentence, or an identifier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A block with what is compared of it."""

    block: Block
    words: tuple[str, ...]
    shingles: Shingles

    @property
    def first(self) -> StoredPassage:
        return self.block.passages[0]


def without_copies(
    blocks: Sequence[Block], *, similar: float = SIMILAR, pool: int = POOL
) -> list[Block]:
    """The blocks, best first, without those that say the same as another one; these are listed
    in `also_in` of the one that stays, with everything that they were found by.

    The one that stays stands where the best of them stood, with that one's score. What comes
    behind the first `pool` blocks is left as it is. Doing it again changes nothing.
    """
    read = [_read(block) for block in blocks[:pool]]
    places = _document_places(read)
    primary_first = sorted(range(len(read)), key=lambda at: _rank(read[at].first, places))
    pairs = _similar_pairs(read, primary_first, similar=similar)
    taken: set[int] = set()
    kept: dict[int, Block] = {}
    for primary in primary_first:
        if primary not in taken:
            group = {primary, *pairs[primary]} - taken
            taken |= group
            kept[min(group)] = _joined(read, group, primary)
    alone = [kept[at] for at in sorted(kept)]
    return [*_without_retold(alone), *blocks[pool:]]


def with_others(block: Block, others: Sequence[StoredPassage], *, similar: float) -> Block:
    """With those of the others in `also_in` that are near copies of one of its chunks, the most
    similar first; they were not among the candidates."""
    known = {*block.chunk_ids, *(copy.passage.chunk.chunk_id for copy in block.also_in)}
    own = [_read(replace(block, passages=(passage,))) for passage in block.passages]
    copies = [
        Copy(passage=passage, kind="near_copy", similarity=round(share, 4))
        for passage in others
        if passage.chunk.chunk_id not in known
        for share in [_share_with(own, passage, similar=similar)]
        if share > similar
    ]
    copies.sort(key=lambda copy: (-copy.similarity, copy.passage.chunk.chunk_id))
    return replace(block, also_in=(*block.also_in, *copies)) if copies else block


def _share_with(own: Sequence[_Read], passage: StoredPassage, *, similar: float) -> float:
    other = _read(Block(passages=(passage,), score=0.0, hits=()))
    shares = [_similarity(one, other) for one in own if _copies(one, other, similar=similar)]
    return max(shares, default=0.0)


def same_statement(left: str, right: str) -> bool:
    """Whether two similar texts differ in nothing that matters."""
    return _same(words_of(left), words_of(right))


def _read(block: Block) -> _Read:
    text = "\n".join(passage.chunk.compared_text for passage in block.passages)
    return _Read(block=block, words=words_of(text), shingles=_shingles(text))


@lru_cache(maxsize=1024)
def _shingles(text: str) -> Shingles:
    return shingles(words_of(text))


def _document_places(read: Sequence[_Read]) -> Mapping[str, int]:
    places: dict[str, int] = {}
    for at, each in enumerate(read):
        places.setdefault(each.first.document_id, at)
    return places


def _rank(passage: StoredPassage, places: Mapping[str, int]) -> tuple[float, datetime, int, int]:
    """Smaller is nearer to the source: authority, then date, then the better document."""
    about = passage.metadata
    known = [moment for moment in (about.published_at, about.updated_at) if moment is not None]
    return (
        -about.authority,
        min(known, default=_FAR),
        places[passage.document_id],
        passage.chunk.ordinal,
    )


def _similar_pairs(
    read: Sequence[_Read], order: Sequence[int], *, similar: float
) -> Mapping[int, set[int]]:
    """For each block the others that are near copies of it."""
    pairs: dict[int, set[int]] = defaultdict(set)
    for left, right in _candidates(read, order, similar=similar):
        if _copies(read[left], read[right], similar=similar):
            pairs[left].add(right)
            pairs[right].add(left)
    return pairs


def _candidates(
    read: Sequence[_Read], order: Sequence[int], *, similar: float
) -> Iterable[tuple[int, int]]:
    """Pairs that share a shingle and are about as long. Of a text that is more than `similar` to
    another, more than that share of its shingles stands in others: few texts are like that."""
    once, again = set[int](), set[int]()
    for each in read:
        again |= once & each.shingles
        once |= each.shingles
    holders: dict[int, list[int]] = defaultdict(list)
    for at in order:
        shared = read[at].shingles & again
        if len(shared) > similar * len(read[at].shingles):
            for shingle in shared:
                holders[shingle].append(at)
    pairs = {pair for found in holders.values() if len(found) > 1 for pair in _pairs_of(found)}
    return [pair for pair in pairs if _lengths_fit(read, pair, similar=similar)]


def _pairs_of(found: Sequence[int]) -> Iterable[tuple[int, int]]:
    """All pairs; of a shingle that many have, each with the first of them only."""
    firsts = found[:1] if len(found) > MAX_COMMON else found
    return ((left, right) for place, left in enumerate(firsts) for right in found[place + 1 :])


def _lengths_fit(read: Sequence[_Read], pair: tuple[int, int], *, similar: float) -> bool:
    short, long = sorted(len(read[at].shingles) for at in pair)
    return short > similar * long


def _copies(left: _Read, right: _Read, *, similar: float) -> bool:
    if left.first.turn is not None or right.first.turn is not None:
        return False
    if _other_edition(left.first, right.first):
        return False
    return _similarity(left, right) > similar and _same(left.words, right.words)


def _similarity(left: _Read, right: _Read) -> float:
    return jaccard(left.shingles, right.shingles)


def _other_edition(left: StoredPassage, right: StoredPassage) -> bool:
    both = left.edition and right.edition
    return bool(both) and version_key(left.edition) != version_key(right.edition)


def _same(left: Sequence[str], right: Sequence[str]) -> bool:
    """No hard word on one side only, and no content word in the place of another."""
    if left == right:
        return True
    gone, come = Counter(left) - Counter(right), Counter(right) - Counter(left)
    if any(is_hard(word) for word in (*gone, *come)):
        return False
    lost, won = _content(sorted(gone.elements())), _content(sorted(come.elements()))
    if lost and won and sorted(lost) != sorted(won):
        return False
    left, right = _between(left, right)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    return not any(
        kind == "replace" and _swapped(_content(left[a:b]), _content(right[c:d]))
        for kind, a, b, c, d in matcher.get_opcodes()
    )


def _swapped(lost: Sequence[str], won: Sequence[str]) -> bool:
    return bool(lost) and bool(won) and lost != won


def _between(left: Sequence[str], right: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Without what both begin and end with."""
    most = min(len(left), len(right))
    start = next((at for at in range(most) if left[at] != right[at]), most)
    end = next((at for at in range(most - start) if left[-1 - at] != right[-1 - at]), most - start)
    return left[start : len(left) - end], right[start : len(right) - end]


def _content(words: Iterable[str]) -> list[str]:
    """Stems of the words that say something."""
    return [stem_of(word) for word in words if not is_neutral(word)]


def _joined(read: Sequence[_Read], group: set[int], primary: int) -> Block:
    """The primary one, found as all of them were, with the score of the best."""
    if len(group) == 1:
        return read[primary].block
    best = read[min(group)].block
    rest = sorted(group - {primary})
    copies = [
        Copy(passage=passage, kind="near_copy", similarity=round(share, 4))
        for at in rest
        for share in [_similarity(read[primary], read[at])]
        for passage in read[at].block.passages
    ]
    ordered = [read[at].block for at in (primary, *rest)]
    return replace(
        read[primary].block,
        score=best.score,
        bonuses=best.bonuses,
        hits=tuple(hit for block in ordered for hit in block.hits),
        also_in=(*(copy for block in ordered for copy in block.also_in), *copies),
    )


def _without_retold(blocks: Sequence[Block]) -> list[Block]:
    """Each retelling goes into `also_in` of the best block that it retells."""
    sources: dict[int, list[Copy]] = defaultdict(list)
    gone: set[int] = set()
    highest = max((_authority_of(block) for block in blocks), default=0.0)
    for at, block in enumerate(blocks):
        if not _trusted_more(highest, than=_authority_of(block)):
            continue
        for other, source in enumerate(blocks):
            share = retold_share(block, source) if other not in gone else 0.0
            if share >= RETOLD and not _differ(block, source):
                gone.add(at)
                sources[other] += [*_retold(block, share), *sources.pop(at, [])]
                break
    return [
        replace(block, also_in=(*block.also_in, *sources[at])) if sources[at] else block
        for at, block in enumerate(blocks)
        if at not in gone
    ]


def _differ(block: Block, source: Block) -> bool:
    """With another value in the same place it is no retelling but another statement."""
    one, other = (
        "\n".join(passage.chunk.text for passage in each.passages) for each in (block, source)
    )
    return differ_in_fact(one, other)


def _retold(block: Block, share: float) -> list[Copy]:
    """It, and what repeats it."""
    passages = (*block.passages, *(copy.passage for copy in block.also_in))
    return [
        Copy(passage=passage, kind="retold", similarity=round(share, 4)) for passage in passages
    ]


def retold_share(block: Block, source: Block) -> float:
    """How much of the content of `block` stands in one to three sentences of `source` with the
    very same hard words; 0 where `source` is not trusted more."""
    first, other = block.passages[0], source.passages[0]
    if not _trusted_more(_authority_of(source), than=_authority_of(block)):
        return 0.0
    if first.turn is not None or other.turn is not None or _other_edition(first, other):
        return 0.0
    told = _facts(_plain_text(block))
    if len(told.content) < MIN_RETOLD_TERMS or not told.anchors or len(told.content) > MAX_RETOLD:
        return 0.0
    windows = (window for window in _windows(_plain_text(source)) if window.hard == told.hard)
    return max((_share(told, window) for window in windows), default=0.0)


def _authority_of(block: Block) -> float:
    return block.passages[0].metadata.authority


def _trusted_more(authority: float, *, than: float) -> bool:
    return than <= authority - LESS_AUTHORITY + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    content: frozenset[str]
    hard: frozenset[str]
    anchors: frozenset[str]


def _share(told: _Facts, window: _Facts) -> float:
    if not told.anchors & window.anchors:
        return 0.0
    return len(told.content & window.content) / len(told.content)


@lru_cache(maxsize=4096)
def _facts(text: str) -> _Facts:
    """Anchors are what a fact hangs on: figures, identifiers, names."""
    words = words_of(text)
    names = {word for name in _NAME.findall(text) for word in words_of(name)}
    return _Facts(
        content=frozenset(
            stem_of(word) for word in words if not is_neutral(word) and not is_function_word(word)
        ),
        hard=frozenset(word for word in words if is_hard(word)),
        anchors=frozenset(word for word in words if is_number(word))
        | frozenset(word for word in names if not is_neutral(word)),
    )


@lru_cache(maxsize=1024)
def _windows(text: str) -> tuple[_Facts, ...]:
    spans = sentence_spans(text)
    return tuple(
        _facts(text[spans[at][0] : spans[last][1]])
        for at in range(len(spans))
        for last in range(at, min(at + 3, len(spans)))
    )


def _plain_text(block: Block) -> str:
    return "\n".join(passage.chunk.text for passage in block.passages)
