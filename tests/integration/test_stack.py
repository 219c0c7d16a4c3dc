"""The local stack with its real stores and Ray: started, broken in every way, stopped."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import psycopg
import pytest

from cluster.errors import StackError
from cluster.settings import MilvusSettings, PostgresSettings, RaySettings, ServeSettings, Settings
from cluster.stack import control, processes, services
from cluster.stack import home as rooms
from cluster.stack.home import home_of
from cluster.stack.ports import free_port
from cluster.stack.probes import ask
from cluster.stack.spec import Probe, ServiceSpec

pytestmark = pytest.mark.stack

STORES = ("postgres", "milvus", "ray")
ORDINARY_USER = 65534
AS_A_USER = (
    *("setpriv", f"--reuid={ORDINARY_USER}", f"--regid={ORDINARY_USER}", "--clear-groups"),
)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def settings_in(home: Path) -> Settings:
    return Settings(
        home=home,
        postgres=PostgresSettings(port=free_port()),
        milvus=MilvusSettings(port=free_port()),
        ray=RaySettings(port=free_port(), logical_cpus=4, object_store_mb=80),
        serve=ServeSettings(port=free_port()),
    )


def stores_of(settings: Settings) -> list[ServiceSpec]:
    """The stores and Ray, with probes that lose patience sooner."""
    return [
        replace(spec, probe=replace(spec.probe, interval_s=0.5, timeout_s=1.5, failures=3))
        for spec in services.store_services(settings)
        if spec.name in STORES
    ]


def left_in(home: Path) -> list[psutil.Process]:
    return processes.members(home)


def eventually(true: Callable[[], bool], *, within_s: float = 40.0) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.1)


def part_of(settings: Settings, name: str) -> control.PartStatus:
    return next(part for part in control.status(settings).parts if part.name == name)


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ps-"))
    yield folder / "h"
    control.down(Settings(home=folder / "h"), say=lambda _line: None)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def stack() -> Iterator[Settings]:
    folder = Path(tempfile.mkdtemp(prefix="ps-"))
    settings = settings_in(folder / "h")
    said: list[str] = []
    control.up(settings, stores_of(settings), say=said.append)
    assert [line.split()[:2] for line in sorted(said)] == [
        ["milvus", "ready"],
        ["postgres", "ready"],
        ["ray", "ready"],
    ]
    yield settings
    control.down(settings, say=said.append)
    assert left_in(settings.data_dir) == []
    shutil.rmtree(folder)


def test_a_second_up_says_so(stack: Settings) -> None:
    said: list[str] = []
    found = control.up(stack, stores_of(stack), say=said.append)
    assert said == ["already running"]
    assert found.serve == f"http://127.0.0.1:{stack.serve.port}"
    assert control.is_up(stack, stores_of(stack))


def test_other_settings_than_the_running_ones_are_refused(stack: Settings) -> None:
    other = stack.model_copy(update={"milvus": MilvusSettings(port=free_port())})
    with pytest.raises(StackError, match=r"other settings .*milvus.* `palimpsest down`"):
        control.up(other, stores_of(other), say=print)


def test_everything_listens_on_loopback_only(stack: Settings) -> None:
    heard = {
        connection.laddr[0]
        for process in left_in(stack.data_dir)
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert heard <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert "127.0.0.1" in heard


def test_postgres_asks_for_the_password(stack: Settings) -> None:
    url = services.embedded_postgres_url(stack)
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT current_setting('fsync'), current_database()").fetchone()
    assert row == ("on", "palimpsest")
    wrong = url.replace(url.split(":")[2].split("@")[0], "wrong")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(wrong).close()


def test_ray_refuses_a_driver_without_the_token(stack: Settings) -> None:
    probe = next(spec for spec in stores_of(stack) if spec.name == "ray").probe
    assert ask(probe, age_s=60, was_ready=True)
    assert not ask(replace(probe, secret_file=None), age_s=60, was_ready=True)


def test_a_driver_reaches_ray(stack: Settings) -> None:
    driver = (
        "import ray, sys; ray.init(address=sys.argv[1], log_to_driver=False)\n"
        "print(ray.get(ray.remote(lambda: 6 * 7).remote()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", driver, services.ray_address(stack)],
        env={**os.environ, **services.ray_environment(stack)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "42", done.stderr


def test_status_tells_of_each_part(stack: Settings) -> None:
    found = control.status(stack)
    assert found.supervisor == "running"
    assert found.disk_used_bytes > 10 * 2**20
    assert {part.name: part.state for part in found.parts} == dict.fromkeys(STORES, "ready")
    for part in found.parts:
        assert part.pid is not None
        assert psutil.Process(part.pid).is_running()
        assert 0 <= (part.uptime_s or -1) < 300
        assert part.memory_bytes > 5 * 2**20
        assert Path(part.log).is_file()


@pytest.mark.parametrize(
    ("part", "process"),
    [
        ("postgres", "main"),
        ("milvus", "main"),
        ("ray", "main"),
        ("ray", "gcs_server"),
        ("ray", "raylet"),
    ],
)
def test_a_killed_part_comes_back(stack: Settings, part: str, process: str) -> None:
    with psycopg.connect(services.embedded_postgres_url(stack)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (at text)")
        connection.execute("INSERT INTO kept VALUES (%s)", [f"{part} {process}"])
    before = part_of(stack, part)
    victims = [
        found
        for found in processes.members(stack.data_dir, part=part)
        if (found.pid == before.pid if process == "main" else found.name() == process)
    ]
    assert len(victims) == 1
    victims[0].kill()
    eventually(lambda: part_of(stack, part).restarts > before.restarts)
    eventually(lambda: control.is_up(stack, stores_of(stack)))
    assert part_of(stack, part).pid != before.pid
    with psycopg.connect(services.embedded_postgres_url(stack)) as connection:
        row = connection.execute(
            "SELECT count(*) FROM kept WHERE at = %s", [f"{part} {process}"]
        ).fetchone()
    assert row == (1,)


@pytest.mark.parametrize("part", ["postgres", "milvus"])
def test_a_hung_part_is_restarted(stack: Settings, part: str) -> None:
    before = part_of(stack, part)
    os.kill(before.pid or 0, signal.SIGSTOP)
    eventually(lambda: part_of(stack, part).restarts > before.restarts)
    eventually(lambda: control.is_up(stack, stores_of(stack)))


def test_a_killed_supervisor_is_replaced_and_the_parts_go_on(stack: Settings) -> None:
    before = control.status(stack)
    os.kill(before.supervisor_pid or 0, signal.SIGKILL)
    eventually(lambda: control.status(stack).supervisor == "dead")
    assert {part.state for part in control.status(stack).parts} == {"unwatched"}
    assert not control.is_up(stack, stores_of(stack))
    said: list[str] = []
    control.ensure_up(stack, stores_of(stack), say=said.append)
    assert said[0].startswith("starting the local stack")
    assert "taking over" in said[1]
    after = control.status(stack)
    assert {p.name: p.pid for p in after.parts} == {p.name: p.pid for p in before.parts}
    assert after.supervisor_pid != before.supervisor_pid


def test_down_after_a_killed_supervisor_leaves_no_process(stack: Settings) -> None:
    os.kill(control.status(stack).supervisor_pid or 0, signal.SIGKILL)
    assert control.down(stack, say=print)
    assert left_in(stack.data_dir) == []
    said: list[str] = []
    assert not control.down(stack, say=said.append)
    assert said == ["nothing was running"]
    control.up(stack, stores_of(stack), say=print)
    with psycopg.connect(services.embedded_postgres_url(stack)) as connection:
        row = connection.execute("SELECT count(*) > 0 FROM kept").fetchone()
    assert row == (True,)


def fake(name: str, script: str, **more: object) -> ServiceSpec:
    probe = Probe(kind="alive", interval_s=0.2)
    return ServiceSpec(name=name, command=("sh", "-c", script), probe=probe, **more)  # type: ignore[arg-type]


def test_a_part_that_keeps_ending_is_given_up_with_its_last_words(home: Path) -> None:
    settings = Settings(home=home)
    said: list[str] = []
    parts = [fake("well", "sleep 60"), fake("ill", "echo no luck today; exit 3", after=("well",))]
    with pytest.raises(StackError, match=r"ill does not start: no luck today\nits log is .*ill"):
        control.up(settings, parts, say=said.append)
    assert len([line for line in said if "tried again" in line]) == 4
    assert left_in(home) == []


def test_a_part_that_says_it_is_no_use_is_not_tried_again(home: Path) -> None:
    began = time.monotonic()
    with pytest.raises(StackError, match="wrong version"):
        control.up(Settings(home=home), [fake("ill", "echo wrong version; exit 78")], say=print)
    assert time.monotonic() - began < 5
    assert left_in(home) == []


def test_up_tries_a_failed_part_again(home: Path) -> None:
    settings = Settings(home=home)
    good = home / "good"
    parts = [fake("a", "sleep 60"), fake("b", f"sleep 3; test -e {good} && sleep 60; exit 78")]
    home.mkdir()
    good.touch()
    control.up(settings, parts, say=print)
    good.unlink()
    psutil.Process(part_of(settings, "b").pid).kill()
    eventually(lambda: part_of(settings, "b").state == "failed")
    good.touch()
    control.up(settings, parts, say=print)
    assert part_of(settings, "b").state == "ready"


def test_what_stands_on_a_restarted_part_is_restarted_too(home: Path) -> None:
    settings = Settings(home=home)
    below = fake("below", "sleep 60")
    above = fake("above", "sleep 60", after=("below",), restart_with=("below",))
    control.up(settings, [above, below], say=print)
    before = part_of(settings, "above").pid
    psutil.Process(part_of(settings, "below").pid).kill()
    eventually(lambda: part_of(settings, "above").pid not in (before, None))
    assert part_of(settings, "above").restarts == 1


def test_two_ups_at_once_make_one_stack(home: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from cluster.settings import Settings\n"
        "from cluster.stack import control; from cluster.stack.spec import Probe, ServiceSpec\n"
        "part = ServiceSpec(name='a', command=('sleep', '60'), probe=Probe(kind='alive'))\n"
        "control.up(Settings(home=Path(sys.argv[1])), [part])"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", script, str(home)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    texts = sorted(child.communicate(timeout=30)[0].decode().split()[0] for child in both)
    assert texts == ["a", "already"]
    assert len([p for p in left_in(home) if p.name() == "sleep"]) == 1


def test_the_supervisor_ends_when_its_home_is_gone(home: Path) -> None:
    control.up(Settings(home=home), [fake("a", "sleep 60")], say=print)
    shutil.rmtree(home)
    eventually(lambda: left_in(home) == [])


def test_a_taken_port_stops_up_before_anything_starts(home: Path) -> None:
    settings = settings_in(home)
    with (
        socket.create_server(("127.0.0.1", settings.milvus.port)),
        pytest.raises(StackError, match=f"port {settings.milvus.port} is taken by process"),
    ):
        control.up(settings, stores_of(settings), say=print)
    assert left_in(home) == []
    assert not home_of(settings).postgres.exists()


def test_data_of_another_postgres_is_left_alone(home: Path) -> None:
    settings = settings_in(home)
    home_of(settings).postgres.mkdir(parents=True)
    (home_of(settings).postgres / "PG_VERSION").write_text("16\n")
    only = [spec for spec in stores_of(settings) if spec.name == "postgres"]
    with pytest.raises(StackError, match=r"data of PostgreSQL 16, and this is PostgreSQL 18"):
        control.up(settings, only, say=print)
    assert [path.name for path in home_of(settings).postgres.iterdir()] == ["PG_VERSION"]


def test_leftovers_of_a_crash_do_not_stop_a_start(home: Path) -> None:
    """Stale locks, a state file that names living but foreign processes, half a cluster."""
    settings = settings_in(home)
    only = [spec for spec in stores_of(settings) if spec.name == "postgres"]
    control.up(settings, only, say=print)
    place = home_of(settings)
    state = place.state_file.read_bytes()
    for process in left_in(home):
        process.kill()
    eventually(lambda: left_in(home) == [])
    assert (place.postgres / "postmaster.pid").exists()
    place.state_file.write_bytes(state)
    half = place.postgres.with_name("postgres.new")
    half.mkdir()
    (half / "PG_VERSION").touch()
    control.up(settings, only, say=print)
    assert part_of(settings, "postgres").state == "ready"


@pytest.fixture
def small_disk() -> Iterator[Callable[[str], Path]]:
    mounted: list[Path] = []

    def mount(size: str) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="ps-"))
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True
        )
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        control.down(Settings(home=folder / "h"), say=lambda _line: None)
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


@as_root
def test_a_disk_of_one_megabyte_is_refused(small_disk: Callable[[str], Path]) -> None:
    home = small_disk("1m") / "h"
    settings = settings_in(home)
    with pytest.raises(StackError, match=r"is full: 1 MB free, 400 MB needed .* Nothing was st"):
        control.up(settings, stores_of(settings), say=print)
    assert left_in(home) == []
    assert list(home.iterdir()) == []


@as_root
def test_a_disk_that_fills_later_is_told(
    small_disk: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rooms, "ROOM_FOR_FIRST_START", 6 * 2**20)
    place = small_disk("8m") / "h"
    settings = Settings(home=place)
    parts = [fake("writer", f"head -c 65536 /dev/zero > {place}/data && sleep 60 || exit 1")]
    control.up(settings, parts, say=print)
    with suppress(OSError), (place / "filler").open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    (place / "data").unlink()
    with suppress(OSError), (place / "more").open("wb", buffering=0) as file:
        file.write(bytes(2**20))
    psutil.Process(part_of(settings, "writer").pid).kill()
    eventually(lambda: part_of(settings, "writer").state == "failed")
    error = part_of(settings, "writer").error
    assert error.startswith(f"the disk of {place} is full; make room there")
    with pytest.raises(StackError, match="is full: 0 MB free"):
        control.up(settings, parts, say=print)
    (place / "filler").unlink()
    (place / "more").unlink()
    control.up(settings, parts, say=print)
    assert part_of(settings, "writer").state == "ready"


@as_root
def test_a_read_only_disk_is_refused(small_disk: Callable[[str], Path]) -> None:
    folder = small_disk("420m")
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    with pytest.raises(StackError, match=r"Read-only file system; .* PALIMPSEST_HOME"):
        control.up(Settings(home=folder / "h"), [], say=print)


def python_for_everyone() -> tuple[str, dict[str, str]]:
    """A Python that another user can run, and what it needs to find the packages."""
    paths = [str(Path(__file__).parents[2]), *(path for path in sys.path if "-packages" in path)]
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    system = shutil.which(name, path="/usr/local/bin:/usr/bin")
    for program, more in ((sys.executable, {}), (system, {"PYTHONPATH": ":".join(paths)})):
        check = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import cluster'])"
        if (
            program
            and not subprocess.run(
                [*AS_A_USER, program, "-W", "error", "-c", check],
                env={"PATH": os.environ["PATH"], **more},
                capture_output=True,
                check=False,
                cwd="/",
            ).returncode
        ):
            return program, more
    return pytest.skip("an ordinary user cannot run this Python")


@as_root
def test_it_works_for_an_ordinary_user_and_not_in_roots_home(home: Path) -> None:
    program, more = python_for_everyone()
    home.parent.chmod(0o755)
    home.mkdir()
    os.chown(home, ORDINARY_USER, ORDINARY_USER)
    settings = settings_in(home)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from integration.test_stack import stores_of\n"
        "from cluster.settings import load_settings; from cluster.stack import control\n"
        "settings = load_settings()\n"
        "control.up(settings, stores_of(settings)); control.down(settings)"
    )
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), **more}
    done = subprocess.run(
        [*AS_A_USER, program, "-c", script, str(Path(__file__).parents[1])],
        env={**environ, **services.settings_environment(settings)},
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    name = pwd.getpwuid(ORDINARY_USER).pw_name
    with pytest.raises(StackError, match=f"belongs to user '{name}', and you are user 'root'"):
        control.up(settings, stores_of(settings), say=print)
    os.chown(home, 0, 0)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ready") == 3
    assert left_in(home) == []


def test_a_very_long_home_works(home: Path) -> None:
    deep = home / ("d" * 120) / "h"
    settings = settings_in(deep)
    only = [spec for spec in stores_of(settings) if spec.name == "ray"]
    control.up(settings, only, say=print)
    assert not (deep / "ray").exists()
    control.down(settings, say=print)
    assert left_in(deep) == []
