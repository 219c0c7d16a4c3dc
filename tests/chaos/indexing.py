"""The indexer, for which a little is already bulk, so that it flushes: `… BEAT_FILE`."""

from __future__ import annotations

import sys

from cluster import indexer
from cluster.stack.indexer_process import main

if __name__ == "__main__":
    indexer.BULK_ROWS = 8
    main(sys.argv[1])
