"""Every error this system raises on purpose.

PalimpsestError
├── InvalidRequest        the caller must change the request; never retried
│   ├── InvalidSettings   a configuration key is wrong or unknown
│   ├── InvalidFilter     a filter names an unknown field, or its value does not fit
│   └── EncoderChanged    written for an encoder that is not, or no longer, the ledger's
├── NotFound              the thing does not exist, or not for this caller
├── NotAuthenticated      no key, or a key that is unknown or revoked
├── NotAllowed            the caller's role does not reach that far
├── Overloaded            too much at once; retry after a moment
├── DeadlineExceeded      the time budget ran out before enough was known
├── UnreadableItem        one source item cannot be ingested; the run goes on
├── ModelError            a model is missing, damaged or answers nonsense
├── StackError            a part of the local stack cannot start or stop; says the way out
│   └── IndexesBehind     too much index work is owed to write more; try again later
└── StoreError            a store answered badly
    ├── StoreUnavailable  not reached, timed out or overloaded; safe to retry
    └── StoreRejected     reached, and refused; a retry would fail again
"""

from __future__ import annotations


class PalimpsestError(Exception):
    """Base of the tree above. The message names the thing and the fix."""

    retryable = False


class InvalidRequest(PalimpsestError):
    """The caller must change the request."""


class InvalidSettings(InvalidRequest):
    """A configuration key is wrong or unknown."""


class InvalidFilter(InvalidRequest):
    """A filter names an unknown field, or its value does not fit the field."""


class EncoderChanged(InvalidRequest):
    """What was to be written belongs to an encoder that is not, or no longer, the ledger's."""


class Forgotten(InvalidRequest):
    """The content was forgotten on purpose; it stays away until that is lifted."""


class NotFound(PalimpsestError):
    """The thing does not exist, or not for this caller; the two are not told apart."""


class NotAuthenticated(PalimpsestError):
    """No key, or a key that is unknown or revoked."""


class NotAllowed(PalimpsestError):
    """The caller's role does not reach that far."""


class Overloaded(PalimpsestError):
    """Too much at once."""

    retryable = True

    def __init__(self, message: str, *, retry_after_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class DeadlineExceeded(PalimpsestError):
    """The time budget ran out."""

    retryable = True


class UnreadableItem(PalimpsestError):
    """One source item cannot be ingested. `kind` says why in one word.

    Kinds: `empty`, `encrypted`, `scanned`, `broken`, `binary`, `encoding`, `too_large`,
    `unsupported`, `unreadable`, `duplicate`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind

    def __reduce__(self) -> tuple[type[UnreadableItem], tuple[str, str]]:
        return (type(self), (self.kind, str(self)))


class ModelError(PalimpsestError):
    """A model is missing, damaged or answers nonsense."""


class StackError(PalimpsestError):
    """A part of the local stack cannot start or stop."""


class IndexesBehind(StackError):
    """Too much index work is owed to write more. What was written is kept."""

    retryable = True


class StoreError(PalimpsestError):
    """A store answered badly. The driver's own error is `__cause__`."""

    def __init__(self, store: str, message: str) -> None:
        super().__init__(f"{store}: {message}")
        self.store = store
        self.message = message

    def __reduce__(self) -> tuple[type[StoreError], tuple[str, str]]:
        return (type(self), (self.store, self.message))


class StoreUnavailable(StoreError):
    """Not reached, timed out or overloaded."""

    retryable = True


class StoreRejected(StoreError):
    """Reached, and refused."""
