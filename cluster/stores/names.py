"""When is a heading or a title the name that a question has? The same for every ledger.

Compared without case in ASCII, by the first 200 characters: PostgreSQL has the function
`folded_name`, too, in a migration, and an index of what it gives.
"""

from __future__ import annotations

import string
from collections.abc import Iterable

BREAKS = " \t\u00a0\u3000(（<[【「"
"""What may stand behind a name at the beginning of a heading."""

MAX_CHARS = 200
_LAST = "\U0010ffff"
_FIRST = "\x01"
_FOLDED = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def folded_name(name: str) -> str:
    """The beginning, in small letters as far as they are ASCII."""
    return name.translate(_FOLDED)[:MAX_CHARS]


def is_named(heading: str, name: str) -> bool | None:
    """True: it is the name; False: it begins with it, and a break follows; None: neither."""
    held, asked = folded_name(heading), folded_name(name)
    if held == asked:
        return True
    begins = bool(asked) and held.startswith(asked) and held[len(asked)] in BREAKS
    return False if begins else None


def ranges_of(names: Iterable[str]) -> list[tuple[str, str, str]]:
    """(folded name, low, high) for each name and each way to be named so: what is named so lies
    from `low` to before `high` by code points; `low` is the name where it is the whole."""
    folded = dict.fromkeys(folded_name(name) for name in names)
    return [
        each
        for name in folded
        for each in (
            (name, name, name + _FIRST),
            *((name, name + mark, name + mark + _LAST) for mark in BREAKS),
        )
    ]
