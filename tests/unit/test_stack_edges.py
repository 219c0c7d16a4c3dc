"""Files, ports, logs and processes of the stack; no part of it is started."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from cluster.errors import StackError
from cluster.settings import Settings
from cluster.stack import control, home, logs, processes, state
from cluster.stack.home import Home
from cluster.stack.ports import check_port, free_port
from cluster.stack.probes import ask
from cluster.stack.processes import Identity
from cluster.stack.spec import Port, Probe, ServiceSpec
from cluster.stack.state import PADDED_BYTES, PartState, StackState

BEYOND_ALL = 2**22 + 1
"""No process has this id: the system gives none above 2**22."""


def some_state(*, boot: str | None = None) -> StackState:
    part = PartState(
        name="milvus",
        phase="ready",
        identity=Identity(pid=7, started=70),
        started_at=1.5,
        restarts=2,
        error="资料 \U0001f600",
        endpoint="http://127.0.0.1:1",
        log="/x",
        digest="d",
    )
    supervisor = Identity(pid=5, started=50)
    return StackState(
        boot=state.boot_id() if boot is None else boot, supervisor=supervisor, parts=(part,)
    )


def test_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    state.write_state(path, some_state())
    assert state.read_state(path) == some_state()
    assert path.stat().st_size == PADDED_BYTES


def test_state_of_another_boot_or_damaged_means_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    assert state.read_state(path) is None
    state.write_state(path, some_state(boot="another"))
    assert state.read_state(path) is None
    for damaged in ('{"boot": ', "[]", '{"boot": "x"}'):
        path.write_text(damaged)
        assert state.read_state(path) is None


def test_state_is_written_in_place_when_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.json"
    state.write_state(path, some_state(boot="before"))

    def full(self: Path, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    state.write_state(path, some_state())
    assert state.read_state(path) == some_state()


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with state.locked(path, wait=False) as first, state.locked(path, wait=False) as second:
        assert (first, second) == (True, False)
    with state.locked(path, wait=False) as third:
        assert third


def test_home_is_private_and_has_secrets(tmp_path: Path) -> None:
    place = Home(tmp_path / "a" / "b")
    home.prepare_home(place)
    before = home.postgres_password_path(place).read_text()
    home.prepare_home(place)
    assert home.postgres_password_path(place).read_text() == before
    assert len(before) == 48
    for path in (place.root, place.run, place.logs, place.secrets):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE(home.ray_token_path(place).stat().st_mode) == 0o600


def test_home_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    with pytest.raises(StackError, match=r"belongs to user .* PALIMPSEST_HOME"):
        home.prepare_home(Home(tmp_path))


def test_the_stack_of_another_user_is_neither_seen_nor_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.prepare_home(Home(tmp_path))
    mine, settings = os.geteuid(), Settings(home=tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    for call in (control.status, control.down, lambda one: control.is_up(one, [])):
        with pytest.raises(StackError, match="belongs to user"):
            call(settings)


def test_a_file_in_the_place_of_the_home_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StackError, match=r"cannot use .*file.* PALIMPSEST_HOME"):
        home.prepare_home(Home(tmp_path / "file"))


def test_too_little_room_is_said_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "room", lambda _path: 2**20)
    with pytest.raises(StackError, match=r"1 MB free, 400 MB needed"):
        home.prepare_home(Home(tmp_path / "h"))
    assert list((tmp_path / "h").iterdir()) == []


def test_a_taken_port_is_named_with_its_holder_and_the_setting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
        with pytest.raises(StackError) as caught:
            check_port(Port(number=number, setting="milvus.port"))
    assert f"port {number} is taken by process {os.getpid()}" in str(caught.value)
    assert "set milvus.port (or PALIMPSEST_MILVUS__PORT)" in str(caught.value)
    check_port(Port(number=free_port(), setting="milvus.port"))


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(StackError, match=r"cannot listen on 192\.0\.2\.77:8730"):
        check_port(Port(number=8730, setting="serve.port", host="192.0.2.77"))


def test_a_log_is_bounded_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_BYTES", 100)
    path = tmp_path / "x.log"
    with path.open("ab", buffering=0) as writer:
        writer.write(b"a" * 60 + b"b" * 60)
        assert logs.bound(path)
        writer.write(b"new\n\nlines\n")
        assert not logs.bound(path)
    assert path.read_bytes() == b"new\n\nlines\n"
    assert (tmp_path / "x.log.1").read_bytes() == b"b" * 50
    assert logs.last_lines(path) == "new\nlines"
    assert logs.last_lines(path, since=5) == "lines"
    assert logs.last_lines(tmp_path / "none") == ""


def test_a_process_is_known_by_id_and_start() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    found = processes.identify(child.pid)
    assert found is not None
    assert processes.is_alive(found)
    assert not processes.is_alive(Identity(pid=found.pid, started=found.started + 1))
    child.communicate(b"\n")
    assert not processes.is_alive(found)


def test_members_are_found_by_mark_and_by_session_and_nothing_else_is(tmp_path: Path) -> None:
    marked = {**os.environ, **processes.marks(tmp_path, "milvus")}
    sleep = ["sleep", "60"]
    one = subprocess.Popen(sleep, env=marked)
    shell = ["sh", "-c", "env -i sleep 60 & wait"]
    leader = subprocess.Popen(shell, env=marked, start_new_session=True)
    other = subprocess.Popen(sleep, env=dict(os.environ), cwd=tmp_path)
    identity = processes.identify(leader.pid)
    assert identity is not None
    try:
        deadline = time.monotonic() + 5
        while len(psutil.Process(leader.pid).children()) < 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        bare = psutil.Process(leader.pid).children()[0].pid
        leader.kill()
        leader.wait()
        found = {p.pid for p in processes.members(tmp_path, part="milvus", sessions=[identity])}
        assert found == {one.pid, bare}
        assert processes.members(tmp_path, part="ray") == []
        assert processes.members(tmp_path / "x") == []
    finally:
        killed = processes.end(processes.members(tmp_path, sessions=[identity]), within_s=5)
        other.kill()
        other.wait()
        one.wait()
    assert killed == []
    assert not psutil.pid_exists(bare) or psutil.Process(bare).status() == psutil.STATUS_ZOMBIE


def test_a_beat_of_a_former_process_does_not_count(tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    probe = Probe(kind="beat", target=str(beat))
    assert not ask(probe, age_s=5.0, was_ready=False)
    beat.touch()
    assert ask(probe, age_s=5.0, was_ready=False)
    os.utime(beat, (time.time() - 15, time.time() - 15))
    assert not ask(probe, age_s=5.0, was_ready=False)
    assert ask(probe, age_s=60.0, was_ready=True)


def test_nobody_answers_on_a_free_port() -> None:
    port = free_port()
    for kind, target in (("http", f"http://127.0.0.1:{port}/"), ("grpc", f"127.0.0.1:{port}/a/b")):
        probe = Probe(kind=kind, target=target, timeout_s=0.5)  # type: ignore[arg-type]
        assert not ask(probe, age_s=60.0, was_ready=True)


def gone_supervisor(place: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is seen alive once more, when it has ended already."""
    home.prepare_home(place)
    gone = Identity(pid=BEYOND_ALL, started=1)
    failed = replace(some_state().parts[0], phase="failed", identity=None)
    state.write_state(
        place.state_file, StackState(boot=state.boot_id(), supervisor=gone, parts=(failed,))
    )
    seen = iter([True])
    monkeypatch.setattr(processes, "is_alive", lambda _identity: next(seen, False))


def test_down_of_a_supervisor_that_just_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone_supervisor(Home(tmp_path), monkeypatch)
    assert control.down(Settings(home=tmp_path), say=lambda _line: None) is False
    assert not Home(tmp_path).state_file.exists()


def test_up_beside_a_supervisor_that_just_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone_supervisor(Home(tmp_path), monkeypatch)
    monkeypatch.setattr(control, "TAKES_UP_WITHIN_S", 0.2)
    spec = ServiceSpec(name="milvus", command=("true",), probe=Probe(kind="alive"))
    monkeypatch.setattr(ServiceSpec, "digest", "d")
    with pytest.raises(StackError, match="the supervisor ended"):
        control.up(Settings(home=tmp_path), [spec], say=lambda _line: None)


def test_down_and_status_of_a_home_that_never_was(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "none")
    said: list[str] = []
    assert control.down(settings, say=said.append) is False
    assert said == ["nothing was running"]
    assert control.status(settings).supervisor == "none"
    assert not (tmp_path / "none").exists()
