"""The whole ledger in one file, and back: a zip of one member a table, with a manifest.

The manifest stands last: a file that was not finished has none and is refused. Texts and
vectors are all in the ledger, so that both indexes can be made again from it.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from cluster.errors import InvalidRequest
from cluster.settings import PostgresSettings
from cluster.stores.postgres.dump import Snapshot, Table, open_loading, open_snapshot
from cluster.stores.postgres.migrate import migrate

FORMAT = 1
_PACKED = zipfile.ZIP_DEFLATED
MANIFEST = "manifest.json"
KEYS = "keys/"
BLOCK = 1 << 20

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dumped:
    """A table: its columns, rows, and the SHA-256 of its member."""

    name: str
    columns: tuple[str, ...]
    rows: int
    sha256: str

    @property
    def member(self) -> str:
        return f"tables/{self.name}.copy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`migrations`: the steps of the schema. `keys`: names of key files that came along."""

    format: int
    taken_at: datetime
    server_version: int
    migrations: tuple[str, ...]
    sequences: Mapping[str, int]
    tables: tuple[Dumped, ...]
    keys: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "taken_at": self.taken_at.isoformat()}


async def backup(
    url: str,
    path: Path,
    *,
    now: datetime,
    keys: Mapping[str, Path] = MappingProxyType({}),
    say: Say = lambda _: None,
) -> Manifest:
    """Write the ledger at `url` to `path`, readable by this user alone; it appears when it is
    complete. A file that is there already, or cannot be written, is `InvalidRequest`. Writers
    are not kept waiting.
    `keys`: files that come along, by the name under which `restore_keys` finds them."""
    partial = _partial_of(path)
    try:
        with _private(partial) as file, zipfile.ZipFile(file, "w", compresslevel=1) as archive:
            async with open_snapshot(url) as snapshot:
                manifest = await _dump(snapshot, archive, now=now, keys=keys, say=say)
            archive.writestr(MANIFEST, json.dumps(manifest.to_json(), indent=1), _PACKED)
        partial.rename(path)
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
    return manifest


def read_manifest(path: Path) -> Manifest:
    """`InvalidRequest` when it is no complete backup that this version can read."""
    try:
        with zipfile.ZipFile(path) as archive:
            told = json.loads(archive.read(MANIFEST))
    except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise InvalidRequest(f"{path} is no complete backup of Palimpsest: {error}") from error
    if told.get("format") != FORMAT:
        raise InvalidRequest(
            f"{path} has format {told.get('format')}, this version reads {FORMAT}; "
            "install the Palimpsest that made it"
        )
    tables = tuple(Dumped(**{**one, "columns": tuple(one["columns"])}) for one in told["tables"])
    return Manifest(
        format=told["format"],
        taken_at=datetime.fromisoformat(told["taken_at"]),
        server_version=told["server_version"],
        migrations=tuple(told["migrations"]),
        sequences=told["sequences"],
        tables=tables,
        keys=tuple(told["keys"]),
    )


async def restore(
    url: str, settings: PostgresSettings, path: Path, *, say: Say = lambda _: None
) -> Manifest:
    """Put a backup into an empty ledger and bring it to today's schema: all of it or nothing.

    `StoreRejected` when the ledger is not empty, `InvalidRequest` when the file is damaged.
    The API keys that this instance had are kept beside those of the backup.
    """
    manifest = read_manifest(path)
    with zipfile.ZipFile(path) as archive:
        async with open_loading(url, manifest.migrations) as loading:
            dumped = {table.name: table for table in manifest.tables}
            for table in await loading.tables():
                if one := dumped.get(table.name):
                    say(f"{one.name}: {one.rows:,} rows")
                    checked = _checked(archive, one, path)
                    await loading.load(Table(name=one.name, columns=one.columns), checked)
            await loading.finish(manifest.sequences)
    await migrate(url, settings)
    return manifest


def restore_keys(path: Path, places: Mapping[str, Path]) -> list[Path]:
    """Put the key files of a backup where they belong, by name; those written. One that is
    there and differs is `InvalidRequest`: it would lose what it signed or blocked."""
    written = []
    with zipfile.ZipFile(path) as archive:
        for name in read_manifest(path).keys:
            place, content = places.get(name), archive.read(KEYS + name)
            if place is None or (place.exists() and place.read_bytes() == content):
                continue
            if place.exists():
                raise InvalidRequest(f"{place} is another key than the backup's; move it away")
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _private(place) as file:
                file.write(content)
            written.append(place)
    return written


async def _dump(
    snapshot: Snapshot,
    archive: zipfile.ZipFile,
    *,
    now: datetime,
    keys: Mapping[str, Path],
    say: Say,
) -> Manifest:
    migrations = await snapshot.migrations()
    tables = []
    for table in await snapshot.tables():
        tables.append(await _dump_table(snapshot, archive, table))
        say(f"{table.name}: {tables[-1].rows:,} rows")
    for name, key in keys.items():
        archive.writestr(KEYS + name, key.read_bytes())
    return Manifest(
        format=FORMAT,
        taken_at=now,
        server_version=snapshot.server_version,
        migrations=tuple(migrations),
        sequences=await snapshot.sequences(),
        tables=tuple(tables),
        keys=tuple(keys),
    )


async def _dump_table(snapshot: Snapshot, archive: zipfile.ZipFile, table: Table) -> Dumped:
    digest, rows = hashlib.sha256(), 0
    member = zipfile.ZipInfo(f"tables/{table.name}.copy")
    member.compress_type = _PACKED
    with archive.open(member, "w", force_zip64=True) as file:
        async for block in snapshot.rows(table):
            digest.update(block)
            rows += block.count(b"\n")
            file.write(block)
    return Dumped(name=table.name, columns=table.columns, rows=rows, sha256=digest.hexdigest())


def _checked(archive: zipfile.ZipFile, table: Dumped, path: Path) -> Iterator[bytes]:
    """The bytes of a member; what was given out counts only if the end is reached."""
    digest = hashlib.sha256()
    try:
        with archive.open(table.member) as file:
            while block := file.read(BLOCK):
                digest.update(block)
                yield block
    except (KeyError, zipfile.BadZipFile, zlib.error, OSError, EOFError) as error:
        raise InvalidRequest(f"{path}: {table.member} is damaged: {error}") from error
    if digest.hexdigest() != table.sha256:
        raise InvalidRequest(f"{path}: {table.member} is not what the manifest says")


def _partial_of(path: Path) -> Path:
    if path.exists():
        raise InvalidRequest(f"{path} exists; name another file")
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)
    return partial


@contextmanager
def _private(path: Path) -> Iterator[IO[bytes]]:
    """A new file of this user alone, on the disk when the block ends."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
