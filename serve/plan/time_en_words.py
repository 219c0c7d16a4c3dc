"""English words of time, as regular expressions and what they mean."""

# ruff: noqa: PLR2004  the numbers of calendar arithmetic have no better names

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import regex

from serve.plan.time_mention import Grain


def any_of(words: Iterable[str]) -> str:
    """An alternation, the longest first; a blank stands for any white space or hyphen."""
    ordered = sorted(words, key=lambda each: (-len(each), each))
    return "(?:" + "|".join(each.replace(" ", r"[\s-]+") for each in ordered) + ")"


MONTHS: Mapping[str, int] = MappingProxyType(
    {
        name: number
        for number, names in enumerate(
            (
                "january jan",
                "february feb",
                "march mar",
                "april apr",
                "may",
                "june jun",
                "july jul",
                "august aug",
                "september sept sep",
                "october oct",
                "november nov",
                "december dec",
            ),
            start=1,
        )
        for name in names.split()
    }
)
WEEKDAYS: Mapping[str, int] = MappingProxyType(
    {
        name: number
        for number, names in enumerate(
            (
                "monday mondays mon",
                "tuesday tuesdays tues tue",
                "wednesday wednesdays weds wed",
                "thursday thursdays thurs thur thu",
                "friday fridays fri",
                "saturday saturdays sat",
                "sunday sundays sun",
            )
        )
        for name in names.split()
    }
)
UNITS: Mapping[str, Grain] = MappingProxyType(
    {
        **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), "second"),
        **dict.fromkeys(("minute", "minutes", "min", "mins", "m"), "minute"),
        **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), "hour"),
        **dict.fromkeys(("day", "days", "d", "night", "nights"), "day"),
        **dict.fromkeys(("week", "weeks", "wk", "wks", "w"), "week"),
        **dict.fromkeys(("month", "months", "mo", "mos"), "month"),
        **dict.fromkeys(("quarter", "quarters", "qtr", "qtrs"), "quarter"),
        **dict.fromkeys(("year", "years", "yr", "yrs", "y"), "year"),
        **dict.fromkeys(("decade", "decades"), "decade"),
        **dict.fromkeys(("century", "centuries"), "century"),
    }
)
SINGLE_UNITS = tuple(
    each for each in UNITS if len(each) > 1 and each[-1] != "s" and each != "night"
)
LONG_UNITS = tuple(each for each in UNITS if len(each) > 1 and not each.startswith("night"))
ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
ORDINAL_ONES = [
    "zeroth",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
]
COUNTS: Mapping[str, int] = MappingProxyType(
    {
        **{word: number for number, word in enumerate(ONES)},
        **{word: 20 + 10 * number for number, word in enumerate(TENS)},
        **{
            f"{tens} {one}": 20 + 10 * place + number
            for place, tens in enumerate(TENS)
            for number, one in enumerate(ONES[:10])
            if number
        },
        "a": 1,
        "an": 1,
        "a couple of": 2,
        "a couple": 2,
        "couple of": 2,
        "couple": 2,
        "a pair of": 2,
        "a few": 3,
        "few": 3,
        "several": 3,
        "a dozen": 12,
    }
)
ORDINALS: Mapping[str, int] = MappingProxyType(
    {
        **{word: number for number, word in enumerate(ORDINAL_ONES) if number},
        "twentieth": 20,
        "thirtieth": 30,
        **{
            f"twenty {word}": 20 + number for number, word in enumerate(ORDINAL_ONES[:10]) if number
        },
        "thirty first": 31,
    }
)
WHICH: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("this", "current", "the current", "this coming"), 0),
        **dict.fromkeys(("next", "the next", "following", "the following", "upcoming"), 1),
        **dict.fromkeys(("coming", "the coming", "the upcoming", "this upcoming"), 1),
        **dict.fromkeys(("last", "the last", "previous", "the previous", "past"), -1),
        **dict.fromkeys(("the past", "this past", "this last", "prior", "the prior"), -1),
    }
)
PARTS: Mapping[str, str] = MappingProxyType(
    {
        "morning": "morning",
        "mornings": "morning",
        "early morning": "early_morning",
        "early in the morning": "early_morning",
        "forenoon": "forenoon",
        "lunch": "lunch",
        "lunchtime": "lunch",
        "lunch time": "lunch",
        "noon": "noon",
        "afternoon": "afternoon",
        "afternoonish": "afternoon",
        "early afternoon": "early_afternoon",
        "late afternoon": "late_afternoon",
        "evening": "evening",
        "early evening": "early_evening",
        "late evening": "late_night",
        "night": "night",
        "late night": "late_night",
        "late at night": "late_night",
        "tonight": "night",
        "tonite": "night",
        "late tonight": "late_night",
        "dinnertime": "dinner",
        "after lunch": "after_lunch",
    }
)
EDGES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("early", "earlier", "the beginning of", "beginning of", "the start of"), "early"
        ),
        **dict.fromkeys(("start of", "early in", "earlier in", "the early part of"), "early"),
        **dict.fromkeys(("mid", "mid-", "middle of", "the middle of", "the midst of"), "mid"),
        **dict.fromkeys(("late", "later", "late in", "later in"), "late"),
        **dict.fromkeys(("the end of", "end of", "the tail end of", "towards the end of"), "end"),
    }
)
SEASONS: Mapping[str, str] = MappingProxyType(
    {
        "spring": "spring",
        "springtime": "spring",
        "summer": "summer",
        "summertime": "summer",
        "autumn": "autumn",
        "fall": "autumn",
        "winter": "winter",
        "wintertime": "winter",
    }
)
_S = "['’]?s?['’]?"
FESTIVALS: Mapping[str, str] = MappingProxyType(
    {
        rf"new year{_S} eve": "new_year_eve",
        rf"(?<!chinese )(?<!lunar )(?<!parsi )(?<!islamic )new year{_S}(?: day)?": "new_year",
        rf"(?:martin luther king|mlk)(?: jr\.?)?{_S}(?:,? day)?": "martin_luther_king",
        rf"groundhog{_S} day": "groundhog",
        rf"(?:abraham )?lincoln{_S} birthday": "lincoln",
        rf"(?:st\.? |saint )?valentine{_S}(?: day)?": "valentine",
        rf"(?:president{_S} day|washington{_S} birthday|daisy gatson bates day)": "presidents",
        rf"(?:international )?women{_S} day": "womens",
        "(?:the )?ides of march": "ides_of_march",
        rf"(?:st\.? |saint )(?:patrick|paddy){_S}(?: day)?": "st_patrick",
        rf"(?:st\.? |saint )george{_S} day": "st_george",
        rf"april fool{_S}(?: day)?": "april_fool",
        "earth day": "earth_day",
        "(?:may day|lei day|loyalty day)": "labour",
        "cinco de mayo": "cinco_de_mayo",
        rf"mother{_S} day": "mothers",
        rf"father{_S} day": "fathers",
        rf"military spouse{_S} day": "military_spouse",
        "(?:memorial|decoration) day": "memorial",
        "juneteenth": "juneteenth",
        "(?:independence day|fourth of july(?! \\d)|4 of july|4th of july)": "independence",
        "canada day": "canada",
        "bastille day": "bastille",
        "anzac day": "anzac",
        rf"labou?r{_S} day": "labor_us",
        rf"grandparent{_S} day": "grandparents",
        "(?:columbus|indigenous peoples['’]?) day": "columbus",
        rf"boss{_S}(?:es)?{_S} day": "boss",
        "hallowe['’]?en(?: day)?": "halloween",
        rf"all saint{_S} day": "all_saints",
        rf"all soul{_S} day": "all_souls",
        r"guy fawkes(?: night| day)?": "guy_fawkes",
        rf"(?:veteran{_S}|armistice|remembrance) day": "veterans",
        "thanks ?giving(?: day)?": "thanksgiving",
        "tax day": "tax",
        rf"(?:king{_S} day|koningsdag)": "kings_nl",
        rf"administrative professional{_S} day|secretar(?:y|ies){_S} day": "administrative",
        "juma(?:t|at|tul|atul)?[ -]?(?:ul[ -])?[vw]i?da|jumu['’]atul[ -]wida|jamat ul[ -]vida": (
            "jumuatul_wida"
        ),
        "black friday": "black_friday",
        "cyber monday": "cyber_monday",
        "(?:christmas|x-?mas) eve": "christmas_eve",
        "(?:christmas|x-?mas)(?: day)?": "christmas",
        "boxing day": "boxing",
        "epiphany": "epiphany",
        "orthodox (?:good|great|holy) friday": "orthodox_good_friday",
        "(?:orthodox )?(?:clean|ash|pure) monday": "orthodox_clean_monday",
        "orthodox shrove monday": "orthodox_clean_monday",
        "(?:orthodox )?great (?:fast|lent)": "orthodox_lent",
        "(?:orthodox )?lazarus saturday": "orthodox_lazarus",
        "orthodox (?:palm|branch) sunday": "orthodox_palm_sunday",
        "orthodox (?:holy|great|black) saturday": "orthodox_holy_saturday",
        "(?:orthodox easter|pascha)(?: sunday| day)?": "orthodox_easter",
        "orthodox easter mon(?:day)?": "orthodox_easter_monday",
        r"(?:shrove tuesday|pancake (?:tues)?day|mardi gras)": "shrove_tuesday",
        "ash wednesday": "ash_wednesday",
        "(?:palm|branch) sunday": "palm_sunday",
        "(?:maundy|holy|covenant|sheer) thursday": "maundy_thursday",
        "(?:good|great|holy) friday": "good_friday",
        "(?:holy|black|easter) saturday|easter eve": "holy_saturday",
        "easter mon(?:day)?": "easter_monday",
        "easter(?: sunday| day)?": "easter",
        "ascension (?:day|thursday)": "ascension",
        "(?:pentecost|whit(?:e|sun)? ?sunday|whitsunday)": "pentecost",
        "(?:whit monday|pentecost monday|monday of the holy spirit)": "whit_monday",
        "trinity sunday": "trinity_sunday",
        "corpus christi": "corpus_christi",
        rf"(?:chinese|lunar) (?:lunar )?new year{_S}(?: day)?|spring festival": "spring",
        "dragon boat (?:festival|day)": "dragon_boat",
        "(?:mid-?autumn|moon) festival": "mid_autumn",
        "lantern festival": "lantern",
        "qingming(?: festival)?": "清明",
        "winter solstice": "冬至",
        "summer solstice": "夏至",
        "yom kippur": "yom_kippur",
        "rosh hash?an+ah?": "rosh_hashanah",
        "(?:c?hann?uk+ah?|hannukk?ah?|festival of lights|feast of dedication)": "hanukkah",
        "(?:sukkot|succot|feast of (?:the )?(?:ingathering|booths|tabernacles))": "sukkot",
        "shemini atzeret": "shemini_atzeret",
        "simch?at torah": "simchat_torah",
        "(?:shavuot|feast of weeks)": "shavuot",
        "(?:passover|pesach)": "passover",
        "purim": "purim",
        "tu bi?shvat": "tu_bishvat",
        "tisha b['’]?av": "tisha_bav",
        "yom ha['’]?atzmaut": "israel_independence",
        "lag b['’]?omer": "lag_baomer",
        "(?:yom hashoah|holocaust (?:remembrance )?day)": "holocaust",
        "(?:the )?(?:ramadan|ramadhan|ramazan)": "ramadan",
        "(?:eid|id) (?:al|ul)[ -]?fitr": "eid_al_fitr",
        "(?:eid|id) (?:al|ul)[ -]?adha|bakr[ -]?id": "eid_al_adha",
        "sacrifice feast|feast of (?:the )?sacrifice": "eid_al_adha",
        "(?:laylat al[ -]qadr|night of (?:measures|power|destiny))": "laylat_al_qadr",
        "(?:isra (?:and|&) mi['’]?raj|the prophet['’]s ascension|the night journey)": "isra",
        "(?:islamic|hijri|muslim) new year": "islamic_new_year",
        "(?:mawlid|milad un[ -]nabi|the prophet['’]s birthday)": "mawlid",
        "day of ashura|ashura": "ashura",
        "daylight savings? (?:time )?start(?: day)?": "dst_start",
        "daylight savings? (?:time )?end(?: day)?": "dst_end",
    }
)
"""How a festival is spelt, as patterns, and its name in `serve.plan.festivals`."""

