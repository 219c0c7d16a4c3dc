"""Every error as an RFC 9457 problem: what is wrong, where, and how to fix it."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from cluster.errors import (
    DeadlineExceeded,
    InvalidFilter,
    InvalidRequest,
    ModelError,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    Overloaded,
    PalimpsestError,
    StoreUnavailable,
)

log = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem; `type` of an answer is `/docs#<name>`, where `meaning` is told."""

    name: str
    status: int
    title: str
    meaning: str


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("malformed-body", 400, "The body cannot be read", "Send JSON in UTF-8."),
        Kind("bad-header", 400, "A header is wrong", "The detail names it and its form."),
        Kind("not-authenticated", 401, "No valid API key", "Send `Authorization: Bearer pk_…`."),
        Kind("not-allowed", 403, "The key's role does not reach that far", "Use another key."),
        Kind("not-found", 404, "Not found", "It does not exist, or not for this key."),
        Kind("wrong-method", 405, "Wrong method", "`Allow` names the right ones."),
        Kind("too-slow", 408, "The body did not come in time", "Send it faster, or less."),
        Kind("too-large", 413, "The request is too large", "The detail names the limit."),
        Kind("wrong-media-type", 415, "Wrong media type", "The detail names the right ones."),
        Kind("invalid-filter", 422, "The filter is wrong", "The detail names field and form."),
        Kind("invalid-request", 422, "The request is wrong", "`errors` names each field."),
        Kind("overloaded", 503, "Too many requests at once", "Wait for `Retry-After` seconds."),
        Kind("unavailable", 503, "A part is not reachable", "Wait for `Retry-After` seconds."),
        Kind("deadline-exceeded", 504, "Out of time", "Retry, or allow more with deadline_ms."),
        Kind("model-error", 503, "The encoder failed", "The log has the reason; retry later."),
        Kind("internal-error", 500, "A fault of ours", "Tell us the request id; the log has it."),
    )
}

_BY_ERROR: Sequence[tuple[type[PalimpsestError], str]] = (
    (InvalidFilter, "invalid-filter"),
    (InvalidRequest, "invalid-request"),
    (NotFound, "not-found"),
    (NotAuthenticated, "not-authenticated"),
    (NotAllowed, "not-allowed"),
    (Overloaded, "overloaded"),
    (DeadlineExceeded, "deadline-exceeded"),
    (StoreUnavailable, "unavailable"),
    (ModelError, "model-error"),
)
_BY_STATUS = {
    400: "malformed-body",
    401: "not-authenticated",
    403: "not-allowed",
    404: "not-found",
    405: "wrong-method",
    408: "too-slow",
    413: "too-large",
    415: "wrong-media-type",
    422: "invalid-request",
}
_DETAILS = {
    "not-found": "there is no such address; see /docs for those there are",
    "malformed-body": "the body is not JSON in UTF-8, or nested too deeply",
    "wrong-method": "this address does not take that method; see the header Allow",
}


def problem(
    name: str,
    detail: str,
    *,
    instance: str,
    request_id: str,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[Mapping[str, str]] = (),
) -> Response:
    kind = KINDS[name]
    body: dict[str, Any] = {
        "type": f"/docs#{kind.name}",
        "title": kind.title,
        "status": kind.status,
        "detail": detail,
        "instance": instance,
        "request_id": request_id,
    }
    if errors:
        body["errors"] = list(errors)
    text = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    return Response(text, status_code=kind.status, media_type=CONTENT_TYPE, headers=headers)


def install(app: FastAPI) -> None:
    """Answer every error that leaves an endpoint."""
    app.add_exception_handler(PalimpsestError, _of_ours)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_http)


def request_id_of(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", ""))


def passed_s(request: Request) -> float:
    """Since the request arrived."""
    now = time.perf_counter()
    return now - float(request.scope.get("state", {}).get("arrived", now))


async def _of_ours(request: Request, error: Exception) -> Response:
    name = next((name for kind, name in _BY_ERROR if isinstance(error, kind)), "internal-error")
    if name == "internal-error":
        log.error("request %s: %s", request_id_of(request), error, exc_info=error)
    detail = str(error)
    if name == "internal-error":
        detail = "the request could not be carried out; the log has the reason"
    return _answer(request, name, detail, headers=_headers_of(error, name))


def _headers_of(error: Exception, name: str) -> dict[str, str]:
    if name == "not-authenticated":
        return {"WWW-Authenticate": "Bearer"}
    if KINDS[name].status == HTTPStatus.SERVICE_UNAVAILABLE:
        wait_s = error.retry_after_s if isinstance(error, Overloaded) else 1.0
        return {"Retry-After": str(max(1, math.ceil(wait_s)))}
    return {}


async def _of_validation(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    problems = error.errors()
    if any(each["type"] == "json_invalid" for each in problems):
        place = problems[0]["loc"][-1]
        why = problems[0].get("ctx", {}).get("error", "")
        return _answer(request, "malformed-body", f"not JSON at character {place}: {why}")
    errors = [{"where": _where(each["loc"]), "problem": _told(each)} for each in problems]
    detail = "; ".join(f"{each['where']}: {each['problem']}" for each in errors[:5])
    return _answer(request, "invalid-request", detail, errors=errors)


def _where(location: Sequence[Any]) -> str:
    parts = [str(part) for part in location]
    return ".".join(parts[1:]) if len(parts) > 1 else parts[0]


def _told(error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown key; remove it or see /docs for the known ones"
    return str(error["msg"]).removeprefix("Value error, ")


async def _of_http(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    name = _BY_STATUS.get(error.status_code, "internal-error")
    told = str(error.detail)
    generic = {HTTPStatus(error.status_code).phrase, "There was an error parsing the body"}
    detail = _DETAILS.get(name, told) if told in generic else told
    return _answer(request, name, detail, headers=dict(error.headers or {}))


def _answer(
    request: Request,
    name: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[Mapping[str, str]] = (),
) -> Response:
    return problem(
        name,
        detail,
        instance=request.url.path,
        request_id=request_id_of(request),
        headers=headers,
        errors=errors,
    )
