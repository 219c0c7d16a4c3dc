"""Where bytes lie: local files, object stores, web addresses; all by URI."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast
from urllib.parse import unquote, unquote_to_bytes, urlsplit

import httpx
import pyarrow as pa  # type: ignore[import-untyped]  # ships no types
import pyarrow.fs  # type: ignore[import-untyped]

from cluster.errors import InvalidRequest, UnreadableItem

_WEB_TIMEOUT_S = 30.0
_MAX_WEB_BYTES = 1 << 30
_WEB_PREFIXES = ("http://", "https://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """`named`: the address is the file itself, not a folder above it. `below` is the address,
    written as in the `uri` of all that it covers."""

    uri: str
    below: str
    path: str
    size: int | None
    named: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage:
    content: bytes
    media_type: str | None
    last_modified: str | None
    url: str


def listed(uri: str) -> Iterator[Listed]:
    """Files at or under an address, by name. An unknown scheme is `InvalidRequest`."""
    if uri.startswith(_WEB_PREFIXES):
        name = unquote(urlsplit(uri).path).strip("/") or "index.html"
        yield Listed(uri=uri, below=uri, path=name, size=None, named=True)
        return
    system, path = _system(uri)
    scheme = uri.split("://", 1)[0]
    with _told(uri):
        info = system.get_file_info(path)
        if info.type == pa.fs.FileType.NotFound:
            raise InvalidRequest(f"{uri}: nothing is there")
        if info.type == pa.fs.FileType.File:
            name = path.rsplit("/", 1)[-1]
            yield Listed(uri=uri, below=uri, path=name, size=info.size, named=True)
            return
        found = system.get_file_info(pa.fs.FileSelector(path, recursive=True))
    for each in sorted(found, key=lambda info: str(info.path)):
        inside = str(each.path)[len(path) :].strip("/")
        hidden = any(part.startswith(".") for part in inside.split("/"))
        if each.type == pa.fs.FileType.File and not hidden:
            yield Listed(
                uri=f"{scheme}://{each.path}",
                below=f"{scheme}://{path}",
                path=inside,
                size=each.size,
                named=False,
            )


def open_bytes(uri: str) -> BinaryIO:
    """Opened for reading from the start, seekable. `UnreadableItem` when that fails."""
    if uri.startswith("file://"):
        try:
            return open(local_path(uri), "rb")
        except OSError as error:
            raise UnreadableItem("unreadable", error.strerror or str(error)) from error
    if uri.startswith(_WEB_PREFIXES):
        return io.BytesIO(fetch(uri, max_bytes=_MAX_WEB_BYTES).content)
    system, path = _system(uri)
    with _told(uri):
        return cast(BinaryIO, io.BufferedReader(system.open_input_file(path)))


def fetch(url: str, *, max_bytes: int) -> WebPage:
    """One page, redirects followed."""
    try:
        with httpx.stream("GET", url, follow_redirects=True, timeout=_WEB_TIMEOUT_S) as answer:
            answer.raise_for_status()
            content = bytearray()
            for part in answer.iter_bytes():
                content += part
                if len(content) > max_bytes:
                    raise UnreadableItem("too_large", f"{url}: more than {max_bytes:,} bytes")
            kind = answer.headers.get("content-type")
            return WebPage(
                content=bytes(content),
                media_type=kind.split(";")[0].strip().lower() if kind else None,
                last_modified=answer.headers.get("last-modified"),
                url=str(answer.url),
            )
    except httpx.HTTPError as error:
        raise UnreadableItem("unreadable", f"{url}: {error}") from error


def local_path(uri: str) -> str:
    return os.fsdecode(unquote_to_bytes(uri.removeprefix("file://")))


def _system(uri: str) -> tuple[pa.fs.FileSystem, str]:
    try:
        system, path = pa.fs.FileSystem.from_uri(uri)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise InvalidRequest(
            f"{uri}: this kind of address cannot be read ({error}); use a path, file://, s3://, "
            "gs://, http:// or https://"
        ) from error
    return system, str(path)


class _told:  # noqa: N801 - reads as a word in `with _told(uri):`
    """Errors of the object store, told with the address."""

    def __init__(self, uri: str) -> None:
        self._uri = uri

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError | pa.ArrowException):
            raise UnreadableItem("unreadable", f"{self._uri}: {error}") from error
