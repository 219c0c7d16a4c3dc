"""Claims whose truth is known, made of the pages of versioned documentation.

Five kinds: `true`; `wrong_number`, one number changed to one that the place never had;
`wrong_version`, what holds in another version; `negated`, a true one denied; `absent`, about
something that no page knows. Each in several wordings, Chinese and English. The same seed gives
the same claims.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import regex

from eval.claim_facts import DefaultFact, Facts, RangeFact, SentenceFact
from eval.claim_wordings import (
    BOUND,
    DEFAULT,
    DENIABLE,
    DENIED,
    INVENTED,
    NAMES,
    NO_DEFAULT,
    PURPOSES,
    SAID,
    THINGS,
    UNITS,
)

Kind = Literal["true", "wrong_number", "wrong_version", "negated", "absent"]
Expected = Literal["supported", "contradicted", "not_found"]

KINDS: tuple[Kind, ...] = ("true", "wrong_number", "wrong_version", "negated", "absent")
EXPECTED: Mapping[Kind, Expected] = {
    "true": "supported",
    "wrong_number": "contradicted",
    "wrong_version": "contradicted",
    "negated": "contradicted",
    "absent": "not_found",
}
_SHAPES: Mapping[Kind, Mapping[str, float]] = {
    "true": {"default": 0.45, "range": 0.2, "sentence": 0.35},
    "wrong_number": {"default": 0.45, "range": 0.2, "sentence": 0.35},
    "negated": {"default": 0.6, "sentence": 0.4},
    "absent": {"setting": 0.5, "feature": 0.5},
}
"""What claims of a kind are made of, and how often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """`source` tells what it was made of."""

    text: str
    language: str
    kind: Kind
    product: str
    version: str
    source: str

    @property
    def expected(self) -> Expected:
        return EXPECTED[self.kind]


def make_claims(facts: Facts, *, count: int, seed: int) -> list[Claim]:
    """`count` different claims, as many of each kind as of the others."""
    rng = random.Random(seed)  # noqa: S311  # repeatable
    made: dict[str, Claim] = {}
    for number in range(count * 50):
        if len(made) >= count:
            break
        kind = KINDS[len(made) % len(KINDS)]
        claim = _MAKERS[kind](facts, rng, "zh" if number % 2 else "en")
        if claim is not None:
            made.setdefault(claim.text, claim)
    return list(made.values())


def _true(facts: Facts, rng: random.Random, language: str) -> Claim | None:
    shape = _shape("true", rng)
    if shape == "default":
        fact = rng.choice(facts.defaults)
        version = rng.choice(sorted(fact.literals))
        value = fact.literals[version]
        return _about_default(fact, rng, language, "true", version=version, value=value)
    if shape == "range":
        bound = rng.choice(facts.ranges)
        version = rng.choice(sorted(bound.bounds))
        return _about_bound(bound, rng, language, "true", version=version, change=None)
    sentence = _sentence(facts, rng, language)
    return _said(sentence, rng, "true", text=sentence.text)


def _wrong_number(facts: Facts, rng: random.Random, language: str) -> Claim | None:
    shape = _shape("wrong_number", rng)
    if shape == "default":
        fact = rng.choice([each for each in facts.defaults if _numeric(each)])
        version = rng.choice(sorted(fact.literals))
        if not _is_number(fact.literals[version]):
            return None
        value = other_number(fact.literals[version], rng, known=fact.numbers)
        return _about_default(fact, rng, language, "wrong_number", version=version, value=value)
    if shape == "range":
        bound = rng.choice(facts.ranges)
        version = rng.choice(sorted(bound.bounds))
        return _about_bound(bound, rng, language, "wrong_number", version=version, change=rng)
    sentence = _sentence(facts, rng, language)
    changed = sentence.with_number(other_number(sentence.number, rng, known=frozenset()))
    if any(each.text == changed for each in facts.sentences):
        return None
    return _said(sentence, rng, "wrong_number", text=changed)


def _wrong_version(facts: Facts, rng: random.Random, language: str) -> Claim | None:
    changed = [each for each in facts.defaults if len(set(each.literals.values())) > 1]
    fact = rng.choice(changed)
    version, other = rng.sample(sorted(fact.literals), 2)
    if fact.literals[version] == fact.literals[other]:
        return None
    value = fact.literals[other]
    return _about_default(fact, rng, language, "wrong_version", version=version, value=value)


def _negated(facts: Facts, rng: random.Random, language: str) -> Claim | None:
    if _shape("negated", rng) == "default":
        fact = rng.choice(facts.defaults)
        version = rng.choice(sorted(fact.literals))
        value = fact.literals[version]
        return _about_default(fact, rng, language, "negated", version=version, value=value)
    sentence = _sentence(facts, rng, language)
    text = denied(sentence.text, language=sentence.language)
    return _said(sentence, rng, "negated", text=text) if text else None


