"""Does a place say something itself, or retell what somebody else said?"""

from __future__ import annotations

import regex

_SAYS = regex.compile(
    r"\baccording to\b|\bas (?:reported|quoted|cited|stated) (?:by|in)\b|\bquot(?:es|ed|ing)\b"
    r"|\breportedly\b|\b(?:he|she|they|it) (?:said|says|claims|claimed|told)\b"
    r"|\b(?:says|said|claims|claimed) that\b"
    r"|据[^，。]{1,20}(?:报道|称|介绍|说|透露|消息)|援引|转引|引述|引自|转载自|听说|据说|据悉|[他她]们?(?:说|称|表示)",
    regex.IGNORECASE,
)


def is_retold(text: str, start: int, end: int) -> bool:
    """`text[start:end]` names another as the one who says it, or stands in a quotation block
    that does. A note (`> **Note**`) is the document's own word."""
    if _SAYS.search(text, start, end) is not None:
        return True
    line = text.rfind("\n", 0, start) + 1
    if not text[line:end].lstrip().startswith(">"):
        return False
    block = _quotation(text, line)
    return (
        regex.search(r">\s*(?:—|--|–)\s*\S|" + _SAYS.pattern, block, regex.IGNORECASE) is not None
    )


def _quotation(text: str, line: int) -> str:
    """The whole block of quoted lines around the line that begins at `line`."""
    first = line
    while first > 0:
        before = text.rfind("\n", 0, first - 1) + 1
        if not text[before:first].lstrip().startswith(">"):
            break
        first = before
    lines = []
    for each in text[first:].split("\n"):
        if not each.lstrip().startswith(">"):
            break
        lines.append(each)
    return "\n".join(lines)
