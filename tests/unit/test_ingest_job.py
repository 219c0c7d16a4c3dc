"""What the job asks of Ray, and what becomes of Ray's errors."""

from __future__ import annotations

from typing import Any

import ray.exceptions

from cluster.errors import ModelError, StackError
from ingest.job import DryBlocks, _ours, _stage


class Recorded:
    """Stands for Ray's data set; keeps what a stage asks of it."""

    def map_batches(self, _blocks: object, **asked: Any) -> Any:
        return asked


def test_a_process_that_dies_is_not_started_for_ever() -> None:
    asked: Any = _stage(Recorded(), DryBlocks, (), actors=1)  # type: ignore[arg-type]  # no Ray here
    assert asked["max_restarts"] == 10
    assert asked["max_task_retries"] == 3


def test_a_process_that_kept_dying_is_told_with_the_way_out() -> None:
    told = _ours(ray.exceptions.RayActorError(error_msg="it died"))
    assert isinstance(told, StackError)
    assert "ended 4 times over the same items" in str(told)
    assert "it died" in str(told)


def test_an_error_of_ours_comes_through_as_it_was() -> None:
    outer = RuntimeError("outer")
    outer.__cause__ = ModelError("the weights are damaged")
    assert isinstance(_ours(outer), ModelError)
