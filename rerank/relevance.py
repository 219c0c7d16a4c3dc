"""Is there anything about the question at all?

Three signs are added up in standard deviations: the best cosine, the best MaxSim, and the share of
the question's words in the passage that ranks first. Only language-centred vectors have a scale on
which that can be told, and only where it was calibrated: `relevance.<model>.json`, made by
`eval.calibrate_relevance`, names the encoder it holds for. For every other encoder, and for a
language without constants, nothing is said.

What answers in another language is less alike and shares hardly a word: where the nearest passage
is in another language than the question, signs and constants of their own hold (`zh/other`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from cluster.text.terms import QueryTerm, content_terms
from rerank.matched import terms_of
from rerank.reranker import Reranked

FOLDER = Path(__file__).parent
FILES = "relevance.*.json"
OTHER = "/other"

WEIGHTS: Mapping[str, float] = {
    "cosine": 1.5,
    "similarity": 0.4,
    "share_of_first": 0.5,
}
ACROSS_LANGUAGES: Mapping[str, float] = {"cosine": 1.0, "similarity": 1.0, "worst_third": 1.0}
"""Where the nearest passage is in another language: words are hardly shared and say nothing, but
the worst third of the question's tokens in the passage with the best MaxSim does."""

ALL_WORDS = 0.99
"""A passage with all words of the question is about it, whatever the vectors say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """`cosine`, `similarity` and `worst_third` on the encoder's scale. Shares, 0 to 1, are of the
    question's words: `share_of_first` in the passage that ranks first, `keyword_share` in that
    which holds most of them. `other_language`: the nearest passage's is not the question's."""

    cosine: float
    similarity: float
    worst_third: float
    share_of_first: float
    keyword_share: float
    other_language: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Of one language of questions, and passages of the same or of another: mean and spread of
    each sign over questions that have an answer, and the sum that is just enough."""

    means: Mapping[str, float]
    spreads: Mapping[str, float]
    enough: float
    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)

    def sum_of(self, signals: Signals) -> float:
        return math.fsum(
            weight * (getattr(signals, name) - self.means[name]) / self.spreads[name]
            for name, weight in self.weights.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """`value` 0 to 1: how sure it is that something is about the question; 0.5 at the calibrated
    threshold, and one step of the sum of standard deviations is one step of the logit. None
    where nothing is calibrated."""

    value: float | None
    signals: Signals

    def enough(self, least: float) -> bool:
        return self.value is None or self.value >= least


def relevance(
    signals: Signals, calibration: Calibration | None, *, verbatim: bool = False
) -> Relevance:
    """`verbatim`: a passage has what the question means as it is written; that is enough."""
    if calibration is None:
        return Relevance(value=None, signals=signals)
    if verbatim or signals.keyword_share >= ALL_WORDS:
        return Relevance(value=1.0, signals=signals)
    above = calibration.sum_of(signals) - calibration.enough
    return Relevance(value=1 / (1 + math.exp(-max(min(above, 30.0), -30.0))), signals=signals)


def signals_of(
    reranked: Reranked | None,
    *,
    cosine: float | None,
    terms: Sequence[QueryTerm],
    first: str,
    texts: Sequence[str],
    other_language: bool = False,
) -> Signals | None:
    """`cosine` is the best of the channel `semantic`, `other_language` tells of that passage.
    `first` is the indexed text of the passage that ranks first, `texts` are those of the best of
    the channel `keyword`. None where a sign is missing."""
    evidence = reranked.evidence if reranked else None
    if evidence is None or cosine is None:
        return None
    return Signals(
        cosine=cosine,
        similarity=evidence.best,
        worst_third=evidence.worst_third,
        share_of_first=keyword_share(terms, first),
        keyword_share=max((keyword_share(terms, text) for text in texts), default=0.0),
        other_language=other_language,
    )


def keyword_share(terms: Sequence[QueryTerm], text: str) -> float:
    """Of the weight of the terms that say what the question is about, the part that is there."""
    wanted = content_terms(terms)
    whole = math.fsum(term.weight for term in wanted)
    held = terms_of(text)
    return math.fsum(term.weight for term in wanted if term.term in held) / whole if whole else 0.0


def calibration_of(
    fingerprint: str, language: str, *, other_language: bool = False
) -> Calibration | None:
    return calibrations().get((fingerprint, kind_of(language, other_language=other_language)))


def kind_of(language: str, *, other_language: bool) -> str:
    """The name of a calibration in the file."""
    return f"{language}{OTHER}" if other_language else language


def weights_of(kind: str) -> Mapping[str, float]:
    return ACROSS_LANGUAGES if kind.endswith(OTHER) else WEIGHTS


@cache
def calibrations() -> Mapping[tuple[str, str], Calibration]:
    """Read once, at first use."""
    found: dict[tuple[str, str], Calibration] = {}
    for path in sorted(FOLDER.glob(FILES)):
        listed = json.loads(path.read_text(encoding="utf-8"))
        for kind, constants in listed["languages"].items():
            found[listed["encoder"], kind] = Calibration(
                means=constants["means"],
                spreads=constants["spreads"],
                enough=constants["enough"],
                weights=weights_of(kind),
            )
    return found
