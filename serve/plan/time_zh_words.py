"""Chinese words of time, as regular expressions and what they mean; in simplified characters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import regex

from serve.plan.time_mention import Grain
from serve.plan.time_units import Unplaced

_TRADITIONAL = (
    "個週禮號點鐘後時間現這兩節國慶聖誕復舊曆陰陽農淩淸歲過來還從開當內幾婦兒軍親師萬獻黨獨紀達臘龍聽尋齋贖靈樹勞動護統驚蟄穀"
    "處種燈馬願爾猶燭難蘭歡產權黃際約經豐為東歸會沈晝於歷樂長續懺誦轉頭與貞觀順臨儀餘倆淨廳雙臺葉啟鹹學寧寶實總託損數曉機殺條"
    "樓毀潔遊電禎穌級線絡緒網聰計記訪該語諸購費輕載邊遲選裡裏門韓預館齡闆"
)
_SIMPLIFIED = (
    "个周礼号点钟后时间现这两节国庆圣诞复旧历阴阳农凌清岁过来还从开当内几妇儿军亲师万献党独纪达腊龙听寻斋赎灵树劳动护统惊蛰谷"
    "处种灯马愿尔犹烛难兰欢产权黄际约经丰为东归会沉昼于历乐长续忏诵转头与贞观顺临仪余俩净厅双台叶启咸学宁宝实总托损数晓机杀条"
    "楼毁洁游电祯稣级线络绪网聪计记访该语诸购费轻载边迟选里里门韩预馆龄板"
)
SIMPLER = str.maketrans(_TRADITIONAL, _SIMPLIFIED)
"""One character for one, so that places in the text stay."""

DIGITS: Mapping[str, int] = MappingProxyType(
    {
        **{character: number for number, character in enumerate("零一二三四五六七八九")},
        "〇": 0,
        "○": 0,
        "两": 2,
        "仨": 3,
        "俩": 2,
        "几": 3,
        "数": 3,
    }
)
_TENS: Mapping[str, int] = MappingProxyType({"十": 10, "百": 100, "千": 1000})

NUMBER = r"(?>\d{1,9}(?:\.\d{1,3})?|[零〇一二三四五六七八九十百千两俩仨几廿卅]{1,8})"
SMALL = r"(?>\d{1,2}|[一二三四五六七八九十廿卅]{1,3})"
HOUR = r"(?>\d{1,2}|[零〇一二两三四五六七八九十]{1,3})"

UNITS: Mapping[str, Grain] = MappingProxyType(
    {
        "秒": "second",
        "秒钟": "second",
        "分": "minute",
        "分钟": "minute",
        "刻钟": "minute",
        "小时": "hour",
        "钟": "hour",
        "钟头": "hour",
        "钟点": "hour",
        "天": "day",
        "日": "day",
        "晚": "day",
        "夜": "day",
        "周": "week",
        "星期": "week",
        "礼拜": "week",
        "月": "month",
        "季": "quarter",
        "季度": "quarter",
        "年": "year",
        "年度": "year",
        "载": "year",
        "年代": "decade",
        "世纪": "century",
    }
)
WEEK = "(?:周|星期|礼拜)"
WEEKDAYS: Mapping[str, int] = MappingProxyType(
    {**{character: number for number, character in enumerate("一二三四五六日")}, "天": 6}
)
WHICH: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("上上上", "上上上个"), -3),
        **dict.fromkeys(("上上", "上上个"), -2),
        **dict.fromkeys(("上", "上个", "上一", "上一个", "前一个", "前一", "昨"), -1),
        **dict.fromkeys(
            ("这", "这个", "这一", "这一个", "本", "本个", "当", "今个", "今", "同"), 0
        ),
        **dict.fromkeys(("当前", "此", "该"), 0),
        **dict.fromkeys(("下", "下个", "下一", "下一个", "后一个", "来"), 1),
        **dict.fromkeys(("下下", "下下个"), 2),
        **dict.fromkeys(("下下下", "下下下个"), 3),
    }
)
DAYS: Mapping[str, int] = MappingProxyType(
    {
        **{f"大大前{day}": -4 for day in "天日"},
        **{f"大前{day}": -3 for day in "天日"},
        **{f"前{day}": -2 for day in "天日"},
        **dict.fromkeys(("昨天", "昨日", "寻日", "琴日", "昨儿", "昨"), -1),
        **dict.fromkeys(("今天", "今日", "今儿", "当天", "当日", "本日", "同日", "即日", "今"), 0),
        **dict.fromkeys(
            ("明天", "明日", "听日", "明儿", "次日", "翌日", "隔天", "第二天", "明"), 1
        ),
        **{f"后{day}": 2 for day in "天日"},
        **{f"大后{day}": 3 for day in "天日"},
    }
)
YEARS: Mapping[str, int] = MappingProxyType(
    {
        "大前年": -3,
        "前年": -2,
        **dict.fromkeys(("去年", "上年", "上一年", "旧年", "上年度", "去年度"), -1),
        **dict.fromkeys(("今年", "本年", "当年", "同年", "这年", "这一年", "本年度", "今年度"), 0),
        **dict.fromkeys(("明年", "下年", "下一年", "来年", "次年", "翌年", "出年"), 1),
        "后年": 2,
        "大后年": 3,
    }
)
PARTS: Mapping[str, str] = MappingProxyType(
    {
        "凌晨": "dawn",
        "拂晓": "dawn",
        "黎明": "dawn",
        "半夜": "dawn",
        "午夜": "night",
        **dict.fromkeys(("清晨", "清早", "大清早", "一大早", "大早"), "early_morning"),
        **dict.fromkeys(("早上", "早晨", "早间", "晨间", "早", "晨", "朝早", "朝头早"), "morning"),
        "上午": "forenoon",
        **dict.fromkeys(("中午", "正午", "晌午"), "noon"),
        **dict.fromkeys(("下午", "晏昼", "午后"), "afternoon"),
        "傍晚": "early_evening",
        "黄昏": "early_evening",
        **dict.fromkeys(
            ("晚上", "晚间", "晚", "夜晚", "夜间", "夜里", "当晚", "夜", "晚黑"), "night"
        ),
        **dict.fromkeys(("深夜", "子夜"), "late_night"),
        **dict.fromkeys(("白天", "日间"), "daytime"),
        **dict.fromkeys(("全天", "整天", "一整天"), "whole"),
    }
)
EDGES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("初", "初期", "之初", "伊始", "早期"), "early"),
        **dict.fromkeys(("中", "中期", "中间", "中叶"), "mid"),
        **dict.fromkeys(("底", "末", "末期", "尾", "底前", "晚期", "后期", "末尾"), "end"),
        "上旬": "first_third",
        "中旬": "second_third",
        "下旬": "last_third",
    }
)
LONG_EDGES = "中期|中间|中叶|[上中下]旬|初期|之初|伊始|早期|底前|末期|晚期|后期|末尾"
SHORT_EDGES = (
    r"(?:初(?![级中稿始次恋步衷创学版审试选等])|底(?![层座])|末(?![班梢])|尾(?![巴气])"
    r"|中(?![国央心学小华级药断止层]|文(?![化艺物旅体创教])|英(?=[文双对互])"
    r"|医(?![疗院保生护])|考(?![核察评虑勤])|介(?![绍入])))"
)
"""Where no other word begins with the character: 中文, 中国, 底层, 初稿."""

BARE_EDGE = r"[初中底末尾](?=\s*(?:[的,，。、；;？?！!)）]|$))"
"""Behind 的 another word begins more often than not."""

SEASONS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("春天", "春季", "开春"), "spring"),
        **dict.fromkeys(("夏天", "夏季", "盛夏"), "summer"),
        **dict.fromkeys(("秋天", "秋季"), "autumn"),
        **dict.fromkeys(("冬天", "冬季"), "winter"),
    }
)
ERAS: Mapping[str, int] = MappingProxyType(
    {
        "贞观": 627,
        "永徽": 650,
        "神龙": 705,
        "开元": 713,
        "天宝": 742,
        "建隆": 960,
        "熙宁": 1068,
        "靖康": 1126,
        "洪武": 1368,
        "建文": 1399,
        "永乐": 1403,
        "宣德": 1426,
        "正统": 1436,
        "成化": 1465,
        "弘治": 1488,
        "正德": 1506,
        "嘉靖": 1522,
        "隆庆": 1567,
        "万历": 1573,
        "天启": 1621,
        "崇祯": 1628,
        "顺治": 1644,
        "康熙": 1662,
        "雍正": 1723,
        "乾隆": 1736,
        "嘉庆": 1796,
        "道光": 1821,
        "咸丰": 1851,
        "同治": 1862,
        "光绪": 1875,
        "宣统": 1909,
        "民国": 1912,
    }
)
"""The year that is an era's first."""

