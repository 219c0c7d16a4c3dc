"""After a purge the bytes of what was forgotten are in no file of the stores any more."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from forgetting import House, real_house
from serving import DIM, EMBEDDER, fill, prepared
from tantivy import Index

from cluster.ids import vector_key
from cluster.model import Generation, Metadata
from cluster.settings import PostgresSettings
from cluster.stores.milvus.collections import MilvusCollections
from cluster.stores.postgres.purge import purge_database
from cluster.stores.protocols import Prepared
from cluster.stores.tantivy.index import TantivyTextIndex
from contract.milvus_lite import MilvusLite, milvus_lite
from contract.postgres import wipe

pytestmark = pytest.mark.stores

TELLING = "qzxv7319kjw8850mbt"
PACKED = "token-vectors-4471-of-what-was-forgotten"
"""In the text, the path and the name of the author; longer forms would be packed."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "milvus"


@pytest.fixture
def milvus(folder: Path) -> Iterator[MilvusLite]:
    with milvus_lite(folder) as running:
        yield running


@pytest.fixture
async def house(
    tmp_path: Path, module_database_url: str, milvus: MilvusLite
) -> AsyncIterator[House]:
    wipe(module_database_url)
    async with real_house(
        tmp_path, postgres_url=module_database_url, milvus_uri=milvus.uri
    ) as real:
        yield real


def files_with(folder: Path, telling: str = TELLING) -> list[str]:
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and telling.encode() in path.read_bytes()
    )


def tables_of(url: str) -> Path:
    """The folder of the database's files; skips where the server's disk is another one."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        row = connection.execute(
            "SELECT current_setting('data_directory'), oid::text FROM pg_database"
            " WHERE datname = current_database()"
        ).fetchone()
    assert row is not None
    path = Path(row[0])
    if not (path / "base" / row[1]).is_dir():
        pytest.skip("the server's files are on another machine")
    return path


def words_in(folder: Path) -> set[str]:
    """Of the text index, whose files are packed: the fields that know the word."""
    searcher = Index.open(str(folder)).searcher()
    fields = ("terms", "author", "path")
    return {
        name
        for name in fields
        if any(TELLING in word for word, _ in searcher.terms_with_prefix(name, TELLING))
    }


async def give_token_vectors(house: House, one: Prepared) -> None:
    """Longer than a row of the table, so that they lie in its second file."""
    keys = [vector_key(one.revision.metadata.language, each.indexed_text) for each in one.chunks]
    async with house.stores.ledger.transaction() as tx:
        vectors = await tx.vectors.get(keys, fingerprint=EMBEDDER.fingerprint)
        packed = dict.fromkeys(vectors, (PACKED * 200).encode())
        await tx.vectors.put(vectors, fingerprint=EMBEDDER.fingerprint, tokens=packed)
    assert len(vectors) == len(one.chunks) == 1


async def test_nothing_is_left_in_any_file(
    house: House, folder: Path, milvus: MilvusLite, module_database_url: str, tmp_path: Path
) -> None:
    one = prepared(f"{TELLING}.md", f"The {TELLING} of the boathouse.")
    about = Metadata(title="a", language="en", author=TELLING)
    one = replace(one, revision=replace(one.revision, metadata=about))
    await fill(house.stores, [one, prepared("b.md", "Something else that stays where it is.")])
    await house.stores.vector_index.flush()
    await give_token_vectors(house, one)
    data = tables_of(module_database_url)
    texts = tmp_path / "text-index"
    assert files_with(data / "base")
    assert files_with(data / "base", PACKED)
    assert files_with(folder)
    assert words_in(texts)

    job = await house.forget("document", one.revision.document_id)
    assert job.state == "finished"
    with psycopg.connect(module_database_url) as connection:
        left = connection.execute("SELECT tokens FROM embeddings").fetchall()
    assert len(left) == 1
    assert PACKED.encode() not in left[0][0]
    await house.stores.vector_index.flush()
    # What the documentation says stays until a purge, stays.
    assert files_with(tables_of(module_database_url) / "base")
    assert files_with(folder)
    assert words_in(texts)

    done = await purge_database(module_database_url, PostgresSettings(), full=True, own_server=True)
    assert {"revisions", "chunks", "forget_work"} <= set(done.tables)
    assert done.log == "old segments were removed"
    assert files_with(data / "base") == []
    assert files_with(data / "pg_wal") == []
    assert files_with(data, PACKED) == []

    generation = Generation(fingerprint=EMBEDDER.fingerprint, dim=DIM, recipe={})
    await MilvusCollections(uri=milvus.uri, token=None, settings=house.settings.milvus).drop(
        [generation]
    )
    await house.stores.text_index.close()
    shutil.rmtree(texts)
    await TantivyTextIndex.open(texts).close()
    assert words_in(texts) == set()
    assert files_with(folder) == []
    assert files_with(tmp_path) == []
