"""The stages on Ray Data: streaming, with bounded memory, over as many machines as Ray has.

    units ─► Prepare (parsers) ─► Embed (encoder actors, CPU or GPU) ─► Write ─► reports

Rows are pickled units and bundles in one binary column, so that a block has a schema even when
it is empty. Blocks are small; Ray keeps only a few of them between two stages. Actors take
fractions of a CPU: what really bounds the work is the encoder's own threads.
"""

from __future__ import annotations

import logging
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # ships no types
import ray
import ray.data
from ray.data import ActorPoolStrategy, DataContext
from ray.util.annotations import RayDeprecationWarning
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from cluster.clock import SystemClock
from cluster.errors import PalimpsestError, StackError
from cluster.models.open import open_embedder
from cluster.stores.open import open_ledger
from ingest.claims import Claim, LocalClaims
from ingest.counter import open_counter
from ingest.link import LedgerLink
from ingest.prepare import Plan
from ingest.sources import Unit
from ingest.stages import Bundle, DryWrite, Embed, Prepare, Write

_SCHEMA = pa.schema([("row", pa.binary())])
_BLOCK_BYTES = 512 * 1024
_MAX_BLOCKS = 256
_STAGE_CPUS = 0.25
_IN_FLIGHT = 4
_MAX_RESTARTS = 10
_MAX_TASK_RETRIES = 3
"""What ends its process again and again (a crash of a parser, too little memory) ends the run; the
tries and the pauses between them (`ingest.open`) outlast the loss of a node."""

Table = Any
"""A `pyarrow.Table` with the one column of `_SCHEMA`."""


def run_on_ray(
    plan: Plan, units: Sequence[Unit], *, held: Mapping[str, str], dry_run: bool = False
) -> Iterator[Bundle]:
    """Reports as they come. Ray must be initialised. `held` are claims made before. An error
    of ours inside a worker is raised here as it was; anything else is `StackError`."""
    _configure()
    dataset = _pipeline(plan, units, held=held, dry_run=dry_run)
    try:
        for table in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
            yield from _rows(table)
    except ray.exceptions.RayError as error:
        raise _ours(error) from error


def disconnect() -> None:
    """Leave the cluster; what ran for this process ends."""
    ray.shutdown()


def _pipeline(
    plan: Plan, units: Sequence[Unit], *, held: Mapping[str, str], dry_run: bool
) -> ray.data.Dataset:
    ingest = plan.settings.ingest
    dataset: ray.data.Dataset = ray.data.from_arrow(_blocks(units))
    dataset = _stage(dataset, PrepareBlocks, (plan,), actors=ingest.parsers)
    if dry_run:
        return _stage(dataset, DryBlocks, (), actors=1)
    claims = ray.remote(LocalClaims).options(num_cpus=0, scheduling_strategy=_beside_us())
    dataset = _stage(
        dataset,
        EmbedBlocks,
        (plan, claims.remote(dict(held))),
        actors=ingest.encoders,
        gpus=ingest.encoder_gpus,
    )
    return _stage(dataset, WriteBlocks, (plan,), actors=1)


def _beside_us() -> NodeAffinitySchedulingStrategy:
    """On the node of this process: what was claimed is lost only together with the run."""
    here = ray.get_runtime_context().get_node_id()
    return NodeAffinitySchedulingStrategy(node_id=here, soft=False)


def _stage(
    dataset: ray.data.Dataset,
    blocks: Callable[..., Any],
    arguments: tuple[Any, ...],
    *,
    actors: int,
    gpus: float = 0.0,
) -> ray.data.Dataset:
    with warnings.catch_warnings():
        # Bounds on restarts have no named parameter yet; passing them as Ray does is deprecated.
        warnings.simplefilter("ignore", category=RayDeprecationWarning)
        return dataset.map_batches(
            blocks,
            batch_size=1,
            batch_format="pyarrow",
            fn_constructor_args=arguments,
            compute=ActorPoolStrategy(size=actors, max_tasks_in_flight_per_actor=_IN_FLIGHT),
            num_cpus=_STAGE_CPUS,
            num_gpus=gpus or None,
            max_restarts=_MAX_RESTARTS,
            max_task_retries=_MAX_TASK_RETRIES,
        )


class PrepareBlocks:
    def __init__(self, plan: Plan) -> None:
        settings = plan.settings
        self._link = LedgerLink(lambda: open_ledger(settings))
        self._prepare = Prepare(plan, self._link, lambda: open_counter(settings))

    def __call__(self, table: Table) -> Iterator[Table]:
        yield _table([])
        for unit in _rows(table):
            for bundle in self._prepare(unit):
                yield _table([bundle])


class EmbedBlocks:
    def __init__(self, plan: Plan, claims: Any) -> None:
        settings = plan.settings
        self._link = LedgerLink(lambda: open_ledger(settings))
        self._embed = Embed(
            plan, self._link, _RemoteClaims(claims), lambda: open_embedder(settings)
        )

    def __call__(self, table: Table) -> Table:
        return _table([self._embed(bundle) for bundle in _rows(table)])


class WriteBlocks:
    def __init__(self, plan: Plan) -> None:
        settings = plan.settings
        self._link = LedgerLink(lambda: open_ledger(settings))
        self._write = Write(plan, self._link, SystemClock(), lambda: open_embedder(settings))

    def __call__(self, table: Table) -> Table:
        return _table([self._write(bundle) for bundle in _rows(table)])


class DryBlocks:
    def __init__(self) -> None:
        self._write = DryWrite()

    def __call__(self, table: Table) -> Table:
        return _table([self._write(bundle) for bundle in _rows(table)])


class _RemoteClaims:
    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def claim(self, claims: Sequence[Claim]) -> list[str | None]:
        answers: list[str | None] = ray.get(self._actor.claim.remote(list(claims)))
        return answers


def _configure() -> None:
    """Small blocks, in order, without Ray's own bars: the run has its own."""
    context = DataContext.get_current()
    context.target_max_block_size = _BLOCK_BYTES
    context.target_min_block_size = 1
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)


def _blocks(units: Sequence[Unit]) -> list[Table]:
    per_block = max(1, -(-len(units) // _MAX_BLOCKS))
    return [_table(units[at : at + per_block]) for at in range(0, len(units), per_block)]


def _table(rows: Iterable[Any]) -> Table:
    pickled = [pickle.dumps(row, protocol=pickle.HIGHEST_PROTOCOL) for row in rows]
    return pa.table({"row": pa.array(pickled, pa.binary())}, schema=_SCHEMA)


def _rows(table: Table) -> Iterator[Any]:
    """What our own stages pickled; an empty block may have lost its column."""
    if "row" in table.column_names:
        for value in table.column("row"):
            yield pickle.loads(value.as_py())  # noqa: S301 - written by this job


def _ours(error: BaseException) -> PalimpsestError:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, PalimpsestError):
            return seen
        if isinstance(seen, ray.exceptions.RayActorError):
            return StackError(
                f"a process of the ingest job ended {_MAX_TASK_RETRIES + 1} times over the same "
                "items: one of them makes it crash, or takes more memory than there is. Ingest "
                f"the folders one by one to find it; what came before is kept ({seen})"
            )
        seen = getattr(seen, "cause", None) or seen.__cause__
    return StackError(f"the ingest job on Ray stopped: {error}")
