"""The client's errors -> ours, by name and status; and which of them pass by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from elastic_transport import ConnectionError as NotConnected
from elastic_transport import ConnectionTimeout, TransportError
from elasticsearch import ApiError, UnsupportedProductError

from cluster.errors import StoreError, StoreRejected, StoreUnavailable

STORE = "elasticsearch"
TOO_LARGE = 413
TOO_MANY = 429
BAD_REQUEST = 400
NOT_ALLOWED = (401, 403)
CONFLICT = 409
NOT_FOUND = 404
NOT_NOW = 503
_FIRST_OF_SERVER = 500
_PASSING = (408, TOO_MANY)
_BLOCK = "cluster_block_exception"

_FIXES: Mapping[str, str] = {
    "media_type_header_exception": "the server is not of major version 9, as the client is",
    "security_exception": "check text_index.api_key, or text_index.user and text_index.password; "
    "they need the cluster privilege `monitor` and on the index `read`, `write`, `manage`",
    "index_not_found_exception": "there is no index yet, or it was removed; start the indexer "
    "that makes it, or rebuild it from the ledger",
    "too_many_clauses": "the filter has too many parts for the server",
    "too_many_nested_clauses": "the filter has too many parts for the server",
}


@contextmanager
def translated(what: str) -> Iterator[None]:
    """`what` names the call in the message. A timeout around the block counts as well."""
    try:
        yield
    except UnsupportedProductError as error:
        raise StoreRejected(STORE, f"{what}: what answers there is not Elasticsearch") from error
    except ApiError as error:
        raise of_status(what, error.meta.status, _cause(error.body)) from error
    except ConnectionTimeout as error:
        raise StoreUnavailable(STORE, f"{what}: no answer in time") from error
    except NotConnected as error:
        raise StoreUnavailable(STORE, f"{what}: not reached: {error.message}") from error
    except TransportError as error:
        raise StoreUnavailable(STORE, f"{what}: half an answer: {error.message}") from error
    except TimeoutError as error:
        raise StoreUnavailable(STORE, f"{what}: no answer in time") from error


def of_status(what: str, status: int, cause: Mapping[str, Any]) -> StoreError:
    """`cause` is the `error` of an answer, or of one item of a bulk answer."""
    kind = str(cause.get("type", f"HTTP {status}"))
    below = cause.get("caused_by") or {}
    reason = str(cause.get("reason") or below.get("reason") or "no reason given")
    if is_block(cause):
        return StoreUnavailable(STORE, f"{what}: {_blocked(reason)}")
    fix = next((told for sign, told in _FIXES.items() if sign in kind or sign in reason), None)
    message = f"{what}: {kind}: {reason}" + (f"; {fix}" if fix else "")
    passing = status >= _FIRST_OF_SERVER or status in _PASSING or kind.startswith("index_not_found")
    return StoreUnavailable(STORE, message) if passing else StoreRejected(STORE, message)


def is_block(cause: Mapping[str, Any]) -> bool:
    """An index that takes no writes until someone does something about it."""
    return cause.get("type") == _BLOCK and "SERVICE_UNAVAILABLE" not in str(cause.get("reason"))


def passes_by_itself(status: int, cause: Mapping[str, Any]) -> bool:
    """Too much at once, or a shard on the move: worth another try in a moment."""
    return (status == TOO_MANY or status >= _FIRST_OF_SERVER) and not is_block(cause)


def may_pass(error: StoreError) -> bool:
    """`passes_by_itself`, of a whole answer; not of a server that did not answer."""
    cause = error.__cause__
    return isinstance(cause, ApiError) and passes_by_itself(cause.meta.status, _cause(cause.body))


def status_of(error: StoreError) -> int | None:
    cause = error.__cause__
    return cause.meta.status if isinstance(cause, ApiError) else None


def _blocked(reason: str) -> str:
    if "disk usage" in reason or "read-only-allow-delete" in reason:
        return (
            f"the index is read-only because the server's disk passed its flood-stage watermark "
            f"({reason}); free some space there, the server then lifts the block"
        )
    return f"the index is blocked ({reason}); lift the block with the index setting it names"


def _cause(body: Any) -> Mapping[str, Any]:
    """The innermost reason of an answer; a proxy's page has none."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return {"reason": _shortened(error or body)}
    roots = error.get("root_cause") or [error]
    inner = roots[0] if isinstance(roots[0], Mapping) else error
    failed = error.get("caused_by")
    if isinstance(failed, Mapping) and "clauses" in str(failed.get("type")):
        return failed
    return inner


def _shortened(body: Any) -> str:
    return " ".join(str(body).split())[:200]
