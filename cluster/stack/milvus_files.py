"""What a killed Milvus Lite may leave behind that keeps it from loading a collection."""

from __future__ import annotations

import os
from pathlib import Path

SCALAR_INDEX, VECTOR_INDEX = ".sidx", ".idx"
ARROW_END = b"ARROW1"


def drop_broken_indexes(folder: Path) -> list[Path]:
    """Delete index files that were not written to their end, before the server starts; which.

    An index is made of the rows beside it, and made again when its file is missing. A broken
    one is an error at every load. Of a vector index only an empty file is known to be broken.
    """
    found = [
        path
        for path in folder.rglob("*")
        if path.suffix in (SCALAR_INDEX, VECTOR_INDEX) and path.is_file() and _broken(path)
    ]
    for path in found:
        path.unlink()
    return found


def _broken(path: Path) -> bool:
    size = path.stat().st_size
    if size == 0 or path.suffix == VECTOR_INDEX:
        return size == 0
    if size < len(ARROW_END):
        return True
    with path.open("rb") as file:
        file.seek(-len(ARROW_END), os.SEEK_END)
        return file.read() != ARROW_END
