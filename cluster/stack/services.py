"""What are the parts of the local stack, and how is each started, probed and stopped?

A part whose address is set (`postgres.url`, `milvus.uri`, `ray.address`) runs elsewhere and
is left out. The worker and the Serve application come from above as module names.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.errors import StackError
from cluster.settings import PREFIX, Settings
from cluster.stack.home import (
    Home,
    home_of,
    local_key_path,
    postgres_password_path,
    ray_token_path,
)
from cluster.stack.spec import Port, Probe, ServiceSpec

__all__ = [
    "FEW_HOPS",
    "Endpoints",
    "embedded_milvus_uri",
    "embedded_postgres_url",
    "endpoints",
    "local_key_path",
    "module_service",
    "ray_address",
    "ray_environment",
    "settings_environment",
    "store_services",
]

MILVUS_VERSION_CALL = "milvus.proto.milvus.MilvusService/GetVersion"
RAY_NODES_CALL = "ray.rpc.NodeInfoGcsService/GetAllNodeInfo"
RAY_ALIVE_NODES = "1800"
"""The field `state_filter` of that call's request, set to `ALIVE`."""

RAYLET_SOCKET = "sockets/raylet"
"""Part of what a node tells of itself."""

LONGEST_RAY_FOLDER = 40
"""A Unix socket path holds 107 bytes; Ray puts up to 66 behind its folder."""

SHORT = Path("/tmp")  # noqa: S108 - the folder in it is taken only if it is ours and closed


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where the stack answers. `postgres` is without the password."""

    serve: str
    postgres: str
    milvus: str
    ray: str


def endpoints(settings: Settings) -> Endpoints:
    return Endpoints(
        serve=f"http://{settings.serve.host}:{settings.serve.port}",
        postgres=settings.postgres.url or f"postgresql://127.0.0.1:{settings.postgres.port}",
        milvus=settings.milvus.uri or embedded_milvus_uri(settings),
        ray=ray_address(settings),
    )


def embedded_postgres_url(settings: Settings) -> str:
    """The embedded server's address with its password. `StackError` before the first `up`."""
    path = postgres_password_path(home_of(settings))
    try:
        password = path.read_text(encoding="ascii").strip()
    except FileNotFoundError as error:
        raise StackError(
            f"there is no local stack in {settings.data_dir}; run `palimpsest up` first"
        ) from error
    except PermissionError as error:
        raise StackError(
            f"{path} belongs to another user; set PALIMPSEST_HOME to a folder of yours"
        ) from error
    return f"postgresql://palimpsest:{password}@127.0.0.1:{settings.postgres.port}/palimpsest"


def embedded_milvus_uri(settings: Settings) -> str:
    return f"http://127.0.0.1:{settings.milvus.port}"


def ray_address(settings: Settings) -> str:
    """For `ray.init(address=…)`, after `ray_environment` was put into the environment."""
    return settings.ray.address or f"127.0.0.1:{settings.ray.port}"


FEW_HOPS = {
    "RAY_SERVE_USE_GRPC_BY_DEFAULT": "1",
    "RAY_SERVE_RUN_USER_CODE_IN_SEPARATE_THREAD": "0",
    "RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP": "0",
}
"""A request reaches its replica over gRPC (each replica listens for it in any case) and stays in
one thread there: of a question of 84 ms, 7 fewer. What takes long has threads of its own."""


def ray_environment(settings: Settings) -> dict[str, str]:
    """What a driver of the local Ray needs in its environment *before* it imports `ray`.

    Empty for a cluster that is not ours. Token authentication is on; the token lies in the
    data directory. Ray replaces 127.0.0.1 by the machine's address unless clusters are
    switched off, by a variable whose name speaks of other systems only.
    """
    if settings.ray.address:
        return {}
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(ray_token_path(home_of(settings))),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        **FEW_HOPS,
    }


def settings_environment(settings: Settings) -> dict[str, str]:
    """`PALIMPSEST_*` that make a child process load these same settings, whatever the file in
    the data directory says by then: what is unset here must not come from there."""
    leaves = _leaves(settings.model_dump(mode="json"), PREFIX)
    return {**dict(leaves), f"{PREFIX}CONFIG": os.devnull}


