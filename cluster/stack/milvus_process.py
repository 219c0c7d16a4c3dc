"""The Milvus Lite server on loopback, ended in order by SIGTERM: `… FOLDER PORT`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import FrameType

from milvus_lite.adapter.grpc.server import run_server

from cluster.stack.milvus_files import drop_broken_indexes


def main(folder: str, port: int) -> None:
    def end(_signal: int, _frame: FrameType | None) -> None:
        # The server closes its data only on this exception.
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    Path(folder).mkdir(mode=0o700, exist_ok=True)
    drop_broken_indexes(Path(folder))
    run_server(folder, host="127.0.0.1", port=port)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
