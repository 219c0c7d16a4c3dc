"""When is a heading or a title the name that a question has? The same for every ledger.

PostgreSQL has the same two functions, `folded_name` and `first_word`, in a migration: its indexes
hold their results.
"""

from __future__ import annotations

import re
import string

BREAKS = " \t\u00a0\u3000(（<[【「"
"""What may stand behind a name at the beginning of a heading."""

_FOLDED = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_FIRST = re.compile(f"[^{re.escape(BREAKS)}]*")


def folded_name(name: str) -> str:
    """In small letters, as far as they are ASCII."""
    return name.translate(_FOLDED)


def first_word(name: str) -> str:
    """Up to the first break, folded."""
    found = _FIRST.match(name)
    return folded_name(found.group() if found else "")


def is_named(heading: str, name: str) -> bool | None:
    """True: it is the name; False: it begins with it, and a break follows; None: neither."""
    held, asked = folded_name(heading), folded_name(name)
    if held == asked:
        return True
    begins = bool(asked) and held.startswith(asked) and held[len(asked)] in BREAKS
    return False if begins else None
