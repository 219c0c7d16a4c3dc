"""A real Milvus for tests: the standalone server 2.3.5, fetched once, started on a free port.

Its package from the Python index brings the program packed; it is unpacked once and kept. The
program is started without the package's own launcher, which it outlives by a minute.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from servers.needs import Missing, free_port

VERSION = "2.3.5"
START_S = 180.0
STOP_S = 15.0

UNPACK = "import sys, milvus; milvus._initialize_data_files(sys.argv[1])"

CONFIGURE = """
import json, sys, milvus
folder, ports, more = json.loads(sys.argv[1])
config = milvus.MilvusServerConfig(data_dir=folder, **ports)
config.extra_configs.update(more)
config.resolve()
"""

PORTS = (
    "import json, milvus; print(json.dumps(list(milvus.MilvusServerConfig().configurable_items)))"
)

RUN = ("run", "standalone")

ROLES = ("rootCoord", "proxy", "queryCoord", "queryNode", "indexCoord", "indexNode")
"""Parts of the one process that look for each other by address: on this machine."""

ETCD = """\
name: default
data-dir: {folder}/data/etcd.data
listen-client-urls: http://127.0.0.1:{client_port}
advertise-client-urls: http://127.0.0.1:{client_port}
listen-peer-urls: http://127.0.0.1:{peer_port}
initial-advertise-peer-urls: http://127.0.0.1:{peer_port}
initial-cluster: default=http://127.0.0.1:{peer_port}
"""
"""Of the one that is built in, which else takes its usual ports."""

EXACT_WHILE_GROWING = {"queryNode.segcore.interimIndex.enableIndex": "false"}
"""As `docs/operations.md` advises: else the newest rows are searched through lists of which
one in eight is looked at."""


class MilvusServer:
    """One server with its data in `folder`; may be stopped, killed and started again there.

    It ends with the thread that started it, however that ends.
    """

    def __init__(self, folder: Path, *, port: int | None = None) -> None:
        self._package, self._programs = fetched()
        self._folder = folder
        self._etcd_file = folder / "etcd.yaml"
        self._port = port or free_port()
        self._configured = False
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Returns when it answers. `RuntimeError` with the end of its log when it does not."""
        metrics_port = free_port()
        if not self._configured:
            # Not again after a kill: the launcher takes the port for taken for a minute.
            self._configure()
            self._configured = True
        log = self._folder / "server.log"
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", self._programs / "milvus", *RUN],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env=self._environment(metrics_port),
                start_new_session=True,
            )
        try:
            self._wait(log, metrics_port)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Orderly, as an operator would, and not for longer than `STOP_S`."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S)
        self.kill()

    def kill(self) -> None:
        """SIGKILL."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _configure(self) -> None:
        names = [name for name in json.loads(_in(self._package, PORTS)) if name.endswith("_port")]
        ports = {name: free_port() for name in names} | {"proxy_port": self._port}
        more = {f"{role}.ip": "127.0.0.1" for role in ROLES} | EXACT_WHILE_GROWING
        _in(self._package, CONFIGURE, json.dumps([str(self._folder), ports, more]))
        etcd = ETCD.format(folder=self._folder, client_port=free_port(), peer_port=free_port())
        self._etcd_file.write_text(etcd)

    def _environment(self, metrics_port: int) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self._folder),
            "DEPLOY_MODE": "STANDALONE",
            "METRICS_PORT": str(metrics_port),
            "MILVUS_RUN_DIR": str(self._folder / "run"),
            "LD_LIBRARY_PATH": str(self._programs),
            "ETCD_CONFIG_PATH": str(self._etcd_file),
            "GOMAXPROCS": "2",
        }

    def _wait(self, log: Path, metrics_port: int) -> None:
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            assert self._process is not None
            if self._process.poll() is not None:
                raise RuntimeError(f"Milvus ended at once:\n{_end_of(log)}")
            if _healthy(metrics_port) and _serves(self.uri):
                return
            time.sleep(0.2)
        raise RuntimeError(f"Milvus did not answer in {START_S:g} s:\n{_end_of(log)}")


@contextlib.contextmanager
def milvus() -> Iterator[str]:
    """The URI of a server of its own, whose data go with it. `Missing` says what it lacks."""
    fetched()
    with tempfile.TemporaryDirectory(dir=_cache(), prefix="server-") as folder:
        server = MilvusServer(Path(folder))
        server.start()
        try:
            yield server.uri
        finally:
            server.kill()


def new_folder() -> Path:
    """An empty folder for a server; the caller removes it."""
    return Path(tempfile.mkdtemp(dir=_cache(), prefix="server-"))


def fetched() -> tuple[Path, Path]:
    """The package and its unpacked programs, fetched on the first call."""
    if sys.platform != "linux" or shutil.which("setpriv") is None:
        raise Missing(
            f"Milvus {VERSION} is started on Linux with setpriv (util-linux); elsewhere name a "
            "running server by PALIMPSEST_TEST_MILVUS_URI"
        )
    home = _cache() / VERSION
    with (_cache() / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "programs" / "bin" / "milvus").is_file():
            _fetch(home)
    return home / "package", home / "programs" / "bin"


def _fetch(home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        package = Path(folder) / "made" / "package"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            [*pip, "--no-deps", "--target", package, f"milvus=={VERSION}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        if done.returncode:
            raise Missing(f"pip could not fetch milvus=={VERSION}: {done.stderr[-400:]}")
        _in(package, UNPACK, str(package.parent / "programs"))
        shutil.rmtree(home, ignore_errors=True)
        package.parent.rename(home)


def _in(package: Path, code: str, *arguments: str) -> str:
    """Run `code` where the server's package can be imported, and only there."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(package)},
    )
    return done.stdout


def _healthy(metrics_port: int) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        answer = httpx.get(f"http://127.0.0.1:{metrics_port}/healthz", timeout=5.0)
        return answer.status_code == httpx.codes.OK
    return False


def _serves(uri: str) -> bool:
    """Healthy is said a moment before the first collection can be made."""
    from pymilvus import MilvusClient  # type: ignore[import-untyped]  # has no types
    from pymilvus.exceptions import MilvusException  # type: ignore[import-untyped]

    with contextlib.suppress(MilvusException):
        client = MilvusClient(uri, timeout=5.0, dedicated=True)
        try:
            client.list_collections()
        finally:
            client.close()
        return True
    return False


def _cache() -> Path:
    folder = Path.home() / ".cache" / "palimpsest-test" / "milvus"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:]