def _absent(facts: Facts, rng: random.Random, language: str) -> Claim | None:
    if _shape("absent", rng) == "setting":
        name = _made_up_name(facts, rng)
        value = rng.choice(("ON", "OFF", str(rng.randint(1, 9999))))
        version = rng.choice(facts.versions["tidb"])
        fact = DefaultFact(
            product="tidb", name=name, literals={version: value}, numbers=frozenset()
        )
        return _about_default(fact, rng, language, "absent", version=version, value=value)
    product = rng.choice(sorted(facts.versions))
    version = rng.choice(facts.versions[product])
    text = rng.choice(INVENTED[language]).format(
        product=NAMES.get(product, product),
        version=version,
        thing=rng.choice(THINGS[language]),
        purpose=rng.choice(PURPOSES[language]),
        number=rng.randint(3, 99),
        unit=rng.choice(UNITS[language]),
    )
    return Claim(
        text=text, language=language, kind="absent", product=product, version=version, source=""
    )


_MAKERS: Mapping[Kind, Callable[[Facts, random.Random, str], Claim | None]] = {
    "true": _true,
    "wrong_number": _wrong_number,
    "wrong_version": _wrong_version,
    "negated": _negated,
    "absent": _absent,
}


def _shape(kind: Kind, rng: random.Random) -> str:
    shares = _SHAPES[kind]
    return rng.choices(list(shares), weights=list(shares.values()))[0]


def other_number(number: str, rng: random.Random, *, known: frozenset[str]) -> str:
    """Another number of the same kind that is none of `known`."""
    value = float(number)
    if "." in number:
        others = [f"{value + step:g}" for step in (0.1, 0.2, 0.5, 1.5, 2.0)]
    else:
        whole = int(value)
        others = [str(each) for each in (whole + 1, whole * 2 + 3, whole * 10 + 7, whole + 13)]
    fresh = [each for each in others if each not in known and each != number]
    return rng.choice(fresh) if fresh else str(int(value) + 10_007)


def denied(text: str, *, language: str) -> str | None:
    """The sentence with its one verb denied; `None` where there is not exactly one, or where
    something is denied already."""
    if regex.search(DENIED[language], text, regex.IGNORECASE):
        return None
    places = [
        (pattern, put, list(regex.finditer(pattern, text))) for pattern, put in DENIABLE[language]
    ]
    if sum(len(found) for _, _, found in places) != 1:
        return None
    pattern, put = next((pattern, put) for pattern, put, found in places if found)
    return regex.sub(pattern, put, text)


def _about_default(
    fact: DefaultFact, rng: random.Random, language: str, kind: Kind, *, version: str, value: str
) -> Claim:
    wordings = NO_DEFAULT if kind == "negated" else DEFAULT
    quoted = rng.choice((value, f"`{value}`"))
    return Claim(
        text=rng.choice(wordings[language]).format(name=fact.name, version=version, value=quoted),
        language=language,
        kind=kind,
        product=fact.product,
        version=version,
        source=f"default of {fact.name}: {dict(fact.literals)}",
    )


def _about_bound(
    fact: RangeFact,
    rng: random.Random,
    language: str,
    kind: Kind,
    *,
    version: str,
    change: random.Random | None,
) -> Claim:
    side: Literal["least", "greatest"] = rng.choice(("least", "greatest"))
    value = fact.bounds[version][0 if side == "least" else 1]
    known = frozenset(each for bounds in fact.bounds.values() for each in bounds)
    if change is not None:
        value = other_number(value, change, known=known)
    return Claim(
        text=rng.choice(BOUND[side, language]).format(name=fact.name, version=version, value=value),
        language=language,
        kind=kind,
        product=fact.product,
        version=version,
        source=f"range of {fact.name}: {dict(fact.bounds)}",
    )


def _said(sentence: SentenceFact, rng: random.Random, kind: Kind, *, text: str) -> Claim:
    product = NAMES.get(sentence.product, sentence.product)
    return Claim(
        text=rng.choice(SAID[sentence.language]).format(
            product=product, version=sentence.version, text=text
        ),
        language=sentence.language,
        kind=kind,
        product=sentence.product,
        version=sentence.version,
        source=sentence.text,
    )


def _sentence(facts: Facts, rng: random.Random, language: str) -> SentenceFact:
    return rng.choice([each for each in facts.sentences if each.language == language])


def _made_up_name(facts: Facts, rng: random.Random) -> str:
    """Of the parts of real names, but nowhere on any page."""
    parts = sorted({part for fact in facts.defaults for part in fact.name.split("_")[1:] if part})
    while True:
        name = "_".join(("tidb", *rng.sample(parts, 3)))
        if name not in facts.words:
            return name


def _numeric(fact: DefaultFact) -> bool:
    return any(_is_number(value) for value in fact.literals.values())


def _is_number(value: str) -> bool:
    return regex.fullmatch(r"\d+(?:\.\d+)?", value) is not None
