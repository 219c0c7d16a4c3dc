"""The gate closes on what is worse, not on noise, and keeps no text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.errors import InvalidRequest
from eval.gate import baseline_of, compare, read_baseline, write_baseline
from eval.records import Listed, Record
from eval.results import About, Results
from eval.scores import SetScores, score

ABOUT = About(dataset="tiny", data="d1", fingerprint="f", settings={}, code="c", commit="abc")


def scores_of(places: list[int]) -> SetScores:
    """One question for each place (from 1) that its only relevant document has."""

    def shown(place: int) -> tuple[Listed, ...]:
        units = ["good" if at == place else f"bad{at}" for at in range(1, 6)]
        return tuple((f"chk_{unit}", unit, None) for unit in units)

    records = tuple(
        Record(
            question_id=f"which-animal-{number}?",
            kind="",
            language="en",
            half="report",
            relevant={"good": 1},
            stages={"final": shown(place)},
        )
        for number, place in enumerate(places)
    )
    return score(Results(about=ABOUT, records=records))


def test_a_baseline_comes_back_without_ids_or_texts(tmp_path: Path) -> None:
    baseline = baseline_of(scores_of([1, 2, 3]))
    path = write_baseline(baseline, tmp_path)
    assert read_baseline("tiny", tmp_path) == baseline
    assert "animal" not in path.read_text()
    assert sorted(baseline.values.values()) == [0.5, 0.6309, 1.0]


def test_the_same_answers_pass() -> None:
    verdict = compare(scores_of([1, 2] * 20), baseline_of(scores_of([1, 2] * 20)))
    assert not verdict.fell
    assert verdict.told == "tiny: +0.00 points (+0.00 to +0.00) over 40 questions"


def test_a_fall_by_more_than_half_a_point_fails_even_as_chance() -> None:
    before, now = [1] * 50, [1] * 49 + [3]
    verdict = compare(scores_of(now), baseline_of(scores_of(before)))
    assert not verdict.difference.worse
    assert verdict.difference.value == pytest.approx(-0.5 / 50)
    assert verdict.fell


def test_a_significant_fall_fails_however_small() -> None:
    baseline = baseline_of(scores_of([1] * 40))
    slightly = replace(baseline, values=dict.fromkeys(baseline.values, 1.001))
    verdict = compare(scores_of([1] * 40), slightly)
    assert verdict.difference.worse
    assert verdict.fell


def test_a_gain_passes() -> None:
    assert not compare(scores_of([1] * 40), baseline_of(scores_of([3] * 40))).fell


def test_only_questions_of_both_are_compared() -> None:
    baseline = replace(baseline_of(scores_of([1] * 10)), data="d0")
    verdict = compare(scores_of([1] * 8), baseline)
    assert (verdict.difference.questions, verdict.missing) == (8, 2)
    assert "on other data" in verdict.told
    with pytest.raises(InvalidRequest, match="none of these questions"):
        compare(scores_of([]), baseline)


def test_a_set_without_a_baseline_has_none_and_a_broken_one_is_named(tmp_path: Path) -> None:
    assert read_baseline("tiny", tmp_path) is None
    (tmp_path / "tiny.json").write_text('{"dataset": "tiny"}')
    with pytest.raises(InvalidRequest, match=r"tiny\.json is no baseline"):
        read_baseline("tiny", tmp_path)