FESTIVALS: Mapping[str, str] = MappingProxyType(
    {
        "元旦节?|新年(?![快好愿])": "new_year",
        "(?:七夕|中国)?情人节|七夕(?:节|情人节)?(?<=情人节)(?<!七夕情人节)": "valentine",
        "七夕节?": "qixi",
        "(?:国际)?(?:三八)?(?:劳动)?妇女节|三八节": "womens",
        "植树节": "tree_planting",
        "(?:国际)?消费者权益[日节]|三一五|315": "consumer",
        "愚人节": "april_fool",
        "世界地球日|地球日": "earth_day",
        "(?:五一)?(?:国际)?劳动节|五一(?![路街村中小八九])": "labour",
        "(?:五四)?青年节": "youth_cn",
        "(?:国际)?护士节": "nurses",
        "(?:国际)?(?:六一)?(?:国际)?儿童节|六一(?![路街村中小八九])": "children",
        "建党节": "party_cn",
        "(?:香港)回归纪念?日": "hong_kong",
        "(?:八一)?建军节|八一(?![路街村中小])": "army_cn",
        "教师节": "teachers",
        "国庆(?:黄金周|长假|假期)|十一(?:黄金周|长假|假期)": "national_week_cn",
        "(?:十一)?国庆(?:[节日])?": "national_cn",
        "万圣(?:节|夜)": "halloween",
        "万灵节": "all_souls",
        "诸圣节": "all_saints",
        "双十一|光棍节": "singles",
        "感恩节": "thanksgiving",
        "黑色星期五|黑五": "black_friday",
        "网络星期一|网购星期一": "cyber_monday",
        "平安夜|圣诞前夕|圣诞节前夕": "christmas_eve",
        "圣诞(?:节|日)?": "christmas",
        "节礼日": "boxing",
        "(?:国家)?公祭日": "national_memorial_cn",
        "澳门回归(?:纪念)?日": "macau",
        "母亲节": "mothers",
        "父亲节": "fathers",
        "马丁路德金日": "martin_luther_king",
        "总统日": "presidents",
        "老板节": "boss",
        "跨年夜?": "new_year_eve",
        "年三十|大年三十|大年夜|除夕": "chinese_eve",
        "春节|农历新年|新春|大年初一|正月正时|过年|中国新年|农历年": "spring",
        "(?:元宵|上元|灯)节": "lantern",
        "龙抬头": "dragon_head",
        "端午节?": "dragon_boat",
        "中元节|鬼节": "ghost",
        "中秋(?:节)?": "mid_autumn",
        "重阳节?": "double_ninth",
        "腊八节?": "laba",
        "小年(?!轻)": "little_year",
        "东正教(?:主受难[节日](?:次|翌|第二)日|复活节前夜|神?圣(?:周|星期)六|黑色星期六)": (
            "orthodox_holy_saturday"
        ),
        "东正教(?:耶稣受难[日节]|主受难[日节]|神?圣(?:周|星期)五|沉默(?:周|星期)五)": (
            "orthodox_good_friday"
        ),
        "东正教复活节星期一": "orthodox_easter_monday",
        "东正教(?:复活节|复活主日)": "orthodox_easter",
        "东正教(?:棕枝|圣枝|圣树|基督苦难)主?日": "orthodox_palm_sunday",
        "洁净星期一|净周一|净星期一": "orthodox_clean_monday",
        "拉撒路星期六|拉匝路星期六": "orthodox_lazarus",
        "(?:主|耶稣)受难[节日](?:次|翌|第二)日|复活节前夜|神?圣(?:周|星期)六|黑色星期六": (
            "holy_saturday"
        ),
        "(?:耶稣|主)受难[日节]|神?圣(?:周|星期)五|沉默(?:周|星期)五": "good_friday",
        "复活节星期一|复活节周一": "easter_monday",
        "复活节|复活主日": "easter",
        "(?:濯足|圣周|神圣)(?:节|星期四|周四)": "maundy_thursday",
        "(?:棕枝|圣枝|圣树|基督苦难)主?日": "palm_sunday",
        "圣灵(?:降临|节庆)日?星期一|圣灵节庆日|圣神降临节庆日": "whit_monday",
        "五旬节|圣灵降临[节日]|圣神降临[节日]": "pentecost",
        "(?:天主)?圣?三一(?:主日|节)|圣三(?:主日|节)|天主圣三(?:节|主日)": "trinity_sunday",
        "大斋首日|圣灰(?:礼仪)?(?:日|星期三|周三)|灰日": "ash_wednesday",
        "忏悔(?:节|火曜日|星期二)|煎饼日|油腻星期二|薄饼日": "shrove_tuesday",
        "四旬[节期]|大斋期|预苦期": "western_or_orthodox_lent",
        "升天(?:节|日)|耶稣升天(?:节|日)": "ascension",
        "赎罪日": "yom_kippur",
        "犹太新年": "rosh_hashanah",
        "光明节|修殿节|献殿节|烛光节|哈努卡节": "hanukkah",
        "住棚节": "sukkot",
        "(?:西赫[托妥]拉|诵经|转经|律法|妥拉)节|欢庆圣法节": "simchat_torah",
        "(?:沙夫幼特|七七|周日|新果实|收获)节": "shavuot",
        "逾越节": "passover",
        "普[珥林]节": "purim",
        "犹太植树节": "tu_bishvat",
        "圣殿被毁日|禁食日": "tisha_bav",
        "以色列(?:独立日|国庆节)": "israel_independence",
        "(?:犹太教)?篝火节": "lag_baomer",
        "(?:犹太人?)?大屠杀纪念日": "holocaust",
        "(?:穆斯林)?斋月": "ramadan",
        "开斋节|肉孜节|尔代节": "eid_al_fitr",
        "古尔邦节|宰牲节|忠孝节": "eid_al_adha",
        "(?:伊斯兰|穆斯林)(?:教|历)?新年": "islamic_new_year",
        "(?:夜行)?登霄节|夜行登宵节": "isra",
        "(?:法令|权力|盖德尔|前定)之夜|盖德尔夜": "laylat_al_qadr",
        "圣纪节|圣忌节|先知诞辰": "mawlid",
        "暑假|暑期": "summer_holidays",
        "寒假": "winter_holidays",
        "(?:清明)节?": "清明",
        **{
            f"(?<![下])({each})(?!\\w雪)": each
            for each in ["立春", "春分", "立夏", "夏至", "立秋", "秋分", "立冬", "冬至"]
        },
        **{
            each: each
            for each in [
                "雨水",
                "惊蛰",
                "谷雨",
                "芒种",
                "小暑",
                "大暑",
                "处暑",
                "寒露",
                "霜降",
                "小寒",
                "大寒",
                "白露",
                "大雪",
                "小雪",
            ]
        },
    }
)
WEAK_FESTIVALS = frozenset(
    ["雨水", "谷雨", "大雪", "小雪", "白露", "寒露", "霜降", "处暑", "大寒", "小寒"]
)
FESTIVAL_NAMES = tuple(FESTIVALS.values())
FESTIVAL = "|".join(f"(?P<f{place}>{pattern})" for place, pattern in enumerate(FESTIVALS))


