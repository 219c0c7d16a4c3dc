"""How a claim can be put: several wordings of each, Chinese and English."""

from __future__ import annotations

NAMES = {"tidb": "TiDB", "milvus": "Milvus", "pydantic": "pydantic", "fastapi": "FastAPI"}

DEFAULT = {
    "en": (
        "In TiDB {version}, the default value of {name} is {value}.",
        "{name} defaults to {value} in TiDB {version}.",
        "The system variable {name} is {value} by default in TiDB version {version}.",
        "TiDB v{version} ships with {name} set to {value} by default.",
    ),
    "zh": (
        "{name} 在 TiDB {version} 中的默认值是 {value}。",
        "TiDB {version} 版本里，{name} 默认为 {value}。",
        "按 TiDB v{version} 的文档，系统变量 {name} 的默认值为 {value}。",
        "在 {version} 版的 TiDB 中，{name} 的缺省值是 {value}。",
    ),
}
NO_DEFAULT = {
    "en": (
        "In TiDB {version}, the default value of {name} is not {value}.",
        "{name} does not default to {value} in TiDB {version}.",
        "By default, {name} isn't {value} in TiDB {version}.",
    ),
    "zh": (
        "{name} 在 TiDB {version} 中的默认值不是 {value}。",
        "TiDB {version} 版本里，{name} 并非默认为 {value}。",
        "在 TiDB v{version} 中，{name} 的默认值并不是 {value}。",
    ),
}
BOUND = {
    ("least", "en"): (
        "In TiDB {version}, the minimum value of {name} is {value}.",
        "The smallest value that {name} accepts in TiDB {version} is {value}.",
    ),
    ("greatest", "en"): (
        "In TiDB {version}, the maximum value of {name} is {value}.",
        "{name} can be at most {value} in TiDB {version}.",
    ),
    ("least", "zh"): (
        "在 TiDB {version} 中，{name} 的最小值是 {value}。",
        "TiDB {version} 里 {name} 最小可以设为 {value}。",
    ),
    ("greatest", "zh"): (
        "在 TiDB {version} 中，{name} 的最大值是 {value}。",
        "TiDB {version} 里 {name} 最大可以设为 {value}。",
    ),
}
SAID = {
    "en": (
        "According to the {product} {version} documentation: {text}",
        "In {product} {version}: {text}",
        "{text} (This is about {product} {version}.)",
    ),
    "zh": (
        "根据 {product} {version} 的文档，{text}",
        "在 {product} {version} 中：{text}",
        "{product} {version} 的文档说：{text}",
    ),
}
DENIABLE = {
    "en": (
        (r"\bcan\b(?! not)", "cannot"),
        (r"\b(is|are|was|were|will|should|must)\b", r"\1 not"),
    ),
    "zh": (
        (r"(可以|能够|支持|需要|应该|包含|包括)", r"不\1"),
        (r"(?<![不还总只但于或要若凡])是(?!否|不)", "不是"),
    ),
}
DENIED = {
    "en": r"\b(?:not|no|never|none|without|cannot|unless|neither|nor)\b|n't",
    "zh": r"[不没無无非未勿别禁]",
}
INVENTED = {
    "en": (
        "{product} {version} includes a built-in {thing} for {purpose}.",
        "The {thing} of {product} {version} keeps {number} {unit} for {purpose}.",
    ),
    "zh": (
        "{product} {version} 自带用于{purpose}的{thing}。",
        "{product} {version} 的{thing}为{purpose}保留 {number} 个{unit}。",
    ),
}
THINGS = {
    "en": ("weather oracle", "tape librarian", "hologram exporter", "recipe planner", "tide meter"),
    "zh": ("潮汐仪", "磁带馆员", "全息导出器", "菜谱规划器", "星图绘制器"),
}
PURPOSES = {
    "en": ("lunar eclipses", "punched cards", "bird migration", "violin tuning"),
    "zh": ("月食预报", "穿孔卡片", "候鸟迁徙", "小提琴调音"),
}
UNITS = {"en": ("gondolas", "lanterns", "sandbags"), "zh": ("灯笼", "沙袋", "风铃")}
