"""A real Elasticsearch for tests: fetched once, started on a free port, gone with the test.

The build is the smallest one that Maven Central has: core modules only. It needs Java 21 or
newer (the JVM is not part of it) and refuses to run as root, so root lends it to `nobody`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import httpx
import psutil

from servers.needs import Missing, free_port

VERSION = "9.5.0"
ARTIFACT = f"org.elasticsearch.distribution.integ-test-zip:elasticsearch:{VERSION}:zip"
OLDEST_JAVA = 21
START_S = 300.0
STOP_S = 20.0

CONFIG = """\
cluster.name: palimpsest-test
node.name: test
discovery.type: single-node
network.host: 127.0.0.1
http.port: {port}
transport.port: {transport_port}
path.data: {folder}/data
path.logs: {folder}/logs
xpack.security.enabled: false
cluster.routing.allocation.disk.threshold_enabled: false
"""

LOG_CONFIG = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""

JVM_OPTIONS = """\
-Xms{heap_mb}m
-Xmx{heap_mb}m
-XX:+UseSerialGC
-XX:+ExitOnOutOfMemoryError
-Djava.io.tmpdir=${{ES_TMPDIR}}
-Dorg.apache.lucene.store.defaultReadAdvice=normal
--add-modules=jdk.incubator.vector
--add-opens=java.base/java.nio=org.apache.arrow.memory.core,ALL-UNNAMED
--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED
"""


class ElasticsearchServer:
    """One node with its data in `folder`; may be stopped, killed and started again there.

    It ends with the thread that started it, however that ends.
    """

    def __init__(self, folder: Path, *, port: int | None = None, heap_mb: int = 512) -> None:
        self._home, self._java = fetched(), java_home()
        self._folder, self._heap_mb = folder, heap_mb
        self._port = port or free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Returns when it answers. `RuntimeError` with the end of its log when it does not."""
        self._lay_out()
        log = self._folder / "server.log"
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [*_as_other_user(), "bash", str(self._home / "bin" / "elasticsearch")],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env=self._environment(),
                start_new_session=True,
            )
        try:
            self._wait(log)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Orderly, as an operator would; what was acknowledged is kept either way."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S)
        self.kill()

    def kill(self) -> None:
        """SIGKILL for the node and its launcher."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        _until_gone(process.pid)

    def _lay_out(self) -> None:
        for name in ("config/jvm.options.d", "data", "logs", "tmp"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        config = self._folder / "config"
        settings = CONFIG.format(
            port=self._port, transport_port=free_port(), folder=self._folder.absolute()
        )
        (config / "elasticsearch.yml").write_text(settings)
        (config / "log4j2.properties").write_text(LOG_CONFIG)
        (config / "jvm.options").write_text(JVM_OPTIONS.format(heap_mb=self._heap_mb))
        if os.geteuid() == 0:
            _give_away(self._folder)

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self._folder),
            "ES_JAVA_HOME": str(self._java),
            "ES_PATH_CONF": str(self._folder / "config"),
            "ES_TMPDIR": str(self._folder / "tmp"),
        }

    def _wait(self, log: Path) -> None:
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            assert self._process is not None
            if self._process.poll() is not None:
                raise RuntimeError(f"Elasticsearch ended at once:\n{_end_of(log)}")
            with contextlib.suppress(httpx.HTTPError):
                health = httpx.get(f"{self.url}/_cluster/health", timeout=5.0)
                if health.status_code == httpx.codes.OK:
                    return
            time.sleep(0.2)
        raise RuntimeError(f"Elasticsearch did not answer in {START_S:g} s:\n{_end_of(log)}")


@contextlib.contextmanager
def elasticsearch(*, heap_mb: int = 512) -> Iterator[str]:
    """The URL of a node of its own, whose data go with it. `Missing` says what it lacks."""
    folder = new_folder()
    try:
        server = ElasticsearchServer(folder, heap_mb=heap_mb)
        server.start()
        try:
            yield server.url
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder)


def new_folder() -> Path:
    """An empty folder that the server's user can reach; the caller removes it. If it cannot,
    as it was killed, the next call does."""
    for left in _cache().glob("node-*-*"):
        maker = left.name.split("-")[1]
        if maker.isdigit() and not psutil.pid_exists(int(maker)):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(dir=_cache(), prefix=f"node-{os.getpid()}-"))


def java_home() -> Path:
    """The newest Java that is new enough: `ES_JAVA_HOME`, `JAVA_HOME`, else an installed one."""
    named = [Path(os.environ[key]) for key in ("ES_JAVA_HOME", "JAVA_HOME") if os.environ.get(key)]
    installed = sorted(Path("/usr/lib/jvm").glob("*"), key=_java_version, reverse=True)
    for home in (*named, *installed):
        if _java_version(home) >= OLDEST_JAVA:
            return home
    raise Missing(
        f"Elasticsearch {VERSION} needs Java {OLDEST_JAVA} or newer: install one "
        "(Debian: temurin-25-jdk or openjdk-21-jre-headless) or name its folder by ES_JAVA_HOME"
    )


def fetched() -> Path:
    """The unpacked distribution, fetched on the first call."""
    if shutil.which("setpriv") is None:
        raise Missing("setpriv is missing: install util-linux")
    home = _cache() / f"elasticsearch-{VERSION}"
    with (_cache() / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "bin" / "elasticsearch").is_file():
            _fetch(home)
    return home


def _fetch(home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        archive = _download(Path(folder))
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder)
        for path in (Path(folder) / home.name).rglob("*"):
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
        shutil.rmtree(home, ignore_errors=True)
        (Path(folder) / home.name).rename(home)


def _download(folder: Path) -> Path:
    maven = shutil.which("mvn")
    if maven is None:
        raise Missing(
            f"Elasticsearch {VERSION} is fetched by Maven, which is missing: install it "
            "(Debian: maven) or name a running server by PALIMPSEST_TEST_ELASTICSEARCH_URL"
        )
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
    command = [maven, "-q", "-B", goal, f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={folder}"]
    if not os.access(Path(pwd.getpwuid(os.geteuid()).pw_dir), os.W_OK):
        # Java looks there for a home, whatever HOME says.
        command.append(f"-Dmaven.repo.local={folder / 'maven'}")
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, check=False, timeout=900
    )
    archive = folder / f"elasticsearch-{VERSION}.zip"
    if done.returncode or not archive.is_file():
        raise Missing(f"Maven could not fetch {ARTIFACT}: {done.stdout[-400:]}{done.stderr[-400:]}")
    return archive


def _cache() -> Path:
    """`~/.cache/palimpsest-test/elasticsearch`, or where another user can reach it, too."""
    folder = Path.home() / ".cache" / "palimpsest-test" / "elasticsearch"
    if os.geteuid() == 0 and not _open_to_all(Path.home()):
        folder = Path("/var/tmp") / f"palimpsest-test-{os.geteuid()}" / "elasticsearch"  # noqa: S108 - the owner is looked at
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise Missing(f"{folder} belongs to another user; move it away")
    return folder


def _open_to_all(folder: Path) -> bool:
    return all(path.stat().st_mode & 0o001 for path in (folder, *folder.parents))


def _as_other_user() -> Iterable[str]:
    yield from ("setpriv", "--pdeathsig", "KILL")
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        yield from ("--reuid", str(nobody.pw_uid), "--regid", str(nobody.pw_gid), "--clear-groups")
    yield "--"


def _give_away(folder: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)


def _java_version(home: Path) -> int:
    with contextlib.suppress(OSError):
        found = re.search(r'^JAVA_VERSION="(\d+)', (home / "release").read_text(), re.MULTILINE)
        if found and (home / "bin" / "java").is_file():
            return int(found.group(1))
    return 0


def _until_gone(group: int) -> None:
    """The node is a grandchild, whose end nobody can wait for but by looking."""
    until = time.monotonic() + STOP_S
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:]