_BLANK = r"(?<![\[)]) (?!\?)"
FESTIVAL_NAMES = tuple(FESTIVALS.values())
FESTIVAL = "|".join(
    f"(?P<f{place}>{regex.sub(_BLANK, '[ ]+', pattern)})" for place, pattern in enumerate(FESTIVALS)
)

FESTIVAL_STARTS = (
    "chinese|lunar|parsi|islamic|new|martin|mlk|groundhogs?|abraham|lincoln\\w*|st|saint|valentine\\w*"
    "|presidents?|washington\\w*|daisy|international|women\\w*|the|ides|april|earth|lei|loyalty|cinco"
    "|mother\\w*|father\\w*|military|memorial|decoration|juneteenth|independence|canada|bastille"
    "|anzac|labou?r\\w*|grandparent\\w*|columbus|indigenous|boss\\w*|hallowe\\w*|all|guy|veteran\\w*"
    "|armistice|remembrance|thanks\\w*|black|cyber|christmas|x-?mas|boxing|epiphany|orthodox|clean"
    "|ash|pure|great|lazarus|palm|branch|holy|pascha|shrove|pancake|mardi|maundy|covenant|sheer|good"
    "|easter|ascension|pentecost|whit\\w*|monday|trinity|corpus|spring|dragon|mid-?autumn|moon|lantern"
    "|qingming|winter|summer|yom|rosh|c?hann?\\w*|festival|feast|sukkot|succot|shemini|simch?at"
    "|shavuot|passover|pesach|purim|tu|tisha|lag|holocaust|ramadh?an|ramazan|eid|id|sacrifice|bakr"
    "|laylat|night|isra|hijri|muslim|mawlid|milad|day|ashura|daylight|tax|kings?|koningsdag|administrative|secretar\\w*|juma\\w*|jumu|jamat"
)
"""The words that festivals begin with."""

