"""An English text with what is asked at its places: shared by the rules of `time_en`."""

from __future__ import annotations

import regex

from serve.plan.time_en_pieces import EnglishPieces
from serve.plan.time_pieces import FLAGS, Piece

SEEN = 40
"""So many characters around it tell whether a word is meant as a time."""

_CUE = regex.compile(
    r"(?:\b(?:in|since|during|until|till|by|before|after|from|through|between|throughout|of|year|"
    r"late|early|mid|on|around|about|circa|and|or|not|than|to|for|last|next|this|past|due)\s+"
    r"(?:the\s+)?|^[\s\"'(=<>]*|[=<>]\s*|\d\s?,\s)$",
    FLAGS,
)
_MONTH_CUE = regex.compile(
    r"(?:\b(?:in|since|during|until|till|by|before|after|from|through|between|throughout|"
    r"late|early|mid|around|last|next|this|past)\s+(?:the\s+)?)$",
    FLAGS,
)
NOT_A_YEAR = regex.compile(
    r"\s*-?(?:users?|people|persons?|rows?|items?|tokens?|requests?|words?|chars?|characters?|bytes?|"
    r"[kmgt]?i?b|ms|px|pixels?|dollars?|usd|euros?|eur|yuan|percent|points?|times|miles?|km|kg|"
    r"meters?|metres?|feet|ft|employees|copies|units?|pages?|lines?|files?|questions?|samples?|"
    r"documents?|records?|entries|stores|customers|calories|steps|connections|nodes|threads)\b",
    FLAGS,
)


_DAY_CUE = regex.compile(
    r"\b(?:on|since|until|till|by|before|after|from|through)\s+(?:the\s+)?$", FLAGS
)


class EnglishReader(EnglishPieces):
    """One text, and whether a reading may stand where it begins."""

    def cued(self, piece: Piece, place: int) -> bool:
        """Whether a reading may stand where it begins: it is no other word."""
        if piece.strong:
            return True
        said = piece.said
        rest = self.text[piece.end : piece.end + SEEN].strip(" .?!\"')")
        before = self.text[max(0, place - SEEN) : place]
        if said.clock is not None:
            return False
        if said.part is not None and not said.dated:
            return False
        if said.year is not None and said.month is None:
            alone = not before.strip(" \"'(=<>") and not rest
            away = (
                self.text[max(0, piece.end - 6) : piece.end]
                .casefold()
                .endswith(("year", "years", "ago"))
            )
            return alone or bool(
                not away and _CUE.search(before) and not NOT_A_YEAR.match(self.text, piece.end)
            )
        if said.day is not None and said.month is None:
            return _whole(before, rest) or bool(_DAY_CUE.search(before))
        if said.weekday is not None and said.day is None:
            return _whole(before, rest) or bool(_DAY_CUE.search(before))
        if said.day is None:
            return _whole(before, rest) or bool(_MONTH_CUE.search(before))
        return _whole(before, rest) or bool(before.strip() and _CUE.search(before))


def _whole(before: str, rest: str) -> bool:
    return not before.strip(" \"'(") and not rest


LEAD = regex.compile(
    r"(?:(?:in|on|at|during|around|about|approximately|for|of)\s+|=\s*)(?P<the>the\s+)?(?=\S)",
    FLAGS,
)
