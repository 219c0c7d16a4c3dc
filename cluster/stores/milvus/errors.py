"""The driver's errors -> ours, by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import grpc  # type: ignore[import-untyped]  # has no types
from pymilvus.exceptions import (  # type: ignore[import-untyped]  # has no types
    ConnectError,
    ErrorCode,
    MilvusException,
    MilvusUnavailableException,
)

from cluster.errors import StoreError, StoreRejected, StoreUnavailable

STORE = "milvus"
NOT_LOADED = 101
NOT_THERE = 100
_PASSING_CODES = (ErrorCode.RATE_LIMIT, ErrorCode.FORCE_DENY)
_PASSING_CALLS = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.CANCELLED,
)
_LOGIN = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)


@contextmanager
def blaming_no_row() -> Iterator[None]:
    """Around writes: that the login is refused, or the whole collection is gone, says nothing
    against their rows, which would be set aside one by one; it is `StoreUnavailable`."""
    try:
        yield
    except StoreRejected as error:
        cause = error.__cause__
        login = isinstance(cause, grpc.RpcError) and cause.code() in _LOGIN
        gone = isinstance(cause, MilvusException) and cause.code == NOT_THERE
        if login or gone:
            raise StoreUnavailable(STORE, error.message) from error
        raise


@contextmanager
def translated(what: str) -> Iterator[None]:
    """`what` names the call in the message. A timeout around the block counts as well."""
    try:
        yield
    except MilvusException as error:
        raise _translate(what, error) from error
    except grpc.RpcError as error:
        kind = StoreUnavailable if error.code() in _PASSING_CALLS else StoreRejected
        raise kind(STORE, f"{what}: {error.details()}") from error
    except (TimeoutError, OSError) as error:
        raise StoreUnavailable(STORE, f"{what}: no answer in time") from error


def is_not_loaded(error: StoreError) -> bool:
    """The server was started again and has not yet been asked to load the collection."""
    cause = error.__cause__
    return isinstance(cause, MilvusException) and NOT_LOADED in (cause.code, cause.compatible_code)


def _translate(what: str, error: MilvusException) -> StoreError:
    message = f"{what}: {error.message}"
    passing = (
        isinstance(error, ConnectError | MilvusUnavailableException)
        or error.retriable
        or isinstance(error.code, grpc.StatusCode)
        or error.code in _PASSING_CODES
        or _gave_up(str(error.message))
    )
    return StoreUnavailable(STORE, message) if passing else StoreRejected(STORE, message)


def _gave_up(message: str) -> bool:
    """The driver tells the end of its own retries, and of its connection, by text only."""
    return any(sign in message for sign in ("Retry timeout", "Retry run out", "connect"))