_OTHER_TIME_WORDS = """
today todays yesterday yesterdays tomorrow tomorrows tmrw tmr now weekend weekends fortnight
noon midday midnight eom eoy bom boy asap ago present moment date half quarter twenties thirties
forties fifties sixties seventies eighties nineties q h cy fy c far possible daily weekly
monthly yearly annually hourly quarterly immediately thousand hundred week day birthday
valentine valentines patrick patricks paddy paddys fool fools juneteenth mayo halloween hallowe
thanksgiving giving christmas xmas mas epiphany lent fast pascha gras easter ascension pentecost
whitsunday christi festival qingming solstice kippur hashanah hashana hashanna hanukkah chanukah
hannukkah hannukah chanukkah lights dedication sukkot succot booths tabernacles ingathering
atzeret torah shavuot passover pesach purim bishvat av atzmaut haatzmaut omer hashoah ramadan
ramadhan ramazan fitr adha sacrifice id qadr measures power destiny raj miraj journey mawlid
nabi ashura start end koningsdag wida vida fawkes ides
"""
TIME_WORDS = frozenset(
    word
    for table in (MONTHS, WEEKDAYS, LONG_UNITS, PARTS, SEASONS, ONES[2:], TENS, ORDINAL_ONES[2:])
    for phrase in table
    for word in phrase.split()
    if word not in {"in", "the", "at", "after", "late", "early"}
) | frozenset(_OTHER_TIME_WORDS.split())
"""Without one of these, or a number, no time is told."""

