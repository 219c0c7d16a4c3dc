"""Errors of the tree and the problems they become."""

from __future__ import annotations

import json

import httpx
import pytest
from fastapi import FastAPI

from cluster import errors
from serve.api.documented import problems
from serve.api.problems import KINDS, install, problem


def every_error() -> list[errors.PalimpsestError]:
    made: dict[type[errors.PalimpsestError], errors.PalimpsestError] = {
        errors.UnreadableItem: errors.UnreadableItem("empty", "told"),
        errors.StoreError: errors.StoreError("store", "told"),
        errors.StoreUnavailable: errors.StoreUnavailable("store", "told"),
        errors.StoreRejected: errors.StoreRejected("store", "told"),
        errors.Overloaded: errors.Overloaded("told", retry_after_s=2.2),
    }
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.PalimpsestError)
    ]
    return [made.get(kind) or kind("told") for kind in kinds]


@pytest.mark.parametrize("error", every_error(), ids=lambda error: type(error).__name__)
async def test_every_error_of_the_tree_is_a_problem(error: errors.PalimpsestError) -> None:
    app = FastAPI()
    install(app)

    @app.get("/fails")
    async def fails() -> None:
        raise error

    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        answer = await client.get("/fails")
    told = answer.json()
    kind = KINDS[told["type"].removeprefix("/docs#")]
    assert (
        (told["status"], told["title"])
        == (answer.status_code, kind.title)
        == (
            kind.status,
            kind.title,
        )
    )
    assert told["instance"] == "/fails"
    assert (kind.name == "internal-error") == ("told" not in told["detail"])
    if error.retryable and answer.status_code == 503:
        waited = 3 if isinstance(error, errors.Overloaded) else 1
        assert answer.headers["retry-after"] == str(waited)


def test_a_detail_with_half_a_surrogate_pair_is_still_json() -> None:
    response = problem("not-found", "no \ud800", instance="/v1", request_id="r")
    assert json.loads(bytes(response.body))["detail"] == "no ?"


def test_each_documented_problem_has_an_example_of_its_form() -> None:
    for status, documented in problems(400, 401, 403, 404, 413, 415, 422, 503, 504).items():
        (content,) = documented["content"].values()
        assert content["example"]["status"] == status
        assert set(content["example"]) == {
            "type",
            "title",
            "status",
            "detail",
            "instance",
            "request_id",
        }
        assert documented["description"]


def test_kinds_have_one_name_and_a_meaning() -> None:
    assert all(name == kind.name and kind.meaning and kind.title for name, kind in KINDS.items())