def store_services(settings: Settings) -> list[ServiceSpec]:
    """PostgreSQL, Milvus Lite and Ray, as far as they are local, and the indexer."""
    home = home_of(settings)
    services = []
    if settings.postgres.url is None:
        services.append(_postgres(settings, home))
    if settings.milvus.uri is None:
        services.append(_milvus(settings, home))
    if settings.ray.address is None:
        services.append(_ray(settings, home))
    services.append(_indexer(settings, home))
    return services


def module_service(
    settings: Settings,
    *,
    name: str,
    module: str,
    probe: Probe,
    ports: tuple[Port, ...] = (),
    endpoint: str = "",
) -> ServiceSpec:
    """A part given by the name of a Python module that stays in the foreground. It uses the
    stores and Ray, is started after them, and again whenever Ray was."""
    return ServiceSpec(
        name=name,
        command=(sys.executable, "-m", module),
        probe=probe,
        env={**settings_environment(settings), **ray_environment(settings)},
        after=("postgres", "milvus", "ray"),
        restart_with=("ray",),
        ports=ports,
        endpoint=endpoint,
    )


def ray_folder(home: Home) -> Path:
    """Ray's own folder: in the data directory, or a short one where that path is too long."""
    inside = home.root / "ray"
    if len(os.fsencode(inside)) <= LONGEST_RAY_FOLDER:
        return inside
    name = hashlib.sha256(os.fsencode(home.root)).hexdigest()[:8]
    return SHORT / f"palimpsest-{os.geteuid()}-{name}" / "r"


def _leaves(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        name = prefix + key.upper()
        if isinstance(value, Mapping):
            yield from _leaves(value, name + "__")
        elif value is not None:
            yield name, str(value)


def _postgres(settings: Settings, home: Home) -> ServiceSpec:
    port = settings.postgres.port
    return ServiceSpec(
        name="postgres",
        command=(
            *(sys.executable, "-m", "cluster.stack.postgres_process"),
            *(str(home.postgres), str(port), str(postgres_password_path(home))),
        ),
        probe=Probe(
            kind="postgres",
            target=f"127.0.0.1:{port}",
            secret_file=str(postgres_password_path(home)),
        ),
        ports=(Port(number=port, setting="postgres.port"),),
        endpoint=endpoints(settings).postgres,
        stop_signal="INT",
        stop_within_s=30.0,
    )


def _milvus(settings: Settings, home: Home) -> ServiceSpec:
    port = settings.milvus.port
    return ServiceSpec(
        name="milvus",
        command=(
            *(sys.executable, "-m", "cluster.stack.milvus_process"),
            *(str(home.milvus), str(port)),
        ),
        probe=Probe(kind="grpc", target=f"127.0.0.1:{port}/{MILVUS_VERSION_CALL}"),
        ports=(Port(number=port, setting="milvus.port"),),
        endpoint=embedded_milvus_uri(settings),
    )


def _ray(settings: Settings, home: Home) -> ServiceSpec:
    port = settings.ray.port
    return ServiceSpec(
        name="ray",
        command=(
            *(sys.executable, "-m", "cluster.stack.ray_process"),
            *(str(ray_folder(home)), str(port)),
            *(str(settings.ray.logical_cpus), str(settings.ray.object_store_mb)),
        ),
        probe=Probe(
            kind="grpc",
            target=f"127.0.0.1:{port}/{RAY_NODES_CALL}",
            request_hex=RAY_ALIVE_NODES,
            expect=RAYLET_SOCKET,
            secret_file=str(ray_token_path(home)),
        ),
        env={**settings_environment(settings), **ray_environment(settings), **_LEAN_RAY},
        ports=(Port(number=port, setting="ray.port"),),
        endpoint=ray_address(settings),
        # It keeps nothing that an orderly end would save.
        stop_within_s=5.0,
    )


_LEAN_RAY = {
    # A worker is started when there is work for it, not one per logical CPU in advance.
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_ROTATION_MAX_BYTES": str(8 * 2**20),
    "RAY_ROTATION_BACKUP_COUNT": "1",
}


def _indexer(settings: Settings, home: Home) -> ServiceSpec:
    beat = str(home.beat_of("indexer"))
    return ServiceSpec(
        name="indexer",
        command=(sys.executable, "-m", "cluster.stack.indexer_process", beat),
        probe=Probe(kind="beat", target=beat, failures=12),
        env={**settings_environment(settings), "OMP_NUM_THREADS": "1"},
        after=("postgres", "milvus"),
    )
