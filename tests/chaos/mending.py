"""Steps that forget, repair, re-embed and rebuild."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx

from chaos import corpus
from chaos.house import DIM, House, active_of, api, ledger_of, listed
from cli.repair import rebuild_all
from cluster.clock import SystemClock
from cluster.models.open import describe, open_generation
from cluster.stores.open import open_collections, open_vector_index
from cluster.stores.protocols import VectorRow
from lifecycle.forget import finish_all
from lifecycle.ground import open_ground
from lifecycle.reconcile import reconcile
from lifecycle.reembed import Outcome, Tools, finish, reembed, roll_back
from lifecycle.sides import open_sides
from lifecycle.token_fill import fill_tokens

OTHER_DIM = 96
GHOST = "chk_ghost"
DAMAGED_ROWS = 3
SETTLES_S = 1.0


def forget(house: House) -> None:
    """Pages one by one and a whole session, until the receipts are signed."""
    names = [corpus.page(each, number) for each in ("en", "zh") for number in corpus.FORGOTTEN]
    asyncio.run(_forget(house, names, session=corpus.SESSION))
    asyncio.run(_finish_forgetting(house))


def finish_forgetting(house: House) -> None:
    asyncio.run(_finish_forgetting(house))


def forget_later(house: House) -> None:
    """After a generation of vectors is gone."""
    names = [corpus.page(each, corpus.FORGOTTEN_LATER) for each in ("en", "zh")]
    asyncio.run(_forget(house, names))
    asyncio.run(_finish_forgetting(house))


def lift(house: House) -> None:
    """What the first receipt keeps away may come back."""
    asyncio.run(_lift(house))


def repair(house: House) -> None:
    """Rows vanish from the vector index, and one appears that belongs to nothing."""
    asyncio.run(_damage(house))
    asyncio.run(_reconcile(house))


def reembed_all(house: House) -> None:
    asyncio.run(_reembed(house, dim=OTHER_DIM))


def go_back(house: House) -> None:
    asyncio.run(_with_tools(house, lambda tools: _back_from(OTHER_DIM, tools)))


def forward_again(house: House) -> None:
    """This time for good: what was before goes."""
    asyncio.run(_with_tools(house, lambda tools: _back_from(DIM, tools)))
    asyncio.run(_with_tools(house, finish))


def make_token_vectors(house: House) -> None:
    """Some are of a recipe that nobody reads any more."""
    asyncio.run(_with_tools(house, _outdated_then_filled))


def rebuild(house: House) -> None:
    """Both indexes begin empty."""
    wanted = {"vectors": True, "text": True}
    done, report = asyncio.run(
        rebuild_all(house.settings, wanted=wanted, fresh=True, say=lambda _: None)
    )
    if not (done.complete and report.sound):
        raise RuntimeError(f"not rebuilt: {done}, {report}")


async def _forget(house: House, names: list[str], *, session: str | None = None) -> None:
    async with api(house) as client:
        for each in await listed(client, names):
            await _forgotten(client, {"kind": "document", "value": each})
        if session:
            job = await _forgotten(client, {"kind": "session", "value": session})
            house.receipt.write_text(job["receipt_id"], encoding="utf-8")


async def _forgotten(client: httpx.AsyncClient, wish: Mapping[str, str]) -> dict[str, Any]:
    answer = await client.post("/v1/forget", json=wish)
    answer.raise_for_status()
    job: dict[str, Any] = answer.json()["job"]
    return job


async def _finish_forgetting(house: House) -> None:
    async with open_ground(house.settings) as ground:
        if left := await finish_all(ground):
            raise RuntimeError(f"not forgotten: {[job.waits_for for job in left]}")


async def _lift(house: House) -> None:
    receipt_id = house.receipt.read_text(encoding="utf-8")
    async with api(house) as client:
        answer = await client.post(f"/v1/forget/{receipt_id}/lift")
        answer.raise_for_status()


async def _damage(house: House) -> None:
    async with ledger_of(house.settings) as ledger:
        active = await active_of(ledger)
        async with ledger.transaction() as tx:
            rows = await tx.reconciling.page(after="", limit=DAMAGED_ROWS)
            work = await tx.outbox.work([chunk for chunk, _ in rows])
    index = await open_vector_index(house.settings, active)
    try:
        one = next(each for each in work if each.row is not None)
        assert one.row is not None
        ghost = replace(one.row, chunk_id=GHOST)
        await index.upsert([VectorRow(row=ghost, vector=one.vectors[active.fingerprint])])
        await index.delete([each.chunk_id for each in work])
    finally:
        await index.close()


async def _reconcile(house: House) -> None:
    async with (
        ledger_of(house.settings) as ledger,
        open_sides(house.settings, ledger) as sides,
    ):
        report = await reconcile(
            ledger, sides, SystemClock(), repair=True, grace=timedelta(0), settle_s=SETTLES_S
        )
    if not report.sound:
        raise RuntimeError(f"not repaired: {report}")


async def _reembed(house: House, *, dim: int) -> None:
    encoder = house.settings.encoder.model_copy(update={"hashing_dim": dim})
    to = describe(house.settings.model_copy(update={"encoder": encoder}))
    await _with_tools(house, lambda tools: reembed(to, tools))


async def _back_from(dim: int, tools: Tools) -> Outcome | None:
    """A command that was killed after its commit finds the work done."""
    active = await active_of(tools.ledger)
    return await roll_back(tools) if active.dim == dim else None


async def _outdated_then_filled(tools: Tools) -> None:
    active = await active_of(tools.ledger)
    async with tools.ledger.transaction() as tx:
        texts = await tx.generations.tokenless(active.fingerprint, head=b"?", limit=DAMAGED_ROWS)
        held = await tx.generations.hold([one.vector_key for one in texts])
        vectors = await tx.vectors.get(list(held), fingerprint=active.fingerprint)
        outdated = dict.fromkeys(vectors, b"outdated")
        await tx.vectors.put(vectors, fingerprint=active.fingerprint, tokens=outdated)
    await fill_tokens(tools)


async def _with_tools(house: House, work: Callable[[Tools], Awaitable[object]]) -> None:
    async with ledger_of(house.settings) as ledger:
        tools = Tools(
            ledger=ledger,
            collections=open_collections(house.settings),
            clock=SystemClock(),
            open_embedder=lambda generation: open_generation(generation, house.settings),
            settle_s=SETTLES_S,
        )
        await work(tools)
