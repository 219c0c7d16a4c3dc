"""Which version does a question ask about, and which stored editions does that mean?

"in 7.5", "在7.5版本中", "v2.3 里", "since v7.1", "v2 以来", "TiDB 7.5 or MySQL 8.0". A number
counts when something says that it is a version: a `v`, the word version or 版本, a product's name
in front of it, or, where it is one of the stored editions, a preposition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import regex

from cluster.filters import AllOf, AnyOf, Eq, Filter, In, fields_of
from cluster.text.versions import LATEST, same_version, version_key
from serve.plan.plan import (
    MAX_ASKED,
    MAX_CHOSEN,
    MAX_EDITIONS,
    MAX_NAMES,
    MAX_PRODUCTS,
    Editions,
    ProductEditions,
)

Reach = Literal["", "since", "before"]
"""`since` a version includes it, `before` does not."""

KnownEdition = tuple[str, str]
"""(product or "", edition)"""

EDITION_FIELDS = frozenset(
    {"product_version", "version_key", "newest_edition", "published_at", "updated_at"}
)
MAX_NAMED = 8
MAX_NUMBERS = 128
"""Numbers of a question that may be versions; each is compared with all stored editions."""

_NUMBER = r"\d+(?:\.(?:\d+|x))*(?:[-.]?(?:rc|beta|alpha|preview|dmr)[-.]?\d*)?"
_START = r"(?<![\p{Latin}\d_.第图表])"
"""Chinese has no spaces: a number or a name may begin and end right beside a character; but not
that of a chapter, a figure or a table."""

_VERSION = regex.compile(
    rf"""
    (?P<cue>{_START}(?:in|since|as\ of|from|between|before|prior\ to|earlier\ than|up\ to
            |(?:upgrad|migrat)\w*\ to)\s+
       |(?:[在自从于]|升级[到至])\s*)?
    (?:(?P<word>{_START}(?:versions?|releases?|ver\.?|rev\.?)\s*|版本?\s*[:：]?\s*)
       (?:v\.?\s?)?
     |(?P<v>{_START}v\.?\s?)
     |{_START})
    (?P<number>{_NUMBER})(?![\p{{Latin}}\d_%]|\.\d)
    (?P<tail>\s*(?:版本?\s*)?(?P<later>(?:及|和|或)?(?:以来|以后|之后)|[及或](?:以上|更高)|起|开始)
       |\s*(?:版本?\s*)?(?P<earlier>(?:及|和|或)?(?:之前|以前)|[及或](?:以下|更低))
       |\s*(?P<later>(?:and|or)\ (?:later|newer|above|up)|onwards?|\+(?!\d))
       |\s*(?P<earlier>(?:and|or)\ (?:earlier|older|below))
       |\s*(?:版本?|(?:版本?\s*)?(?:中|里|里面|下|上)))?
    (?P<unit>\s*(?:%|ms|s|seconds?|minutes?|hours?|days?|weeks?|months?|years?|[kmgt]i?b|
       times|percent|dollars?|euros?|usd|eur|cny|yuan|radians?|degrees?|points?|pixels?|px|
       (?:requests?|queries|rows?|tokens?)\s+(?:per|a)|[mck]?m|met(?:er|re)s?|miles?|k?g|
       [毫微纳]?秒|分(?![布区支析片库表页])|小时|天|日(?![志期])|月|年|个(?!性)|次(?!要)|倍|条(?!件)|
       万|亿|元|岁|人(?!工)|台|张|行(?![为锁级数])|[毫厘千]?米|公[里斤]|度|升(?!级))(?![a-z]))?
    """,
    regex.VERBOSE | regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A number that may be a version, and where it begins. `certain`: the wording says so;
    `hinted`: it stands where versions stand; `reach`: later or earlier ones are meant, too."""

    version: str
    certain: bool
    hinted: bool
    start: int
    reach: Reach = ""

    @property
    def dotted(self) -> bool:
        return "." in self.version


def mentions(question: str) -> tuple[Mention, ...]:
    """In order of the text, each version once."""
    found: dict[str, Mention] = {}
    for match in _VERSION.finditer(question):
        tail = match["tail"] or ""
        certain = bool(match["v"] or match["word"] or "版" in tail)
        if match["unit"] and not certain:
            continue
        version = match["number"]
        found.setdefault(
            version,
            Mention(
                version=version,
                certain=certain,
                hinted=bool(match["cue"] or tail),
                start=match.start("number"),
                reach=_reach(match),
            ),
        )
    return tuple(found.values())


