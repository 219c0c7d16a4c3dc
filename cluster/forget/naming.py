"""What names a thing that was forgotten, and where it is named."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from urllib.parse import unquote, urlsplit

from cluster.stores.protocols.forgetting import Holding, Needles, Selector

NAME_CHARS = 4
"""A shorter path or title is a word that anything may contain."""

TELLING_CHARS = 12
"""From here on a name is looked for inside of texts, too."""

SAMPLE_CHARS = 24
SAMPLES = 64
"""Sentences, and as many names and ids, that are looked for inside of texts."""

GONE = "(forgotten)"

WHOSE = ("owner", "agent")
"""Arguments of a run that stay, unless the owner is forgotten: they tell whose it was."""

_POSITION = re.compile(r" \([^()]*\)$")
_OTHER = re.compile(r" as (.+?); only that one")


def names_of(holding: Holding) -> list[str]:
    """Origin, its path, the logical path and the title."""
    named = (holding.path, holding.title, path_of(holding.origin))
    return [holding.origin, *(name for name in named if len(name) >= NAME_CHARS)]


def path_of(origin: str) -> str:
    """Empty where it is no address."""
    return unquote(urlsplit(origin).path) if "://" in origin else ""


def sentences_of(text: str, *, limit: int = 2) -> list[str]:
    """The longest lines, which are the likeliest to be said nowhere else."""
    lines = {line.strip() for line in text.splitlines()}
    long = sorted((line for line in lines if len(line) >= SAMPLE_CHARS), key=lambda x: (-len(x), x))
    return [line[:200] for line in long[:limit]]


def needles_of(holdings: Sequence[Holding]) -> Needles:
    """All ids and names; of sentences and long names so many as can be looked for in texts."""
    ids = sorted({each for one in holdings for each in _ids(one)})
    names = sorted({name for one in holdings for name in names_of(one) if name})
    sentences = sorted({line for one in holdings for line in sentences_of(one.text)})
    told = [name for name in names if len(name) >= TELLING_CHARS]
    documents = sorted({one.document_id for one in holdings})
    samples = (*spread(sentences, SAMPLES), *spread(told, SAMPLES), *spread(documents, SAMPLES))
    return Needles(ids=tuple(ids), names=tuple(names), samples=samples)


def spread(values: Sequence[str], limit: int) -> list[str]:
    """At most `limit` of them, evenly from the first to the last."""
    if len(values) <= limit:
        return list(values)
    return [values[at * len(values) // limit] for at in range(limit)]


def names_it(text: str, names: Collection[str], samples: Iterable[str]) -> bool:
    """Whether a line of `text` is one of `names`, as it is or with its place in a file, or a
    sample is part of it."""
    if any(line in names or _POSITION.sub("", line) in names for line in text.splitlines()):
        return True
    other = _OTHER.search(text)
    if other and (other[1] in names or _POSITION.sub("", other[1]) in names):
        return True
    return any(sample in text for sample in samples)


def scrubbed(
    arguments: Mapping[str, str], needles: Needles, names: Collection[str], selector: Selector
) -> dict[str, str]:
    """What was said of a run, without what names the forgotten. Whose run it was stays, unless
    the owner is what was forgotten."""
    clean = {}
    for key, value in arguments.items():
        named = key == selector.kind and value == selector.value
        if named or (key not in WHOSE and names_it(value, names, needles.samples)):
            clean[key] = GONE
        else:
            clean[key] = value
    return clean


def emptied(arguments: Mapping[str, str], selector: Selector) -> dict[str, str]:
    """All that was said of an upload, gone but for whose it was and who may see it."""
    kept = {key: value for key, value in arguments.items() if key in WHOSE}
    if selector.kind == "owner":
        kept = dict.fromkeys(kept, GONE)
    return {**kept, "name": GONE}


def is_upload(arguments: Mapping[str, str]) -> bool:
    return "name" in arguments and "targets" not in arguments


def upload_meant(
    *, name: str, arguments: Mapping[str, str], names: Collection[str], selector: Selector
) -> bool:
    """Whether bytes that wait are what was forgotten: by owner or source, or by their place."""
    if arguments.get(selector.kind) == selector.value and selector.kind in ("owner", "source"):
        return True
    called = arguments.get("path") or name
    place = f"upload:{arguments.get('owner', '')}/{called}"
    return any(each == place or each.startswith(f"{place}?") for each in names)


def _ids(holding: Holding) -> tuple[str, ...]:
    return (holding.revision_id, holding.document_id, *holding.chunk_ids)
