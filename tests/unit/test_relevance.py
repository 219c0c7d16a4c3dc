"""When is nothing relevant? Signs, thresholds, and who is not judged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.text.terms import query_terms
from eval.calibrate_relevance import Sample, calibrate, constants, refused
from rerank import relevance as module
from rerank.relevance import (
    ACROSS_LANGUAGES,
    WEIGHTS,
    Calibration,
    Signals,
    calibration_of,
    keyword_share,
    relevance,
    signals_of,
)
from rerank.reranker import Evidence, Reranked

STEP = dict.fromkeys(WEIGHTS, 1.0)
PLAIN = Calibration(means=dict.fromkeys(WEIGHTS, 0.5), spreads=STEP, enough=-1.0)


def signals(value: float, *, share: float | None = None) -> Signals:
    return Signals(
        cosine=value,
        similarity=value,
        worst_third=value,
        share_of_first=value,
        keyword_share=value if share is None else share,
    )


def test_the_sum_is_in_standard_deviations_and_some_count_less() -> None:
    assert PLAIN.sum_of(signals(0.7)) == pytest.approx(2.4 * 0.2)


def test_half_at_the_threshold_and_more_above() -> None:
    at = relevance(signals(0.5 - 1 / 2.4), PLAIN)
    assert at.value == pytest.approx(0.5)
    assert at.enough(0.5 - 1e-9)
    above = relevance(signals(0.5), PLAIN)
    assert above.value == pytest.approx(1 / (1 + 2.718281828**-1))
    assert not relevance(signals(0.0), PLAIN).enough(0.5)


def test_all_words_in_one_passage_are_enough() -> None:
    assert relevance(signals(-9.0, share=1.0), PLAIN).value == 1.0
    assert relevance(signals(-9.0), PLAIN, verbatim=True).value == 1.0


def test_nothing_is_said_where_nothing_is_calibrated() -> None:
    found = relevance(signals(-9.0), None)
    assert found.value is None
    assert found.enough(1.0)
    assert calibration_of("some-other-encoder", "en") is None


def test_share_of_the_question_s_words() -> None:
    terms = query_terms("Where is the harbour master's office?")
    assert keyword_share(terms, "The office of the harbour master") == pytest.approx(1.0)
    half = keyword_share(terms, "the harbour is where it is")
    assert 0.2 < half < 0.5
    assert keyword_share(terms, "no such thing") == 0.0
    assert keyword_share((), "anything") == 0.0


def test_a_missing_sign_is_no_judgement() -> None:
    seen = Reranked(
        reranker="late_interaction",
        scale="z",
        scores={},
        evidence=Evidence(best=0.6, worst_third=0.4, first="a"),
    )
    terms = query_terms("harbour")
    texts = ["a harbour", "none"]
    found = signals_of(seen, cosine=0.5, terms=terms, first="none", texts=texts)
    assert found == Signals(
        cosine=0.5, similarity=0.6, worst_third=0.4, share_of_first=0.0, keyword_share=1.0
    )
    assert signals_of(None, cosine=0.5, terms=terms, first="none", texts=texts) is None
    assert signals_of(seen, cosine=None, terms=terms, first="none", texts=texts) is None


def test_the_scale_is_that_of_the_answerable_the_threshold_that_of_the_others() -> None:
    own = [signals(at / 100) for at in range(101)]
    foreign = [signals(at / 100 - 0.8) for at in range(101)]
    found = calibrate(own, foreign)
    assert found.means["cosine"] == pytest.approx(0.5)
    assert refused(found, foreign) == pytest.approx(0.96, abs=0.01)
    assert refused(found, own) == pytest.approx(0.16, abs=0.02)
    assert refused(found, []) == 0.0


def test_across_languages_the_threshold_is_that_of_the_answerable() -> None:
    own = [signals(at / 100) for at in range(101)]
    found = calibrate(own, [], other_language=True)
    assert found.weights == ACROSS_LANGUAGES
    assert refused(found, own) == pytest.approx(0.01, abs=0.005)


def test_the_other_half_reports() -> None:
    def sample(value: float, *, own: bool, half: str) -> Sample:
        return Sample(corpus="c", own=own, language="en", half=half, signals=signals(value))

    samples = [
        *(sample(at / 100, own=True, half="tune") for at in range(101)),
        *(sample(at / 100, own=True, half="report") for at in range(101)),
        *(sample(at / 100 - 1.0, own=False, half="tune") for at in range(101)),
        *(sample(-1.0, own=False, half="report") for _ in range(3)),
        sample(0.9, own=False, half="report"),
    ]
    translated = [
        replace(each, signals=replace(each.signals, other_language=True)) for each in samples
    ]
    assert list(constants([*samples, *translated])) == ["en", "en/other"]
    made = constants(samples)
    assert list(made) == ["en"]
    assert made["en"]["answerable"] == 101
    assert made["en"]["report"]["foreign_refused"] == 0.75
    assert made["en"]["report"]["answerable_refused"] <= 0.02


def test_constants_are_found_by_encoder_and_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants_of_one = {"means": dict.fromkeys(WEIGHTS, 0.0), "spreads": STEP, "enough": -3.0}
    listed = {"encoder": "model@1", "languages": {"zh": constants_of_one}}
    (tmp_path / "relevance.model.json").write_text(json.dumps(listed), encoding="utf-8")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    module.calibrations.cache_clear()
    try:
        found = calibration_of("model@1", "zh")
        assert found is not None
        assert found.enough == -3.0
        assert calibration_of("model@1", "zh", other_language=True) is None
        assert calibration_of("model@1", "en") is None
    finally:
        module.calibrations.cache_clear()