def any_of(words: Iterable[str]) -> str:
    """An alternation, the longest first."""
    return "(?:" + "|".join(sorted(words, key=lambda each: (-len(each), each))) + ")"


MAX_DIGITS = 9
NO_MEAL = "(?![餐饭会报期年跑练读操恋市场宴班自])"
"""早餐, 晚会, 晨跑 and the like are no times."""
PART = (
    f"(?:{any_of(each for each in PARTS if len(each) > 1)}"
    f"|{any_of(each for each in PARTS if len(each) == 1)}{NO_MEAL})"
)
_PLAIN_DIGITS = regex.compile(r"[零〇○一二三四五六七八九]{2,4}")


def number_of(text: str) -> float:
    """ "25", "2.5", "二十五", "廿五", "一百二十", "二〇二四"; raises `Unplaced` otherwise."""
    if regex.fullmatch(r"[0-9.]+", text):
        if text.count(".") > 1 or len(text) > MAX_DIGITS:
            raise Unplaced
        return float(text)
    if _PLAIN_DIGITS.fullmatch(text):
        return float("".join(str(DIGITS[each]) for each in text))
    total, digit = 0, 0
    for each in text.replace("廿", "二十").replace("卅", "三十"):
        if each in _TENS:
            total += (digit or 1) * _TENS[each]
            digit = 0
        elif each in DIGITS:
            digit = DIGITS[each]
        else:
            raise Unplaced
    return float(total + digit)


def count_of(text: str) -> int:
    return int(number_of(text))


STARTS = (
    frozenset(
        "0123456789零〇一二三四五六七八九十百两几半廿卅今昨前明后大上下这本当同次翌周星礼每过最近未再还自从截到至在"
        "往寻听琴现目此刚马即首初月年季春夏秋冬白凌清早中午傍晚夜深全农阴正腊元第隔去来旧出之以眼立依而如约近在于早不晚迟先黎拂黄子日整开盛为历持长共"
    )
    | frozenset("".join(FESTIVALS))
    | frozenset("".join(ERAS))
)
