"""The decisions about a part, without any process."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cluster.stack.phases import (
    LONGEST_PAUSE_S,
    STABLE_S,
    STRIKES,
    Action,
    Part,
    Seen,
    again,
    decide,
    fell,
    pause_s,
)


def step(part: Part, **seen: object) -> tuple[Part, Action]:
    values: dict[str, object] = {"now": 0.0, "alive": True, "needs_met": True, **seen}
    return decide(part, Seen(**values), ready_within_s=10.0, allowed_misses=3)  # type: ignore[arg-type]


def test_it_waits_for_what_it_needs() -> None:
    waiting = Part()
    assert step(waiting, needs_met=False, alive=False) == (waiting, "none")
    started, action = step(waiting, now=5.0, alive=False)
    assert (started.phase, started.since, action) == ("starting", 5.0, "start")


def test_a_probe_makes_it_ready_and_clears_the_error() -> None:
    ready, action = step(Part(phase="starting", error="before"), probe=True, now=1.0)
    assert (ready.phase, ready.error, action) == ("ready", "", "none")


def test_it_is_killed_when_it_is_not_ready_in_time() -> None:
    starting = Part(phase="starting", since=0.0)
    assert step(starting, now=10.0) == (starting, "none")
    after, action = step(starting, now=10.1, last_words="still reading")
    assert (after.phase, after.strikes, action) == ("backing_off", 1, "kill")
    assert after.error == "was not ready after 10 s; still reading"


def test_only_misses_in_a_row_count() -> None:
    part = Part(phase="ready")
    for answer in (False, False, True, False, False):
        part, action = step(part, probe=answer)
        assert (part.phase, action) == ("ready", "none")
    part, action = step(part, probe=False)
    assert (part.phase, action) == ("backing_off", "kill")
    assert part.error == "hung: 3 probes in a row without an answer"


def test_an_exit_that_no_restart_mends_fails_at_once() -> None:
    after, action = step(Part(phase="starting"), alive=False, exit_permanent=True, last_words="no")
    assert (after.phase, after.error, action) == ("failed", "no", "none")


def test_a_long_life_forgives_what_was_before() -> None:
    part = Part(phase="ready", since=0.0, strikes=STRIKES - 1)
    assert fell(part, now=STABLE_S, error="x").phase == "backing_off"
    assert fell(part, now=STABLE_S, error="x").strikes == 1
    assert fell(part, now=STABLE_S - 0.1, error="x").phase == "failed"


def test_a_failed_part_rests_until_it_is_asked_for() -> None:
    failed = Part(phase="failed", strikes=STRIKES, restarts=4)
    assert step(failed, alive=False, now=1e6) == (failed, "none")
    assert step(again(failed, now=0.0), alive=False)[1] == "start"
    assert again(failed, now=0.0).restarts == 4


def test_pauses_grow_and_are_bounded() -> None:
    assert [pause_s(strikes) for strikes in (1, 2, 3)] == [0.5, 1.0, 2.0]
    assert pause_s(40) == LONGEST_PAUSE_S


@given(st.lists(st.tuples(st.floats(0.01, 2.0), st.booleans()), max_size=300))
def test_a_part_that_never_becomes_ready_is_started_at_most_five_times(
    looks: list[tuple[float, bool]],
) -> None:
    part, now, starts = Part(), 0.0, 0
    for seconds, alive in looks:
        now += seconds
        part, action = step(part, now=now, alive=alive, probe=False)
        starts += action == "start"
    assert starts <= STRIKES


@given(st.lists(st.booleans(), max_size=60), st.floats(0.01, 40.0))
def test_between_two_starts_there_is_always_a_pause(lives: list[bool], step_s: float) -> None:
    part, now, ended = Part(), 0.0, None
    for alive in lives:
        now += step_s
        before = part.phase
        part, action = step(part, now=now, alive=alive, probe=True)
        if part.phase in ("backing_off", "failed") and before in ("starting", "ready"):
            ended = now
        if action == "start" and ended is not None:
            assert now - ended >= 0.5
