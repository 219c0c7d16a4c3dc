"""Which legacy charset makes the bytes read like a language?

Shortest description: under each charset, the text is scored by how common its letters are in
each language that is written with them, per byte. Letters of no language cost much, and so
does a capital right after a small letter. Works from about four letters on.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import pairwise

SAMPLE_LETTERS = 4_000
UNKNOWN = -11.0
"""Log-probability of a letter that the language does not use."""

# The commonest characters, most frequent first.
_HAN = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后"
    "作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因"
    "只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应"
    "战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿"
    "原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太"
    "量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界"
    "达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今"
    "切院让识候带导争运配置备份库存服器网络集群版支持默参语句查询列索引户误称功列产价请介绍何间隔略"
    "這個們來為國說時會對過發後裡種經麼學現當沒動還進樣開從實軍無與長機業將兩間問並應戰頭體見產話給電"
    "數報結務場計資統區隊決馬書聽達強難權設記類據邊張該規萬覺術領確傳師觀讓識帶導爭運庫儲備網價請閱讀"
)
_KANA = (
    "のにるたをはしていとがなれあっかもこりすらさまでおきくつけよせじえどそうわだちみばやろげめ"
    "ンスルトリイアラークシドタレジプフマメデコロテニカサパグバッチィナチムオウエュャョダビベセ、。「」・"
)
_KANJI = (
    "日本人年大国会中出一生者行分事社時見上地方自場間今手合目前的話後体部私東学高動子物作名書定設説明"
    "佐藤法用使"
)
_HANGUL = (
    "이다는의에을가고하지한은로를사기서도아나자대시어리인그과일정해있보수으부라제상것스만전구성조주화장원"
    "동용문안경신들여세위우선연방비소마회당오유트개모공관중음게물실식국내니발무생재학체데터베름김철설복된"
    "했습합때면던러거까지역적예입양간교행통금명작미법분산운없반각노진계현요년월드크포르레래려와단및업속"
)
_CYRILLIC = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"
_ALPHABETS: dict[str, str] = {
    "russian": _CYRILLIC,
    "ukrainian": "оанивіртеслкдумпязгьбчйхцжїшюєщфґ",
    "bulgarian": "аоиетнрсвлкдмпзъгубчцжяйшщхюфь",
    "greek": "αοιετσνηυρπκμλωςδγθχφβξζψίάόέήύώϊϋΐΰΆΈΉΊΌΎΏ",
    "hebrew": "יוהלאמרתבשנםקחדעפכטגזסץןצךףְִֵֶַָֹּׁׂ",
    "arabic": "الينمورتبعدسفهكقةحجشأطصخىذئءضثإغظزآؤًٌٍَُِّْپچژگ،؛؟",
    "thai": "านรอกเงมยลวดทตสะปบคหจพชขผธณศถซฐภษฏฒฬฝฉญฟฎฮฆฑฤิีั้่์ไใโแุูืึำ็๊๋ๆฯ",
    "german": "üäößÜÄÖ",
    "french": "éèàêçôîûùâëïœÉÀÇÈÊÔ",
    "spanish": "óáíéñúü¿¡ÁÉÍÓÚÑºª",
    "portuguese": "ãçáéóíêõâàúôÉÁÇÃ",
    "italian": "àèéìòùÈÀ",
    "nordic": "äåöøæéÅÄÖØÆ",
    "icelandic": "áíðóéúöþæýÁÍÓÉÚÖÞÆÝÐ",
    "polish": "łąężśóćńźŁŻŚĆÓŹ",
    "czech": "íáéěýčřžšůúťďňóľäôĺŕČŘŽŠÚÁÍ",
    "hungarian": "éáóöüíőúűÉÁÖÓÜŐÚ",
    "romanian": "ăîâșțşţȘȚÎŞŢ",
    "turkish": "ıüşğçöİŞÇÖÜĞâîû",
    "baltic": "āīēšūžčķļņģėųįąęĀŠŽČŪĒ",
    "croatian": "čšžćđČŠŽĆĐ",
}
_PUNCTUATION = (
    "\u00a0“”‘’„–—…«»°€£§©®™·•№×±²³´¨µ½¼¾†‡‹›，。、；：？！（）《》「」『』【】　％～－・"
    "０１２３４５６７８９"
)
_WESTERN = ("german", "french", "spanish", "portuguese", "italian", "nordic", "icelandic")
_CENTRAL = ("polish", "czech", "hungarian", "romanian", "croatian")
_NOT_LATIN = ("russian", "greek", "hebrew", "arabic", "thai")

# (charset, languages it is used for, handicap against better known ones, bytes per letter)
_CHARSETS: tuple[tuple[str, tuple[str, ...], float, int], ...] = (
    ("gb18030", ("han",), 0.0, 2),
    ("cp950", ("han",), 0.0, 2),
    ("big5hkscs", ("han",), 0.1, 2),
    ("cp932", ("japanese",), 0.0, 2),
    ("euc_jp", ("japanese",), 0.05, 2),
    ("cp949", ("korean",), 0.0, 2),
    ("cp1252", _WESTERN, 0.0, 1),
    ("cp1251", ("russian", "ukrainian", "bulgarian"), 0.0, 1),
    ("koi8_r", ("russian",), 0.05, 1),
    ("koi8_u", ("ukrainian",), 0.05, 1),
    ("cp866", ("russian",), 0.1, 1),
    ("iso8859_5", ("russian", "bulgarian"), 0.1, 1),
    ("mac_cyrillic", ("russian", "ukrainian"), 0.05, 1),
    ("cp1250", (*_CENTRAL, "german"), 0.02, 1),
    ("iso8859_2", _CENTRAL, 0.1, 1),
    ("cp1253", ("greek",), 0.0, 1),
    ("iso8859_7", ("greek",), 0.05, 1),
    ("cp1254", ("turkish",), 0.02, 1),
    ("cp1255", ("hebrew",), 0.0, 1),
    ("iso8859_8", ("hebrew",), 0.05, 1),
    ("cp1256", ("arabic",), 0.0, 1),
    ("iso8859_6", ("arabic",), 0.05, 1),
    ("cp1257", ("baltic",), 0.05, 1),
    ("cp874", ("thai",), 0.0, 1),
    ("mac_roman", ("german", "french", "spanish", "italian"), 0.5, 1),
    ("cp850", ("german", "french", "spanish", "portuguese"), 0.5, 1),
    ("cp437", ("german", "french", "spanish"), 0.6, 1),
)  # fmt: skip


def rank_charsets(sample: bytes) -> list[tuple[float, str]]:
    """`(score, codec)` of every charset that decodes `sample`, best first.

    The score is the mean log-probability per byte above ASCII; about -1.5 to -4 for what
    reads well, under -5 for what does not.
    """
    ranked = []
    for order, (charset, languages, handicap, width) in enumerate(_CHARSETS):
        try:
            text = sample.decode(charset)
        except UnicodeDecodeError:
            continue
        score = _score(text, languages, width) - handicap
        ranked.append((score, -order, charset))
    ranked.sort(reverse=True)
    return [(score, charset) for score, _, charset in ranked]


def cjk_score(text: str) -> float:
    """The score, as above, of a text decoded from two bytes a letter."""
    return _score(text, ("han", "japanese", "korean"), 2) if not text.isascii() else UNKNOWN


def _score(text: str, languages: tuple[str, ...], width: int) -> float:
    letters = [letter for letter in text if letter > "\x7f"][:SAMPLE_LETTERS]
    if not letters:
        return 0.0
    counts = Counter(letters)
    best = max(
        sum(count * _cost(language, letter) for letter, count in counts.items())
        for language in languages
    )
    odd = _swapped_case(text)
    if set(_NOT_LATIN).intersection(languages):
        odd += _inside_latin_words(text)
    return best / len(letters) / width - 6.0 * odd / len(letters)


def _swapped_case(text: str) -> int:
    """Capitals that directly follow a small letter of the same word."""
    return sum(
        after > "\x7f" and after.isupper() and before.islower()
        for before, after in pairwise(text[: 4 * SAMPLE_LETTERS])
    )


def _inside_latin_words(text: str) -> int:
    """Letters above ASCII beside an ASCII letter: "caf" + Hebrew letter is no word."""
    return sum(
        before.isalpha() and after.isalpha() and (before > "\x7f") != (after > "\x7f")
        for before, after in pairwise(text[: 4 * SAMPLE_LETTERS])
    )


def _cost(language: str, letter: str) -> float:
    table = _table(language)
    known = table.get(letter)
    if known is not None:
        return known
    lower = table.get(letter.lower()) if len(letter.lower()) == 1 else None
    if lower is not None:
        return lower - 2.0
    if language in ("han", "japanese") and "\u4e00" <= letter <= "\u9fff":
        return -8.5 if _common_han(letter) else UNKNOWN
    if language == "korean" and "\uac00" <= letter <= "\ud7a3":
        return -8.0 if _encodes(letter, "euc_kr") else UNKNOWN
    if language == "han" and "\u3000" <= letter <= "\u30ff":
        return -9.0
    return UNKNOWN * (2 if language in ("han", "japanese", "korean") else 1)


@cache
def _common_han(letter: str) -> bool:
    """Is it in the first level (about the 4,000 commonest) of a national standard?"""
    levels = (("gb2312", 0xB0, 0xD7), ("big5", 0xA4, 0xC6), ("euc_jp", 0xB0, 0xCF))
    return any(
        _encodes(letter, codec) and first <= letter.encode(codec)[0] <= last
        for codec, first, last in levels
    )


def _encodes(letter: str, codec: str) -> bool:
    try:
        letter.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


@cache
def _table(language: str) -> dict[str, float]:
    if language == "han":
        table = _ranked(_HAN, mass=0.7)
    elif language == "japanese":
        table = {**_ranked(_HAN, mass=0.1), **_ranked(_KANJI, mass=0.2)}
        table.update(_ranked(_KANA, mass=0.65))
    elif language == "korean":
        table = _ranked(_HANGUL, mass=0.85)
    else:
        table = _ranked(_ALPHABETS[language], mass=0.95)
    for mark in _PUNCTUATION:
        table.setdefault(mark, -5.0)
    return table


def _ranked(letters: str, *, mass: float) -> dict[str, float]:
    unique = list(dict.fromkeys(letters))
    weights = [1 / (rank + 6) for rank in range(len(unique))]
    total = sum(weights)
    return {
        letter: math.log(mass * weight / total)
        for letter, weight in zip(unique, weights, strict=True)
    }
