"""Index files of Milvus Lite that a kill left unfinished go before it starts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]  # has no types

from cluster.stack.milvus_files import drop_broken_indexes


def test_only_broken_index_files_go(tmp_path: Path) -> None:
    folder = tmp_path / "collections" / "chunks" / "indexes"
    folder.mkdir(parents=True)
    whole = folder / "whole.sidx"
    table = pa.table({"value": ["a", "b"]})
    with pa.OSFile(str(whole), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    (folder / "half.sidx").write_bytes(whole.read_bytes()[:-20])
    (folder / "empty.sidx").touch()
    (folder / "short.sidx").write_bytes(b"AR")
    (folder / "empty.idx").touch()
    (folder / "whole.idx").write_bytes(b"IwFl")
    (folder / "rows.parquet").touch()
    gone = drop_broken_indexes(tmp_path)
    assert {path.name for path in gone} == {"half.sidx", "empty.sidx", "short.sidx", "empty.idx"}
    assert {path.name for path in folder.iterdir()} == {"whole.sidx", "whole.idx", "rows.parquet"}
    assert drop_broken_indexes(tmp_path) == []
