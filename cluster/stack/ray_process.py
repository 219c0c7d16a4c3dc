"""The head of the local Ray, in the foreground: `… FOLDER PORT LOGICAL_CPUS STORE_MB`.

Only what the product uses: no dashboard, no autoscaler, no log forwarding, no Ray Client.
Expects `cluster.stack.services.ray_environment` in its environment.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path

from cluster.stack.exits import PERMANENT
from cluster.stack.ports import free_port


def main(folder: Path, port: int, logical_cpus: int, store_mb: int) -> None:
    # Ray opens its folder to everyone: the one around it is closed.
    _own(folder.parent)
    _drop_old_sessions(folder)
    from ray.scripts import scripts

    # Ray starts a server for its remote client whenever gRPC is installed, on a fixed port.
    setattr(scripts, "get_ray_client_dependency_error", _no_client)  # noqa: B010 - untyped
    scripts.start.main(
        args=[
            *("--head", "--block", "--node-ip-address", "127.0.0.1", "--port", str(port)),
            *("--num-cpus", str(logical_cpus)),
            *("--object-store-memory", str(store_mb * 2**20), "--temp-dir", str(folder)),
            *("--include-dashboard", "false", "--include-log-monitor", "false", "--no-monitor"),
            *("--dashboard-agent-listen-port", str(free_port())),
            *("--disable-usage-stats", "--log-style", "record", "--log-color", "false"),
        ],
        prog_name="ray start",
    )


def _no_client() -> ImportError:
    return ImportError("not part of the local stack")


def _own(folder: Path) -> None:
    """The folder may lie where everyone can write: take only one that is ours, and close it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        sys.stderr.write(f"error: {folder} is not a folder of this user; remove it\n")
        sys.exit(PERMANENT)
    folder.chmod(0o700)


def _drop_old_sessions(folder: Path) -> None:
    for session in folder.glob("session_*"):
        if session.is_symlink():
            session.unlink(missing_ok=True)
        else:
            shutil.rmtree(session, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
