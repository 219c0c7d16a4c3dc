"""Which language is a text in? The script says it first, function words where it does not.

Detectors by statistics err on short questions, so Latin script without strong evidence of
another language is English.
"""

from __future__ import annotations

from collections.abc import Mapping

import regex

from cluster.text.function_words import is_function_word

UNDETERMINED = "und"
SAMPLE_CHARS = 20_000
"""So much of the beginning of a text is looked at."""

MIN_KANA_SHARE = 0.15
"""Of Han and kana together, for Japanese; Chinese texts quote a little kana."""

MIN_CJK_SHARE = 0.15
"""Characters for each Latin word, in a Chinese or Japanese text full of code."""

MIN_WORDS = 5
MIN_FUNCTION_SHARE = 0.18
MIN_DIFFERENT = 3
MIN_ADVANTAGE = 1.5
"""A Latin-script language other than English: so many words in the text, this share of them
function words of that language, so many different ones, and so many times as many of them as
of English."""

_SCRIPTS: Mapping[str, str] = {
    "ko": r"\p{Hangul}",
    "ru": r"\p{Cyrillic}",
    "ar": r"\p{Arabic}",
    "he": r"\p{Hebrew}",
    "el": r"\p{Greek}",
    "th": r"\p{Thai}",
    "lo": r"\p{Lao}",
    "km": r"\p{Khmer}",
    "my": r"\p{Myanmar}",
    "hi": r"\p{Devanagari}",
    "bn": r"\p{Bengali}",
    "ta": r"\p{Tamil}",
    "te": r"\p{Telugu}",
    "ka": r"\p{Georgian}",
    "hy": r"\p{Armenian}",
    "am": r"\p{Ethiopic}",
}
_ONE_SCRIPT = {code: regex.compile(script) for code, script in _SCRIPTS.items()}
_ANY_SCRIPT = regex.compile(f"[{''.join(_SCRIPTS.values())}]")
_HAN = regex.compile(r"[\p{Han}\u3007]")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
_LATIN_WORD = regex.compile(r"\p{Latin}[\p{Latin}\p{M}'\u2019_.\d-]*")
_UKRAINIAN = regex.compile(r"[іїєґІЇЄҐ]")
_RUSSIAN_ONLY = regex.compile(r"[ыэёъЫЭЁЪ]")
_PERSIAN = regex.compile(r"[پچژگیک]")
_ARABIC_ONLY = regex.compile(r"[ةيكىإأ]")
_CHARS_PER_WORD = 5

_LATIN: Mapping[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "de": "der die das und ist nicht ein eine einen mit von zu den dem des für auf wie wird "
        "werden auch sich im kann sind aus bei nach wenn oder ich wir sie wo warum welche über",
        "fr": "le la les des et est une un dans pour pas que qui sur avec ce cette il elle nous "
        "vous sont du au aux en par plus ne se où comment quel quelle l d c'est être",
        "es": "el la los las y es una un en para no que con por se del al lo como más su son "
        "está pero cómo qué cuál dónde cuándo este esta de ser puede",
        "pt": "o a os as e é uma um em para não que com por se do da dos das no na como mais ao "
        "são está mas onde quando qual este esta de ser pode você",
        "it": "il lo la i gli le e è una un in per non che con si del della di da come più sono "
        "nel nella come si ma dove quando quale questo questa essere può anche",
        "nl": "de het een en is niet van te dat die voor met op zijn in aan er als ook bij maar "
        "hoe wat waar kan worden naar dit deze",
        "sv": "och att det som en ett är inte på för med av den till har kan om de hur vad var "
        "från eller",
        "da": "og at det som en et er ikke på for med af den til har kan om de hvordan hvad hvor "
        "fra eller jeg",
        "pl": "i w na nie się że z do jest to jak co dla od po czy są o przez może gdzie kiedy "
        "oraz",
        "tr": "ve bir bu için ile de da ne mi nasıl olarak çok daha gibi olan değil nedir var",
        "vi": "là và của có không được cho một các những với trong này như thế nào để khi người "
        "đã từ",
        "id": "yang dan di dari untuk dengan ini itu adalah pada tidak ke apa bagaimana dalam "
        "akan atau oleh",
        "cs": "a v na je se že z do to jak pro od po jsou nebo když který která jako ale",
        "fi": "ja on ei se että oli hän mutta kuin tai ovat mitä miten missä joka",
        "hu": "a az és hogy nem egy is van mint de meg ez hol mikor hogyan milyen",
        "ro": "și de la în cu pe nu este un o care pentru din mai ce cum sunt unde",
    }.items()
}


def detect_language(text: str) -> str:
    """ISO 639-1 code by script first: a share of Han characters tells `zh`; `und` without
    letters. Only the first `SAMPLE_CHARS` characters are looked at."""
    sample = text[:SAMPLE_CHARS]
    words = [word.casefold().replace("\u2019", "'") for word in _LATIN_WORD.findall(sample)]
    if sample.isascii():
        return _latin_language(words) if words else UNDETERMINED
    weights = _weights(sample, words)
    code = max(weights, key=lambda name: weights[name])
    if not weights[code]:
        return UNDETERMINED
    return _latin_language(words) if code == "latin" else _refined(code, sample)


def _weights(sample: str, words: list[str]) -> dict[str, float]:
    """How much of each script there is, in words of Latin."""
    han, kana = len(_HAN.findall(sample)), len(_KANA.findall(sample))
    japanese = kana > 0 and kana >= MIN_KANA_SHARE * (han + kana)
    weights = {
        "zh": 0.0 if japanese else float(han + kana),
        "ja": float(han + kana) if japanese else 0.0,
        "latin": _latin_weight(words, characters=han + kana),
    }
    if _ANY_SCRIPT.search(sample):
        for code, script in _ONE_SCRIPT.items():
            weights[code] = len(script.findall(sample)) / _CHARS_PER_WORD
    return weights


def _latin_weight(words: list[str], *, characters: int) -> float:
    """Nothing for names and code in a Chinese or Japanese text. English function words speak
    for English, for they frame a sentence that quotes a foreign name."""
    framing = sum(is_function_word(word) for word in words)
    quoted = characters >= MIN_CJK_SHARE * len(words) and characters > 2 * framing
    return 0.0 if quoted else float(len(words) + framing)


def _refined(code: str, sample: str) -> str:
    """Languages that share a script and are told by letters that only one of them has."""
    if code == "ru" and _UKRAINIAN.search(sample) and not _RUSSIAN_ONLY.search(sample):
        return "uk"
    if code == "ar" and _PERSIAN.search(sample) and not _ARABIC_ONLY.search(sample):
        return "fa"
    return code


def _latin_language(words: list[str]) -> str:
    if len(words) < MIN_WORDS:
        return "en"
    english = sum(is_function_word(word) for word in words)
    counts = {code: sum(word in known for word in words) for code, known in _LATIN.items()}
    best = max(counts, key=lambda code: counts[code])
    enough = (
        counts[best] >= MIN_FUNCTION_SHARE * len(words)
        and len(_LATIN[best].intersection(words)) >= MIN_DIFFERENT
        and counts[best] >= MIN_ADVANTAGE * english
    )
    return best if enough else "en"
