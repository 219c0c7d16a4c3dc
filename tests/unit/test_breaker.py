"""Closed, open, half open."""

from __future__ import annotations

import pytest

from serve.breaker import Breaker


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(failures=3, rest_s=10.0, clock=clock)


def state_of(breaker: Breaker) -> str:
    """Read anew: it changes by itself."""
    return breaker.state


def fail(breaker: Breaker, times: int) -> None:
    for _ in range(times):
        assert breaker.admits()
        breaker.heard(well=False)


def test_failures_in_a_row_open_it(breaker: Breaker) -> None:
    fail(breaker, 2)
    assert state_of(breaker) == "closed"
    fail(breaker, 1)
    assert state_of(breaker) == "open"
    assert not breaker.admits()


def test_a_success_between_starts_the_count_anew(breaker: Breaker) -> None:
    fail(breaker, 2)
    breaker.heard(well=True)
    fail(breaker, 2)
    assert state_of(breaker) == "closed"


def test_after_its_rest_one_may_try_and_success_closes_it(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 9.9
    assert not breaker.admits()
    clock.now += 0.1
    assert state_of(breaker) == "half_open"
    assert [breaker.admits() for _ in range(3)] == [True, False, False]
    breaker.heard(well=True)
    assert state_of(breaker) == "closed"
    assert [breaker.admits() for _ in range(3)] == [True, True, True]


def test_one_failure_of_the_try_opens_it_again(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 10
    fail(breaker, 1)
    assert state_of(breaker) == "open"
    clock.now += 10
    assert breaker.admits()


def test_a_try_that_says_nothing_leaves_it_to_the_next(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 10
    assert breaker.admits()
    breaker.unheard()
    assert (state_of(breaker), breaker.admits()) == ("half_open", True)


def test_what_is_heard_while_it_rests_does_not_matter(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    breaker.heard(well=True)
    assert state_of(breaker) == "open"
    clock.now += 9
    breaker.heard(well=False)
    clock.now += 1
    assert state_of(breaker) == "half_open"
