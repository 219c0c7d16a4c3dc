"""Function words of English and Chinese: they say how a question is put, not what it is about."""

from __future__ import annotations

import regex

_ENGLISH_TEXT = """
    a about above across after again against all almost along already also although always am
    among an and another any anybody anyone anything are aren't around as at be became because
    become been before behind being below between both but by can can't cannot could couldn't
    did didn't do does doesn't doing don't done down during each either else ever every
    everyone everything few for from further had hadn't has hasn't have haven't having he he's
    hence her here hers herself him himself his how however i i'd i'll i'm i've if in into is
    isn't it it's its itself just let let's many may me might more most much must my myself
    neither no nor not of off often on once only onto or other others ought our ours ourselves
    out over own per perhaps please rather same shall she she's should shouldn't since so some
    somebody someone something such than that that's the their theirs them themselves then
    there there's these they they're this those though through throughout thus to together too
    toward towards under until up upon us very was wasn't we we're were weren't what what's
    whatever when where whether which while who who's whom whose why will with within without
    won't would wouldn't yes yet you you're your yours yourself yourselves
"""

_CHINESE_TEXT = """
    什么时候 为什么 是不是 有没有 能不能 可不可以 怎么办 怎么样 怎么 怎样 怎么回事 什么样 什么
    哪一个 哪一些 哪一种 哪一年 哪里 哪儿 哪些 哪个 哪种 哪位 哪一 哪 谁 多少 几个 多久 多大 多长
    如何 是否 为何 何时 何地 何处 何种 能否 可否 应否 有何 为什 吗 呢 吧 啊 呀 嘛 的 了
    我们 你们 他们 她们 它们 咱们 自己 我 你 您 他 她 它 这个 那个 这些 那些 这种 那种 这里 那里
    这样 那样 这 那 是 在 和 与 及 以及 或 或者 而 而且 并且 但是 可是 然而 因为 所以 因此 如果
    假如 虽然 尽管 即使 就 都 也 很 把 被 让 对于 关于 由于 为了 按照 根据 通过 可以 应该 应当
    需要 能够 请问 告诉 知道 一个 一些 一种 没有
"""
"""Single characters that begin or end many content words (中 上 会 要 向 地 …) are left out."""

_CHINESE = tuple(_CHINESE_TEXT.split())
_FUNCTION = frozenset(_ENGLISH_TEXT.split()) | frozenset(_CHINESE)
_CHINESE_RUN = regex.compile("|".join(sorted(set(_CHINESE), key=len, reverse=True)))


def is_function_word(term: str) -> bool:
    """Of English or Chinese (simplified); `term` is case folded, as terms are."""
    return term in _FUNCTION


def function_spans(run: str) -> bytearray:
    """For each character of a simplified Chinese run 1 when it belongs to a function word."""
    marks = bytearray(len(run))
    for match in _CHINESE_RUN.finditer(run):
        marks[match.start() : match.end()] = b"\1" * len(match.group())
    return marks
