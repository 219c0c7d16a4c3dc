"""The composition root of the question side: settings -> a running Ray Serve application.

`python -m serve.app` deploys and stays, watching; it ends with an error when the application
is gone. No postponed annotations in this module: Serve looks at them.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from typing import NoReturn

import ray
from ray import serve as ray_serve
from ray.serve.config import BackpressureConfig, HTTPOptions, ProxyLocation
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle
from ray.serve.schema import ApplicationStatus, LoggingConfig
from starlette.types import ASGIApp

from cluster.clock import SystemClock
from cluster.errors import InvalidRequest, PalimpsestError, StackError, StoreUnavailable
from cluster.ids import sha256_hex
from cluster.models.open import describe
from cluster.settings import Settings, load_settings
from cluster.stack.exits import PERMANENT
from cluster.stack.loopback import keep_replica_on_loopback
from cluster.stack.services import local_key_path, ray_address, ray_environment
from cluster.stores.open import Stores, open_collections, open_ledger, open_text_index
from serve.api.application import build_api
from serve.api.gate import Limits
from serve.channels.semantic import EncodeQuery
from serve.generations import CurrentIndex, Watch
from serve.local_key import ensure_local_key
from serve.metrics import Metrics
from serve.models import Encoder, RemoteEncoder
from serve.ray_exporter import read_exporter
from serve.rerankers import CrossEncoderReplica, RemoteCrossEncoder
from serve.service import Service, build_service

log = logging.getLogger("serve.app")

APP_NAME = "palimpsest"
ENCODER = "encoder"
CROSS_ENCODER = "cross_encoder"
RETRIEVAL = "retrieval"
SPARE_REQUESTS = 16
"""Health, readiness and metrics find room even when every place is taken."""

WATCH_S = 2.0
GONE_AFTER = 5
"""So many looks in a row without a healthy application mean that it is gone."""

WARM_CALLS = 8
GONE = frozenset({ApplicationStatus.DEPLOY_FAILED, ApplicationStatus.NOT_STARTED})


class Retrieval:
    """Channels, fusion and HTTP in one replica; only models are a hop away."""

    def __init__(
        self,
        settings: Settings,
        encoder: DeploymentHandle[Encoder],
        cross_encoder: DeploymentHandle[CrossEncoderReplica] | None = None,
    ) -> None:
        if settings.ray.address is None:
            keep_replica_on_loopback()
        self.settings, self.encode = settings, RemoteEncoder(encoder)
        self.cross_encoder = RemoteCrossEncoder(cross_encoder) if cross_encoder else None
        self.metrics = Metrics(others=read_exporter)

    def __serve_build_asgi_app__(self) -> ASGIApp:  # Serve's name for it
        limits = limits_of(self.settings, behind_proxy=True)
        return build_api(self.open, limits=limits, metrics=self.metrics)

    async def digest(self) -> str:
        """Which settings it was made with."""
        return digest_of(self.settings)

    async def open(self) -> Service:
        """All or nothing; Serve tries again when it fails."""
        async with contextlib.AsyncExitStack() as opened:
            ledger = await open_ledger(self.settings)
            opened.push_async_callback(ledger.close)
            collections = open_collections(self.settings)
            watch = Watch(ledger, collections, self.encode.of, warm=self._warm)
            opened.push_async_callback(watch.close)
            await watch.start()
            text_index = await open_text_index(self.settings, read_only=True)
            opened.pop_all()
        return build_service(
            settings=self.settings,
            stores=Stores(ledger=ledger, vector_index=CurrentIndex(watch), text_index=text_index),
            generations=watch,
            clock=SystemClock(),
            metrics=self.metrics,
            cross_encoder=self.cross_encoder,
        )

    async def _warm(self, encode: EncodeQuery) -> None:
        """Nobody's question pays for opening a model. With several replicas, so many calls at
        once that each of them gets some."""
        replicas = self.settings.serve.encoder_replicas
        calls = 1 if replicas == 1 else WARM_CALLS * replicas
        await asyncio.gather(*(encode("ready?", "en") for _ in range(calls)))


def digest_of(settings: Settings) -> str:
    return sha256_hex(settings.model_dump_json())


def limits_of(settings: Settings, *, behind_proxy: bool) -> Limits:
    return Limits(
        max_ongoing=settings.serve.max_ongoing_requests,
        max_waiting=settings.serve.max_queued_requests,
        max_upload_bytes=int(settings.serve.max_body_mb * 2**20),
        echo_request_id=not behind_proxy,
    )


def build(settings: Settings, *, retrieval: type[Retrieval] = Retrieval) -> ray_serve.Application:
    """The application graph: encoder (and cross-encoder) <- retrieval (with the HTTP ingress)."""
    serve = settings.serve
    quiet = LoggingConfig(enable_access_log=False, log_level="WARNING")
    encoder = ray_serve.deployment(
        name=ENCODER,
        num_replicas=serve.encoder_replicas,
        max_ongoing_requests=serve.encoder_batch * 2,
        max_queued_requests=serve.max_ongoing_requests * 2,
        ray_actor_options={"num_cpus": 0.5, "num_gpus": serve.encoder_gpus},
        logging_config=quiet,
    )(Encoder)
    places = serve.max_ongoing_requests + serve.max_queued_requests + SPARE_REQUESTS
    front = ray_serve.deployment(
        name=RETRIEVAL,
        num_replicas=serve.replicas,
        max_ongoing_requests=places,
        max_queued_requests=places,
        backpressure_config=BackpressureConfig(status_code=503, retry_after_s=1),
        ray_actor_options={"num_cpus": 0.5},
        graceful_shutdown_timeout_s=10,
        logging_config=quiet,
    )(ray_serve.ingress()(retrieval))
    if settings.cross_encoder.model is None:
        return front.bind(settings, encoder.bind(settings))
    return front.bind(settings, encoder.bind(settings), build_cross_encoder(settings))


def build_cross_encoder(settings: Settings) -> ray_serve.Application:
    wanted = settings.cross_encoder
    return ray_serve.deployment(
        name=CROSS_ENCODER,
        num_replicas=wanted.replicas,
        max_ongoing_requests=wanted.batch * 2,
        max_queued_requests=wanted.max_queued_requests,
        ray_actor_options={"num_cpus": 0.5, "num_gpus": wanted.gpus},
        logging_config=LoggingConfig(enable_access_log=False, log_level="WARNING"),
    )(CrossEncoderReplica).bind(settings)


def deploy(settings: Settings, application: ray_serve.Application) -> None:
    """Start Serve on the connected Ray and run the application; returns once it answers.
    `StoreUnavailable` with the reason when it does not start."""
    serve = settings.serve
    ray_serve.start(
        proxy_location=ProxyLocation.HeadOnly,
        http_options=HTTPOptions(host=serve.host, port=serve.port),
        logging_config=LoggingConfig(enable_access_log=False),
    )
    try:
        ray_serve.run(application, name=APP_NAME, route_prefix="/")
    except RuntimeError as error:
        raise StoreUnavailable("serve", f"did not start: {_reason() or error}") from error


def _reason() -> str:
    """What the deployment that failed says last."""
    application = ray_serve.status().applications.get(APP_NAME)
    told = [each.message for each in application.deployments.values()] if application else []
    lines = "\n".join(told).strip().splitlines()
    return lines[-1].strip() if lines else ""


def runs_already(settings: Settings) -> bool:
    """Whether an application of these settings survived the one who watched it; it goes on
    then, as deploying again would replace its replicas."""
    application = ray_serve.status().applications.get(APP_NAME)
    if application is None or application.status is not ApplicationStatus.RUNNING:
        return False
    handle = ray_serve.get_app_handle(APP_NAME)
    try:
        return bool(handle.digest.remote().result(timeout_s=10) == digest_of(settings))
    except (TimeoutError, RayServeException, ray.exceptions.RayError):
        return False


async def prepare(settings: Settings) -> None:
    """The first to come decides how the ledger is encoded; from then on the ledger says it, and
    `palimpsest reembed` changes it."""
    ledger = await open_ledger(settings)
    try:
        async with ledger.transaction() as tx:
            if await tx.generations.active() is None:
                await tx.generations.activate(describe(settings))
        await ensure_local_key(
            ledger,
            path=local_key_path(settings),
            tenant=settings.tenant,
            now=SystemClock().now(),
        )
    finally:
        await ledger.close()


def watch(stop: threading.Event) -> None:
    """Return when asked to stop; raise `StoreUnavailable` when the application is gone."""
    misses = 0
    while not stop.wait(WATCH_S):
        application = ray_serve.status().applications.get(APP_NAME)
        healthy = application is not None and application.status not in GONE
        misses = 0 if healthy else misses + 1
        if misses >= GONE_AFTER:
            state = application.status.value if application else "missing"
            raise StoreUnavailable("serve", f"the application is {state}; see the logs of Ray")


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    settings = load_settings()
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    try:
        asyncio.run(prepare(settings))
        os.environ.update(ray_environment(settings))
        ray.init(address=ray_address(settings), namespace=APP_NAME, log_to_driver=False)
        if not runs_already(settings):
            deploy(settings, build(settings))
        log.info("answering on http://%s:%d", settings.serve.host, settings.serve.port)
        watch(stop)
        with contextlib.suppress(ray.exceptions.RayError):
            ray_serve.shutdown()  # type: ignore[no-untyped-call]  # Ray has no types here
    except (StackError, InvalidRequest) as error:
        _end(error, status=PERMANENT)
    except PalimpsestError as error:
        _end(error, status=1)


def _end(error: PalimpsestError, *, status: int) -> NoReturn:
    """The last line of the log says why, without a traceback."""
    log.error("%s", error)
    sys.exit(status)


if __name__ == "__main__":
    # By its real name, so that replicas import these classes instead of unpickling copies.
    from serve.app import main as run

    run()
