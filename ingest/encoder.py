"""Which encoder does a run use? The ledger's; the settings choose only the first one."""

from __future__ import annotations

from cluster.errors import EncoderChanged
from cluster.kill_points import reached
from cluster.model import Generation
from cluster.models.open import describe, resolved, settings_for
from cluster.settings import Settings
from cluster.stores.protocols import Transaction
from ingest.link import LedgerLink


def encoder_of(link: LedgerLink, settings: Settings) -> tuple[Settings, Generation]:
    """The settings that open it, the same for every worker, and what it is called."""

    async def ask(tx: Transaction) -> Generation | None:
        return await tx.generations.active()

    active = link.call(ask)
    if active is not None:
        return settings_for(active, settings), active
    # What is `auto` is settled here, so that every worker has the same encoder.
    settings = settings.model_copy(update={"encoder": resolved(settings.encoder)})
    return settings, describe(settings)


def activate(link: LedgerLink, generation: Generation) -> None:
    """`EncoderChanged` when the ledger has another encoder by now."""

    async def activate(tx: Transaction) -> Generation | None:
        active = await tx.generations.active()
        if active is None:
            await tx.generations.activate(generation)
        return active

    active = link.call(activate)
    reached("ingest.encoder_chosen")
    if active is not None and active.fingerprint != generation.fingerprint:
        raise EncoderChanged(
            f"this data is encoded by {active.fingerprint}, the run by {generation.fingerprint}; "
            "run it again, which takes the ledger's encoder"
        )
