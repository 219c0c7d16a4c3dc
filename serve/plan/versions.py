"""Which version does a question ask about, and which stored editions does that mean?

"in 7.5", "在 7.5 版本中", "v2.3 里", "since v7.1", "TiDB 7.5". A number counts when something
says that it is a version: a `v`, the word version or 版本, a product's name in front of it, or
a preposition where the number is one of the stored editions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from cluster.filters import AllOf, Eq, Filter, In, fields_of
from cluster.text.versions import same_version, version_key
from serve.plan.plan import Editions

KnownEdition = tuple[str, str]
"""(product or "", edition)"""

EDITION_FIELDS = frozenset(
    {"product_version", "version_key", "newest_edition", "published_at", "updated_at"}
)
MAX_NAMED = 8

_NUMBER = r"\d+(?:\.(?:\d+|x))*(?:[-.]?(?:rc|beta|alpha|preview|dmr)[-.]?\d*)?"
_VERSION = regex.compile(
    rf"""
    (?P<word>\b(?:versions?|releases?|ver\.?|rev\.?)\s*|版本?\s*[:：]?\s*)?
    (?P<cue>\b(?:in|for|since|as\ of|under|from|until|between)\s+|[在自从于]\s*)?
    (?:(?P<v>(?<![\w.])v\.?\s?)|(?<![\w.]))
    (?P<number>{_NUMBER})(?![\w%]|\.\d)
    (?P<tail>\s*(?:版本?|以来|以后|之后|起|(?:版本?)?\s*(?:中|里|里面|下|上)))?
    (?P<unit>\s*(?:%|ms|s|seconds?|minutes?|hours?|days?|weeks?|months?|years?|[kmgt]i?b|
       times|percent|秒|分|小时|天|日|月|年|个|次|倍|条|万|亿|元|岁|人|台|张|行)(?![a-z]))?
    """,
    regex.VERBOSE | regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A number that may be a version, and where it begins. `certain`: the wording says so;
    `hinted`: it stands where versions stand."""

    version: str
    certain: bool
    hinted: bool
    start: int

    @property
    def dotted(self) -> bool:
        return "." in self.version


def mentions(question: str) -> tuple[Mention, ...]:
    """In order of the text, each version once."""
    found: dict[str, Mention] = {}
    for match in _VERSION.finditer(question):
        if match["unit"]:
            continue
        tail = match["tail"] or ""
        version = match["number"]
        found.setdefault(
            version,
            Mention(
                version=version,
                certain=bool(match["v"] or match["word"] or "版" in tail),
                hinted=bool(match["cue"] or tail),
                start=match.start("number"),
            ),
        )
    return tuple(found.values())


def choose_editions(
    question: str,
    *,
    asked: str | None,
    where: Filter | None,
    known: Sequence[KnownEdition],
) -> tuple[Editions, tuple[str, ...]]:
    """The editions that may answer, and notes for the reader. `asked` is what the caller named
    outside the question; it wins, and so does a filter that looks at versions or dates."""
    if asked is None and fields_of(where) & EDITION_FIELDS:
        return Editions(collapse=True), ()
    product = _product_in(question, known)
    versions = (asked,) if asked is not None else _versions_in(question, product, known)
    if not versions:
        return Editions(newest_only=True, product=product), ()
    offered = tuple(edition for of, edition in known if product is None or of == product)
    chosen = tuple(dict.fromkeys(e for version in versions for e in _meant(version, offered)))
    notes = tuple(
        _absent(version, product=product, offered=offered)
        for version in versions
        if not _meant(version, offered)
    )
    if not chosen:
        return Editions(asked=versions, product=product, newest_only=True), notes
    return Editions(asked=versions, chosen=chosen, product=product, collapse=True), notes


def edition_filter(editions: Editions) -> Filter | None:
    """What the choice means as a filter of both indexes."""
    if editions.newest_only:
        return Eq("newest_edition", True)
    if not editions.chosen:
        return None
    chosen = In("product_version", editions.chosen)
    if editions.product is None:
        return chosen
    return AllOf((Eq("product", editions.product), chosen))


def _versions_in(
    question: str, product: str | None, known: Sequence[KnownEdition]
) -> tuple[str, ...]:
    """Where nothing has editions, nothing asks for one. A stored edition's number counts
    wherever it stands once a product or another version is named."""
    if not known:
        return ()
    offered = [edition for of, edition in known if product is None or of == product]
    named = _after_product(question, product)
    found = mentions(question)
    sure = {
        each.version
        for each in found
        if each.certain or each.start in named or (each.hinted and each.dotted)
    }
    return tuple(
        each.version
        for each in found
        if each.version in sure
        or ((sure or product) and each.dotted and _meant(each.version, offered))
    )


def _after_product(question: str, product: str | None) -> frozenset[int]:
    """Where a number stands right behind the product's name."""
    if product is None:
        return frozenset()
    behind = regex.compile(rf"{regex.escape(product)}\s*(?=\d)", regex.IGNORECASE)
    return frozenset(match.end() for match in behind.finditer(question))


def _product_in(question: str, known: Sequence[KnownEdition]) -> str | None:
    """The longest known product whose name stands in the question as a word of its own."""
    products = sorted({product for product, _ in known if product}, key=lambda p: (-len(p), p))
    for product in products:
        word = rf"(?<![a-z0-9_]){regex.escape(product)}(?![a-z_])"
        if regex.search(word, question, regex.IGNORECASE):
            return product
    return None


def _meant(version: str, offered: Sequence[str]) -> tuple[str, ...]:
    """The edition itself; where there is none, those of its line (7.5 means 7.5.1)."""
    key = version_key(version)
    exact = tuple(edition for edition in offered if version_key(edition) == key)
    return exact or tuple(edition for edition in offered if same_version(version, edition))


def _absent(version: str, *, product: str | None, offered: Sequence[str]) -> str:
    name = f"{product} {version}" if product else f"version {version}"
    editions = sorted(set(offered), key=version_key, reverse=True)
    if not editions:
        return f"there is no {name} here, and no other version of anything"
    listed = ", ".join(editions[:MAX_NAMED])
    more = f" and {len(editions) - MAX_NAMED} more" if len(editions) > MAX_NAMED else ""
    return f"there is no {name} here; there are {listed}{more}. Answered from the newest"
