"""What a part's exit status means to the supervisor."""

from __future__ import annotations

PERMANENT = 78
"""`EX_CONFIG`: starting again would not help; the last line of the log says what would."""
