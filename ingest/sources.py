"""What is there? Paths, globs, folders, corpora and addresses -> units of work.

A unit tells where to read, it holds no content: listing a corpus larger than memory is cheap.
Order is by name, so that two runs list the same things in the same order.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import quote, unquote_to_bytes

from cluster.errors import InvalidRequest, UnreadableItem
from cluster.model import ItemProblem
from ingest import corpora, places
from ingest.rules import Rules

SIDECAR = re.compile(r"\.meta\.(json|ya?ml)$")
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "CVS"})
_GLOB_SIGNS = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRef:
    """`uri` is where it is read from and its origin; `path` is relative to `root`."""

    uri: str
    root: str
    path: str
    size: int | None = None
    sidecar: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesUnit:
    files: tuple[FileRef, ...]

    @property
    def items(self) -> int:
        return len(self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesUnit:
    """Lines of a JSONL file from byte `start` to byte `stop`. `ordinals` count, line by line, the
    turns of the same session that came before; empty when these are no turns."""

    file: FileRef
    start: int
    stop: int
    first_line: int
    items: int
    ordinals: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsUnit:
    """One row group of a Parquet file; `first_row` counts from 0 in the file."""

    file: FileRef
    row_group: int
    first_row: int
    rows: int

    @property
    def items(self) -> int:
        return self.rows


Unit = FilesUnit | LinesUnit | RowsUnit


@dataclass(slots=True, kw_only=True)
class Listing:
    """Iterate `units()` once; then `complete` says whether everything could be listed, and
    `covered` are the addresses under which nothing else is there: folders and corpora. A
    pattern covers no more than the corpora that it finds, since what no longer matches may
    never have."""

    targets: Sequence[str]
    rules: Rules
    block_items: int
    max_item_bytes: int
    problems: list[ItemProblem] = field(default_factory=list)
    complete: bool = True
    covered: set[str] = field(default_factory=set)
    _waiting: list[FileRef] = field(default_factory=list)
    _seen: set[int] = field(default_factory=set)

    def units(self) -> Iterator[Unit]:
        """Raises `InvalidRequest` when a target does not exist or holds nothing."""
        for target in self.targets:
            files = self._files(target)
            found = False
            for file, named in files:
                found = True
                if len(self.targets) > 1 and self._repeated(file.uri):
                    continue
                yield from self._units_of(file, named=named)
            if not found and not self.problems:
                raise InvalidRequest(f"{target}: there is no file to ingest in it")
            yield from self._flush()

    def _units_of(self, file: FileRef, *, named: bool) -> Iterator[Unit]:
        kind = PurePosixPath(file.path).suffix.lower()
        try:
            if kind in (".jsonl", ".ndjson") and (named or corpora.is_corpus(file.uri, self.rules)):
                yield from self._flush()
                self.covered.add(file.uri)
                yield from self._lines(file)
            elif kind == ".parquet":
                yield from self._flush()
                self.covered.add(file.uri)
                yield from self._rows(file)
            else:
                self._waiting.append(file)
                if len(self._waiting) >= self.block_items:
                    yield from self._flush()
        except UnreadableItem as error:
            self._problem(file.uri, error.kind, str(error))
        except OSError as error:
            self._problem(file.uri, "unreadable", error.strerror or str(error))

    def _flush(self) -> Iterator[Unit]:
        if self._waiting:
            files, self._waiting = tuple(self._waiting), []
            yield FilesUnit(files=files)

    def _lines(self, file: FileRef) -> Iterator[Unit]:
        batches = corpora.line_batches(
            file.uri,
            rules=self.rules,
            max_lines=self.block_items * 8,
            max_line_bytes=self.max_item_bytes,
        )
        for batch in batches:
            for number, size in batch.too_large:
                reason = f"line {number} has {size:,} bytes; at most {self.max_item_bytes:,}"
                self._problem(f"{file.uri}#L{number}", "too_large", reason, listed=True)
            if batch.records:
                yield LinesUnit(
                    file=file,
                    start=batch.start,
                    stop=batch.stop,
                    first_line=batch.first_line,
                    items=batch.records,
                    ordinals=batch.ordinals,
                )

    def _rows(self, file: FileRef) -> Iterator[Unit]:
        first = 0
        for group, rows in enumerate(corpora.row_groups(file.uri)):
            yield RowsUnit(file=file, row_group=group, first_row=first, rows=rows)
            first += rows

    def _files(self, target: str) -> Iterator[tuple[FileRef, bool]]:
        """Files of a target; the flag tells whether the file itself was named."""
        if target.startswith("file://"):
            target = os.fsdecode(unquote_to_bytes(target.removeprefix("file://")))
        if "://" in target:
            yield from ((self._remote(each, target), each.named) for each in places.listed(target))
        elif os.path.isdir(target):
            yield from ((file, False) for file in self._folder(os.path.abspath(target)))
        elif os.path.exists(target):
            yield from ((file, True) for file in self._single(os.path.abspath(target)))
        elif _GLOB_SIGNS.search(target):
            yield from self._globbed(target)
        else:
            raise InvalidRequest(f"{target}: no such file or folder")

    def _remote(self, each: places.Listed, target: str) -> FileRef:
        if not each.named:
            self.covered.add(each.below)
        return FileRef(uri=each.uri, root=target, path=each.path, size=each.size)

    def _single(self, path: str) -> Iterator[FileRef]:
        """A corpus is a root of its own; of another file the folder is."""
        corpus = path.lower().endswith((".jsonl", ".ndjson", ".parquet"))
        root = path if corpus else os.path.dirname(path)
        yield from self._ref(path, root=os.path.dirname(path), root_uri=file_uri(root))

    def _globbed(self, pattern: str) -> Iterator[tuple[FileRef, bool]]:
        fixed = pattern[: _GLOB_SIGNS.search(pattern).start()]  # type: ignore[union-attr]
        root = os.path.abspath(os.path.dirname(fixed) or ".")
        for found in sorted(glob.glob(pattern, recursive=True), key=os.fsencode):
            path = os.path.abspath(found)
            if os.path.isfile(path) and not SIDECAR.search(path):
                found_here = self._ref(path, root=root, root_uri=file_uri(root))
                yield from ((file, True) for file in found_here)

    def _folder(self, root: str) -> Iterator[FileRef]:
        self.covered.add(file_uri(root))
        yield from self._walk(root, root=root, above=frozenset())

    def _walk(
        self, folder: str, *, root: str, above: frozenset[tuple[int, int]]
    ) -> Iterator[FileRef]:
        try:
            here = os.stat(folder)
            entries = sorted(os.scandir(folder), key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            self.complete = False
            self._problem(file_uri(folder), "unreadable", error.strerror or str(error))
            return
        if (here.st_dev, here.st_ino) in above:
            return
        names = {entry.name for entry in entries}
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _SKIPPED_FOLDERS:
                continue
            mode = self._mode(entry)
            if stat.S_ISDIR(mode):
                inside = above | {(here.st_dev, here.st_ino)}
                yield from self._walk(entry.path, root=root, above=inside)
            elif stat.S_ISREG(mode) and not (
                SIDECAR.search(entry.name) and SIDECAR.sub("", entry.name) in names
            ):
                yield from self._ref(entry.path, root=root, root_uri=file_uri(root))

    def _mode(self, entry: os.DirEntry[str]) -> int:
        """0 for what cannot even be looked at: a link to itself, or to nothing."""
        try:
            return entry.stat().st_mode
        except OSError as error:
            self._problem(file_uri(entry.path), "unreadable", error.strerror or str(error))
            return 0

    def _ref(self, path: str, *, root: str, root_uri: str) -> Iterator[FileRef]:
        """Nothing when the file is gone by now, or out of reach."""
        try:
            size = os.path.getsize(path)
        except OSError as error:
            self._problem(file_uri(path), "unreadable", error.strerror or str(error))
            return
        yield FileRef(
            uri=file_uri(path),
            root=root_uri,
            path=shown(os.path.relpath(path, root)),
            size=size,
            sidecar=_sidecar(path),
        )

    def _repeated(self, uri: str) -> bool:
        known = hash(uri) in self._seen
        self._seen.add(hash(uri))
        return known

    def _problem(self, origin: str, kind: str, reason: str, *, listed: bool = False) -> None:
        self.complete = self.complete and listed
        self.problems.append(
            ItemProblem(origin=origin, stage="load", outcome="failed", kind=kind, reason=reason)
        )


def file_uri(path: str) -> str:
    return "file://" + quote(os.fsencode(path), safe="/:@!$&'()*+,;=~")


def shown(path: str) -> str:
    """A path as text; bytes that are not UTF-8 are written `%FF`."""
    raw = os.fsencode(path)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return quote(raw, safe="/ ")


def _sidecar(path: str) -> str | None:
    names = (f"{path}.meta.{kind}" for kind in ("json", "yaml", "yml"))
    return next((file_uri(name) for name in names if os.path.isfile(name)), None)