MONTH = any_of(MONTHS) + r"(?!\p{L})\.?"
WEEKDAYS_OFTEN = any_of(each for each in WEEKDAYS if each.endswith("days")) + r"\b"
WEEKDAY = any_of(WEEKDAYS) + r"\b\.?"
UNIT = any_of(LONG_UNITS) + r"\b"
ANY_UNIT = any_of(UNITS) + r"\b"
ONE_UNIT = any_of(SINGLE_UNITS) + r"\b"
COUNT = any_of(COUNTS)
ORDINAL = rf"(?:\d{{1,2}}[ ]?(?:st|nd|rd|th)|{any_of(ORDINALS)})\b"
DAY_NUMBER = any_of(
    f"{word}" for word, number in COUNTS.items() if word[0] not in "ac" and 0 < number < 32
)
YEAR_WORDS = (
    rf"(?:two[\s-]thousand(?:[\s-](?:and[\s-])?{any_of(w for w, n in COUNTS.items() if n < 100)})?"
    rf"|(?:eighteen|nineteen|twenty)[\s-](?:hundred(?:[\s-](?:and[\s-])?)?[\s-]?)?"
    rf"{any_of(w for w, n in COUNTS.items() if 9 < n < 100)})\b"
)

_BLANKS = regex.compile(r"[\s-]+")


def plain(text: str) -> str:
    """As the tables spell it."""
    return _BLANKS.sub(" ", text.casefold()).strip(" .")


def count_of(text: str) -> int:
    text = plain(text)
    return int(text) if text.isdigit() else COUNTS[text]


def ordinal_of(text: str) -> int:
    digits = regex.match(r"\d+", text)
    return int(digits.group()) if digits else ORDINALS[plain(text)]


def year_of_words(text: str) -> int:
    """ "two thousand and five", "nineteen eighty six", "twenty twenty"."""
    words = [each for each in plain(text).split() if each not in {"and", "hundred"}]
    if words[:2] == ["two", "thousand"]:
        return 2000 + (COUNTS[" ".join(words[2:])] if words[2:] else 0)
    return 100 * COUNTS[words[0]] + (COUNTS[" ".join(words[1:])] if words[1:] else 0)
