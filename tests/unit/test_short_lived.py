"""What has expired is not kept in memory either."""

from __future__ import annotations

from serve.short_lived import ShortLived


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def load(key: str) -> str:
    return key.upper()


async def test_whoever_asks_lets_go_of_what_is_older() -> None:
    clock = Clock()
    values = ShortLived(load, ttl_s=10.0, monotonic=clock)
    for clock.now, key in enumerate("abc"):
        await values.get(key)
    clock.now = 11.0
    assert await values.get("c") == "C"
    assert len(values) == 1


async def test_a_value_that_is_read_again_lives_anew() -> None:
    clock = Clock()
    values = ShortLived(load, ttl_s=10.0, monotonic=clock)
    await values.get("a")
    clock.now = 5.0
    await values.get("b")
    clock.now = 10.0
    await values.get("a")
    clock.now = 15.0
    await values.get("a")
    assert len(values) == 1
    clock.now = 20.0
    await values.get("c")
    assert len(values) == 1
