"""What third-party readers raise on damaged input, turned into one error of ours."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from xml.parsers.expat import ExpatError

from lxml.etree import LxmlError  # type: ignore[import-untyped]  # ships no types

from cluster.errors import UnreadableItem

# Readers of binary formats trust their input: damage shows as any of these.
DAMAGE: tuple[type[Exception], ...] = (
    ArithmeticError, AssertionError, AttributeError, EOFError, ExpatError, LookupError, LxmlError,
    NotImplementedError, OSError, RecursionError, RuntimeError, SyntaxError, TypeError,
    ValueError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


@contextmanager
def damage_of(what: str, *more: type[Exception]) -> Iterator[None]:
    """`UnreadableItem("broken")` instead of whatever a reader of `what` raises."""
    try:
        yield
    except (*DAMAGE, *more) as error:
        shown = " ".join(str(error).split())[:200] or type(error).__name__
        raise UnreadableItem("broken", f"damaged {what}: {shown}") from error
