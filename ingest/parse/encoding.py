"""Which characters do these bytes mean?

Order of belief: byte order mark, the pattern of zero bytes, strict UTF-8, the charset that
the file declares, escape sequences of ISO-2022, and only then a guess by statistics.
"""

from __future__ import annotations

import codecs
import logging
import re
from dataclasses import dataclass

from charset_normalizer import from_bytes

from cluster.errors import UnreadableItem
from ingest.parse.charsets import cjk_score, rank_charsets

SAMPLE_BYTES = 65_536
"""How much of a legacy-encoded file the guess looks at."""

# UTF-32-LE comes before UTF-16-LE, whose mark is its beginning.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(
    rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{2,40})["']"""
    rb"""|<meta[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:-]{2,40})"""
    rb"""|^(?:\#|//|"|;)[^\n]{0,80}?coding[:=]\s*([\w.-]{2,40})""",
    re.IGNORECASE | re.MULTILINE,
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_CONTROL_BYTES = bytes({*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F})
_ESCAPES = re.compile(rb"\x1b\$[@AB]|\x1b\([BJ]|\x1b\$\)C")
_SURROGATE = re.compile("[\ud800-\udfff]")
# What browsers do with these names; the superset decodes the subset's files too.
_WIDER = {
    "gb2312": "gb18030", "gbk": "gb18030", "cp936": "gb18030", "hz": "gb18030",
    "iso8859-1": "cp1252", "latin-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254",
    "shift_jis": "cp932", "euc_kr": "cp949", "big5": "cp950", "iso8859-8": "cp1255",
    "tis-620": "cp874",
}  # fmt: skip
_MAX_CONTROL = 0.02
_MAX_UNPRINTABLE = 0.02
_MAX_BROKEN_UTF8 = 50
_ALL_ZERO, _NEARLY_ZERO = 0.99, 0.9
READS_WELL = -5.5
"""Score of `rank_charsets` above which its first charset is taken without asking further."""

logging.getLogger("charset_normalizer").setLevel(logging.ERROR)


@dataclass(frozen=True, slots=True)
class Decoded:
    """`text` is clean (see `clean`); `encoding` is a Python codec name."""

    text: str
    encoding: str
    notes: tuple[str, ...] = ()


def decode(content: bytes, *, declared: str | None = None) -> Decoded:
    """Bytes of a text file as text.

    `declared` is a charset from outside (an HTTP header, a MIME part); one inside the file
    (XML declaration, `<meta charset>`, coding line) is found here. Raises
    `UnreadableItem("empty")` for nothing, `("binary")` for what is no text.
    """
    if not content.strip(b"\x00 \t\r\n\x0b\x0c"):
        raise UnreadableItem("empty", "the file is empty or holds only white space")
    found = (
        _by_mark(content)
        or _by_zeros(content)
        or _by_escapes(content)
        or _by_utf8(content)
        or _by_declaration(content, declared)
        or _by_wide_letters(content)
    )
    if found is None:
        _refuse_binary(content)
        found = _by_statistics(content)
    text = clean(found.text)
    if not text.strip():
        raise UnreadableItem("empty", "the file is empty or holds only white space")
    _refuse_control(found.text)
    return Decoded(text, found.encoding, found.notes)


def clean(text: str) -> str:
    """`\\n` as the only line end; no NUL and other control characters, lone surrogates or BOM."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\x85", "\n").replace("\x0c", "\n").removeprefix("\ufeff")
    text = _CONTROL.sub("", text)
    return _SURROGATE.sub("\ufffd", text)


def _by_mark(content: bytes) -> Decoded | None:
    for mark, name in _MARKS:
        if content.startswith(mark):
            try:
                return Decoded(content[len(mark) :].decode(name), name)
            except UnicodeDecodeError:
                if name.startswith("utf-32"):
                    continue
                text = content[len(mark) :].decode(name, "replace")
                return Decoded(text, name, ("some bytes could not be decoded",))
    return None


def _by_zeros(content: bytes) -> Decoded | None:
    """UTF-16 and UTF-32 without a mark: zero bytes lie at fixed places."""
    sample = content[:SAMPLE_BYTES]
    size = len(sample) // 4 * 4
    if not size or b"\0" not in sample:
        return None
    zeros = [sample[place:size:4].count(0) / (size / 4) for place in range(4)]
    candidates = []
    if zeros[3] > _ALL_ZERO and zeros[2] > _NEARLY_ZERO:
        candidates.append("utf-32-le")
    if zeros[0] > _ALL_ZERO and zeros[1] > _NEARLY_ZERO:
        candidates.append("utf-32-be")
    odd, even = zeros[1] + zeros[3], zeros[0] + zeros[2]
    candidates.append("utf-16-le" if odd >= even else "utf-16-be")
    for name in candidates:
        width = 4 if "32" in name else 2
        try:
            text = content[: len(content) // width * width].decode(name)
        except UnicodeDecodeError:
            continue
        if _looks_written(text[:SAMPLE_BYTES]):
            return Decoded(text, name)
    return None


def _looks_written(text: str) -> bool:
    """Few control characters, few unassigned ones, and some white space or known letters."""
    if not text:
        return False
    odd = sum(not (c.isprintable() or c in "\r\n\t\f\ufeff") for c in text)
    return odd / len(text) < _MAX_UNPRINTABLE


def _by_utf8(content: bytes) -> Decoded | None:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return Decoded(text, "utf-8")
    # A few broken bytes in a text whose other sequences are right: still UTF-8.
    text = content.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    sound = sum(letter > "\x7f" for letter in text[:SAMPLE_BYTES]) - broken
    if broken <= _MAX_BROKEN_UTF8 and sound >= 20 * broken:
        return Decoded(text, "utf-8", (f"{broken} bytes are not valid UTF-8",))
    return None


def _by_declaration(content: bytes, declared: str | None) -> Decoded | None:
    names = [declared] if declared else []
    inside = _DECLARED.search(content[:4096])
    if inside:
        names.append(next(g for g in inside.groups() if g).decode("ascii", "replace"))
    for name in names:
        try:
            known = codecs.lookup(name).name
            known = _WIDER.get(known, known)
            text = content.decode(known)
        except (LookupError, UnicodeError, ValueError):
            continue
        if isinstance(text, str) and _looks_written(text[:SAMPLE_BYTES]):
            return Decoded(text, known)
    return None


def _by_escapes(content: bytes) -> Decoded | None:
    if not _ESCAPES.search(content[:SAMPLE_BYTES]) or not content.isascii():
        return None
    for name in ("iso2022_jp_2", "iso2022_kr"):
        try:
            return Decoded(content.decode(name), name)
        except UnicodeDecodeError:
            continue
    return None


def _by_wide_letters(content: bytes) -> Decoded | None:
    """UTF-16 without a mark and without any ASCII letter, as in a purely Chinese text."""
    if len(content) % 2:
        return None
    ranked = rank_charsets(_sample(content))
    bar = max(READS_WELL, ranked[0][0]) if ranked else READS_WELL
    for name in ("utf-16-le", "utf-16-be"):
        try:
            text = content.decode(name)
        except UnicodeDecodeError:
            continue
        if cjk_score(text[:SAMPLE_BYTES]) > bar:
            return Decoded(text, name)
    return None


def _refuse_binary(content: bytes) -> None:
    sample = content[:SAMPLE_BYTES]
    control = len(sample) - len(sample.translate(None, _CONTROL_BYTES))
    if control > _MAX_CONTROL * len(sample):
        raise UnreadableItem("binary", "binary data, not text in any known encoding")


def _refuse_control(text: str) -> None:
    sample = text[:SAMPLE_BYTES]
    if len(_CONTROL.findall(sample)) > max(8, 0.1 * len(sample)):
        raise UnreadableItem("binary", "mostly control characters; not a text")


def _by_statistics(content: bytes) -> Decoded:
    name = _guess(_sample(content))
    try:
        return Decoded(content.decode(name), name)
    except UnicodeDecodeError:
        text = content.decode(name, "replace")
    broken = text.count("\ufffd")
    if broken > 0.01 * len(text):
        raise UnreadableItem("encoding", "no known encoding fits; convert the file to UTF-8")
    return Decoded(text, name, (f"{broken} characters could not be decoded as {name}",))


def _sample(content: bytes) -> bytes:
    """The lines with bytes above ASCII, up to the sample size; whole lines only, so that no
    character is cut."""
    if len(content) <= SAMPLE_BYTES:
        return content
    kept, size = [], 0
    for line in content[: 64 * SAMPLE_BYTES].split(b"\n"):
        if line.isascii() or len(line) > SAMPLE_BYTES:
            continue
        kept.append(line)
        size += len(line) + 1
        if size > SAMPLE_BYTES:
            break
    return b"\n".join(kept) or content[:SAMPLE_BYTES]


def _guess(sample: bytes) -> str:
    ranked = rank_charsets(sample)
    if ranked and ranked[0][0] >= READS_WELL:
        return ranked[0][1]
    best = from_bytes(sample, enable_fallback=False).best()
    if best is not None:
        return best.encoding
    return ranked[0][1] if ranked else "cp1252"
