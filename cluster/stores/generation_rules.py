"""When may a generation begin, become the active one, go, and be written for? Pure; both
ledgers ask under their lock, with the states of the generations that are live."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cluster.errors import EncoderChanged, InvalidRequest
from cluster.stores.protocols import GenerationState

States = Mapping[str, GenerationState]
"""Fingerprint -> state."""


def other_encoder(fingerprint: str) -> InvalidRequest:
    return InvalidRequest(
        f"encoder {fingerprint!r}: the store holds vectors of another encoder; "
        "use that one, or start with an empty store"
    )


def check_begin(fingerprint: str, live: States) -> bool:
    """Whether there is something to do; `InvalidRequest` when it may not begin."""
    if "active" not in live.values():
        raise InvalidRequest("nothing is encoded yet; the first ingest chooses the encoder")
    match live.get(fingerprint):
        case "building":
            return False
        case "active":
            raise InvalidRequest(f"the ledger is already encoded by {fingerprint}")
        case "grace":
            raise InvalidRequest(
                f"{fingerprint} is in its grace period; `palimpsest reembed --roll-back` makes "
                "it the active one again"
            )
    if other := _of_state(live, "building"):
        raise InvalidRequest(
            f"a re-embedding to {other} is under way; go on with it, or end it with "
            "`palimpsest reembed --abort`"
        )
    if other := _of_state(live, "grace"):
        raise InvalidRequest(
            f"{other} is still in its grace period; end that first with "
            "`palimpsest reembed --finish`"
        )
    return True


def check_switch(to: str, live: States) -> None:
    if live.get(to) not in ("building", "grace"):
        state = live.get(to, "not there")
        raise InvalidRequest(f"generation {to}: it is {state}, so nothing can be switched to it")


def check_retire(fingerprint: str, live: States) -> None:
    if live.get(fingerprint) == "active":
        raise InvalidRequest(f"generation {fingerprint} is the active one; switch to another first")


def check_writable(
    fingerprints: Collection[str], states: States, *, now_active: str | None, active_only: bool
) -> None:
    """`states` of those that are known; `now_active` may be left out when all are active."""
    for one in fingerprints:
        state = states.get(one)
        if state == "active" or (state not in (None, "gone") and not active_only):
            continue
        if state is None and now_active is None:
            continue
        raise EncoderChanged(
            f"encoded by {one}, but the ledger is encoded by {now_active}; run it again, which "
            "takes the ledger's encoder (`palimpsest reembed` changes that one)"
        )


def _of_state(live: States, state: GenerationState) -> str | None:
    return next((name for name, held in live.items() if held == state), None)
