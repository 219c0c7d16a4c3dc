"""What a path tells: the product and its version, and the path without them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_NUMBER = r"\d+(?:\.\d+)*(?:\.x)?(?:[-.]?(?:rc|beta|alpha|dev|post)[-.]?\d*)?"
_PLAIN = re.compile(rf"v(?P<version>{_NUMBER})|(?P<dotted>\d+(?:\.\d+)+(?:\.x)?)", re.IGNORECASE)
_NAMED = re.compile(
    rf"(?P<name>[^\W\d][\w.+]*?(?:[-_][^\W\d]\w*)*)[-_@]v?(?P<version>{_NUMBER})", re.I
)
_GENERIC = frozenset(
    (
        "api",
        "app",
        "apps",
        "article",
        "articles",
        "blog",
        "book",
        "branch",
        "branches",
        "content",
        "contents",
        "corpus",
        "data",
        "doc",
        "docs",
        "document",
        "documents",
        "documentation",
        "en",
        "example",
        "examples",
        "file",
        "files",
        "guide",
        "guides",
        "help",
        "html",
        "latest",
        "main",
        "manual",
        "manuals",
        "master",
        "md",
        "page",
        "pages",
        "reference",
        "rel",
        "release",
        "releases",
        "site",
        "source",
        "sources",
        "src",
        "stable",
        "static",
        "tag",
        "tags",
        "text",
        "texts",
        "trunk",
        "tutorial",
        "tutorials",
        "v",
        "ver",
        "version",
        "versioned",
        "versioned_docs",
        "versions",
        "web",
        "website",
        "wiki",
        "www",
        "zh",
        "zh-cn",
        "zh_cn",
    )
)
_NUMBERED_PARTS = frozenset(
    (
        "chapter",
        "fig",
        "figure",
        "lesson",
        "part",
        "section",
        "table",
        "unit",
        "week",
        "day",
        "step",
    )
)
_CODE = (
    ".py",
    ".js",
    ".ts",
    ".go",
    ".rs",
    ".java",
    ".c",
    ".h",
    ".cc",
    ".cpp",
    ".cs",
    ".rb",
    ".php",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathFacts:
    """`path` is what stays when the segment that tells the version is taken out."""

    path: str
    product: str | None = None
    version: str | None = None


def path_facts(path: str, *, root_name: str = "") -> PathFacts:
    """From the folders of `path` (innermost first), else from the name of the root folder.

    `v2.3`, `2.3.1`, `docs-7.5`, `release-6.5`, `nimbus-2.0` tell a version; the folder above
    a bare version, or the name before the number, tells the product unless it is a word that
    every project uses. A bare `v2` in the path of source code is an interface, not a version.
    """
    *folders, name = path.split("/")
    code = name.lower().endswith(_CODE)
    for index in range(len(folders) - 1, -1, -1):
        found = _version_of(folders[index], code=code)
        if found is not None:
            named, version = found
            rest = "/".join((*folders[:index], *folders[index + 1 :], name))
            product = named or _product_above(folders[:index])
            return PathFacts(path=rest, product=product, version=version)
    found = _version_of(root_name, code=code) if root_name else None
    if found is not None:
        return PathFacts(path=path, product=found[0], version=found[1])
    return PathFacts(path=path)


def plain_version(version: str) -> str:
    """`v2.3` and `2.3` are one edition."""
    version = " ".join(version.split())
    return version[1:] if re.match(r"[vV]\d", version) else version


def _version_of(segment: str, *, code: bool) -> tuple[str | None, str] | None:
    plain = _PLAIN.fullmatch(segment)
    if plain is not None:
        version = plain["version"] or plain["dotted"]
        return None if code and "." not in version else (None, version)
    named = _NAMED.fullmatch(segment)
    if named is None or named["name"].lower() in _NUMBERED_PARTS:
        return None
    generic = named["name"].lower() in _GENERIC
    if not generic and "." not in named["version"]:
        return None
    return (None if generic else named["name"].lower()), named["version"]


def _product_above(folders: Sequence[str]) -> str | None:
    for folder in reversed(folders):
        if folder.lower() not in _GENERIC:
            return folder.lower()
    return None