def _reach(match: regex.Match[str]) -> Reach:
    """ "From 7.1 to 7.5" and 从7.1升级到7.5 name two versions, "since 7.1" all from it on."""
    cue = (match["cue"] or "").strip().casefold()
    if match["later"] or cue == "since":
        return "since"
    return "before" if match["earlier"] or cue in _BEFORE else ""


_BEFORE = frozenset({"before", "prior to", "earlier than", "up to"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Product:
    """A product that the question names, in every spelling that is stored, or, without names,
    whatever is stored. `ends` are where its name ends in the question."""

    names: tuple[str, ...] = ()
    editions: tuple[str, ...]
    ends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """A version, of what, how far it reaches, and the stored editions that it means."""

    version: str
    of: _Product
    reach: Reach = ""
    meant: tuple[str, ...]


def choose_editions(
    question: str,
    *,
    asked: str | None,
    where: Filter | None,
    known: Sequence[KnownEdition],
) -> tuple[Editions, tuple[str, ...]]:
    """The editions that may answer, and notes for the reader. `asked` is what the caller named
    outside the question; it wins, and so does a filter that looks at versions or dates. A
    product named without a version answers by its newest edition."""
    if asked is None and fields_of(where) & EDITION_FIELDS:
        return Editions(collapse=True), ()
    products, rest = _products_in(question, known)
    name = products[0].names[0] if products else None
    if asked is not None and asked.strip().casefold() in LATEST:
        return Editions(asked=(asked,), newest_only=True, product=name), ()
    subjects = products or (_Product(editions=tuple(edition for _, edition in known)),)
    if asked is None:
        wanted = _wanted_in(question, rest, products=products, subjects=subjects)
    else:
        wanted = [_Wanted(version=asked, of=each, meant=_meant(asked, each)) for each in subjects]
    versions = tuple(dict.fromkeys(each.version for each in wanted))
    if not versions:
        return Editions(newest_only=True, product=name), ()
    pairs = [_part(each, wanted) for each in subjects]
    parts, left = tuple(part for part, _ in pairs), sum(more for _, more in pairs)
    if asked is not None:
        parts = tuple(part for part in parts if part.chosen)
    chosen = tuple(dict.fromkeys(edition for part in parts for edition in part.chosen))
    missing = [] if asked and chosen else [each for each in wanted if not each.meant]
    notes = _told(missing[:1] if asked else missing, left_out=left)
    if not chosen:
        return Editions(asked=versions, product=name, newest_only=True), notes
    return Editions(asked=versions, chosen=chosen, product=name, parts=parts, collapse=True), notes


def current_editions(known: Iterable[KnownEdition]) -> tuple[ProductEditions, ...]:
    """Of each product with several editions the newest, in every spelling, by name; the first
    that a plan has room for."""
    editions: dict[str, set[KnownEdition]] = {}
    for product, edition in known:
        if product:
            editions.setdefault(product.casefold(), set()).add((product, edition))
    found: list[ProductEditions] = []
    room = MAX_EDITIONS
    for _, pairs in sorted(editions.items()):
        keys = {version_key(edition) for _, edition in pairs}
        highest = max(keys)
        newest = {edition for _, edition in pairs if version_key(edition) == highest}
        if len(keys) > 1:
            names = tuple(sorted({product for product, _ in pairs}))[:MAX_NAMES]
            part = ProductEditions(names=names, chosen=tuple(sorted(newest))[:MAX_CHOSEN])
            room -= part.size
            if room < 0:
                break
            found.append(part)
    return tuple(found)


def edition_filter(editions: Editions) -> Filter | None:
    """What the choice means as a filter of both indexes."""
    if editions.newest_only:
        return Eq("newest_edition", True)
    filters = tuple(_filter_of(part) for part in editions.parts)
    if not filters:
        return None
    return filters[0] if len(filters) == 1 else AnyOf(filters)


def _filter_of(part: ProductEditions) -> Filter:
    newest: Filter = Eq("newest_edition", True)
    which = In("product_version", part.chosen) if part.chosen else newest
    if not part.names:
        return which
    one = len(part.names) == 1
    return AllOf((Eq("product", part.names[0]) if one else In("product", part.names), which))


def _part(product: _Product, wanted: Iterable[_Wanted]) -> tuple[ProductEditions, int]:
    """And how many editions a plan has no room for: the newest go first then."""
    found = (edition for each in wanted if each.of is product for edition in each.meant)
    meant = list(dict.fromkeys(found))
    if len(meant) > MAX_CHOSEN:
        meant.sort(key=version_key, reverse=True)
    part = ProductEditions(names=product.names, chosen=tuple(meant[:MAX_CHOSEN]))
    return part, len(meant) - len(part.chosen)


def _told(missing: Sequence[_Wanted], *, left_out: int) -> tuple[str, ...]:
    notes = [_absent(each) for each in missing[:MAX_NAMED]]
    if (more := len(missing) - MAX_NAMED) > 0:
        notes.append(f"{more} more versions that the question names are not here either")
    if left_out:
        notes.append(f"{left_out} older editions are left out; name one to see it")
    return tuple(notes)


def _wanted_in(
    question: str, rest: str, *, products: Sequence[_Product], subjects: Sequence[_Product]
) -> list[_Wanted]:
    """The first so many. Where nothing has editions, nothing asks for one. A stored edition's
    number counts wherever it stands once a product or another version is named."""
    if not any(each.editions for each in subjects):
        return []
    found = [(each, _wanted(each, subjects)) for each in islice(mentions(rest), MAX_NUMBERS)]
    named = _behind(question, products)
    stored = {each.start for each, wanted in found if each.dotted and wanted.meant}
    sure = {
        each.start
        for each, _ in found
        if each.certain or each.start in named or (each.hinted and each.start in stored)
    }
    if sure or products:
        sure |= stored
    return [wanted for each, wanted in found if each.start in sure][:MAX_ASKED]


def _behind(question: str, products: Iterable[_Product]) -> frozenset[int]:
    """Where a number stands right behind a product's name."""
    gaps = (regex.compile(r"\s*(?=\d)").match(question, end) for of in products for end in of.ends)
    return frozenset(gap.end() for gap in gaps if gap is not None)


def _wanted(mention: Mention, subjects: Sequence[_Product]) -> _Wanted:
    """Of the product named last before the version, else the first; of another one that is
    named, where only that has such an edition."""
    before = [(end, each) for each in subjects for end in each.ends if end <= mention.start]
    nearest = max(before, key=lambda pair: pair[0])[1] if before else subjects[0]
    version, reach = mention.version, mention.reach
    meant = _meant(version, nearest, reach)
    others = (each for each in subjects if each is not nearest and _meant(version, each))
    of = nearest if meant else next(others, nearest)
    if of is not nearest:
        meant = _meant(version, of, reach)
    return _Wanted(version=version, of=of, reach=reach, meant=meant)


def _products_in(question: str, known: Sequence[KnownEdition]) -> tuple[tuple[_Product, ...], str]:
    """The known products whose names stand in the question as words of their own, in its
    order, the longest where several begin at one place, the first so many; and the question
    with blanks in the place of their names."""
    spellings: dict[str, set[str]] = {}
    for product, _ in known:
        if product:
            spellings.setdefault(product.casefold(), set()).add(product)
    if not spellings:
        return (), question
    names = "|".join(map(regex.escape, sorted(spellings, key=lambda name: (-len(name), name))))
    pattern = regex.compile(
        rf"(?<![\p{{Latin}}\d_])(?:{names})(?![\p{{Latin}}_])", regex.IGNORECASE
    )
    ends: dict[str, list[int]] = {}
    for match in pattern.finditer(question):
        if (name := match.group().casefold()) in spellings:
            ends.setdefault(name, []).append(match.end())
    products = tuple(
        _Product(
            names=tuple(sorted(spellings[name]))[:MAX_NAMES],
            editions=tuple(edition for of, edition in known if of in spellings[name]),
            ends=tuple(places),
        )
        for name, places in islice(ends.items(), MAX_PRODUCTS)
    )
    return products, pattern.sub(lambda match: " " * len(match.group()), question)


def _meant(version: str, product: _Product, reach: Reach = "") -> tuple[str, ...]:
    """The edition itself; where there is none, those of its line (7.5 means 7.5.1). With a
    reach, all on that side of it."""
    key = version_key(version)
    exact = tuple(edition for edition in product.editions if version_key(edition) == key)
    same = exact or tuple(each for each in product.editions if same_version(version, each))
    if not reach:
        return same
    later, these = reach == "since", frozenset(same)
    return tuple(
        edition
        for edition in product.editions
        if (edition in these and later)
        or (edition not in these and (version_key(edition) > key) is later)
    )


def _absent(wanted: _Wanted) -> str:
    product = wanted.of
    before = "version before " if wanted.reach == "before" else ""
    plain = f"{before}{wanted.version}" if before else f"version {wanted.version}"
    name = f"{product.names[0]} {before}{wanted.version}" if product.names else plain
    editions = sorted(set(product.editions), key=version_key, reverse=True)
    if not editions:
        return f"there is no {name} here, and no other version of anything"
    listed = ", ".join(editions[:MAX_NAMED])
    more = f" and {len(editions) - MAX_NAMED} more" if len(editions) > MAX_NAMED else ""
    return f"there is no {name} here; there are {listed}{more}. Answered from the newest"
