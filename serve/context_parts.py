"""What does a piece of knowledge mean to whoever answers? An order, a fact, a profile, a hint.

hard_constraint   what must be kept to: instructions of the caller, of documents that whoever
                  brought them in tagged `instruction` or `constraint`, and of people in
                  conversations; a page cannot make itself one by its own front matter
session_fact      what was said in the session that is going on
profile           documents tagged `profile` or `preference`
evidence          passages that may be cited, and facts of the project
soft_clue         everything else: it may point somewhere
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import regex

from rerank.citations import CitedPassage

Label = Literal["hard_constraint", "session_fact", "profile", "evidence", "soft_clue"]
LABELS: tuple[Label, ...] = ("hard_constraint", "session_fact", "profile", "evidence", "soft_clue")
"""In the order in which they stand and in which they get room."""

TAGS: Mapping[str, Label] = {
    "instruction": "hard_constraint",
    "constraint": "hard_constraint",
    "profile": "profile",
    "preference": "profile",
}
STANDING_TAGS = tuple(TAGS)
"""Documents with one of these hold whatever the question is."""

_TRUSTED = ("flag", "record")
_BINDING = ("citable", "citable_with_version", "project_fact")
_OTHERS = frozenset({"assistant", "agent", "ai", "bot", "system", "助手", "助理"})
_INSTRUCTION = regex.compile(
    r"^\W*(?:please |from now on,? |remember(?: to| that)? |make sure |note[:,] )?"
    r"(?:always|never|don'?t|do not|only (?:use|answer|reply|write|cite)|answer (?:only )?in"
    r"|reply (?:only )?in|write (?:only )?in|keep (?:it|answers?|replies)|avoid|use only)\b"
    r"|\b(?:you must|you must not|must always|must never|never use|always use)\b"
    r"|^\W*(?:请|以后|今后|从现在起|记住|注意|麻烦)?[,，：:]?(?:一律|务必|必须|不要|别再?|禁止|只能|只用|始终|总是|请用|请勿|切勿)"
    r"|(?:以后|今后|从现在起).{0,12}(?:都|要|用|不要|别)|(?:务必|严禁|切勿|一律)",
    regex.IGNORECASE,
)


def label_of(passage: CitedPassage, *, session: str | None) -> Label:
    """`session` is the one that is going on."""
    citation = passage.citation
    if citation.tags_from in _TRUSTED:
        for tag in citation.tags:
            if tag in TAGS:
                return TAGS[tag]
    if citation.session is not None:
        if is_instruction(passage.text, speaker=citation.speaker):
            return "hard_constraint"
        return "session_fact" if citation.session == session else "soft_clue"
    return "evidence" if citation.quote_policy in _BINDING else "soft_clue"


def is_instruction(text: str, *, speaker: str | None = None) -> bool:
    """Whether somebody tells how to answer or what not to do; an assistant gives no orders."""
    if speaker is not None and speaker.casefold() in _OTHERS:
        return False
    return _INSTRUCTION.search(text) is not None
