"""Source code, kept as it is: one block for each top-level definition with its comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from ingest.parse.parsed import Block, Parsed

LANGUAGES: dict[str, str] = {
    "py": "python", "pyi": "python", "pyx": "python", "js": "javascript", "mjs": "javascript",
    "cjs": "javascript", "jsx": "javascript", "ts": "typescript", "tsx": "typescript",
    "java": "java", "kt": "kotlin", "kts": "kotlin", "scala": "scala", "go": "go", "rs": "rust",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hpp": "cpp", "hh": "cpp",
    "cs": "csharp", "swift": "swift", "rb": "ruby", "php": "php", "pl": "perl", "lua": "lua",
    "r": "r", "jl": "julia", "sh": "shell", "bash": "shell", "zsh": "shell", "ps1": "powershell",
    "sql": "sql", "dart": "dart", "ex": "elixir", "exs": "elixir", "erl": "erlang", "hs": "haskell",
    "clj": "clojure", "ml": "ocaml", "vue": "vue", "svelte": "svelte", "css": "css", "scss": "scss",
    "less": "less", "toml": "toml", "ini": "ini", "cfg": "ini", "conf": "ini", "tf": "hcl",
    "proto": "protobuf", "graphql": "graphql", "cmake": "cmake", "gradle": "groovy",
    "groovy": "groovy", "m": "objectivec", "mm": "objectivec", "zig": "zig", "nim": "nim",
    "tex": "latex", "properties": "ini", "bat": "batch", "diff": "diff", "patch": "diff",
}  # fmt: skip
NAMES: dict[str, str] = {
    "dockerfile": "dockerfile", "makefile": "makefile", "cmakelists.txt": "cmake",
    "jenkinsfile": "groovy", "gemfile": "ruby", "rakefile": "ruby",
}  # fmt: skip
_SHEBANG = re.compile(
    r"#!\s*\S*?(?:/env\s+(?:-S\s+)?)?(python|node|bash|sh|zsh|ruby|perl|php|lua)[\d.]*\b"
)
_DEFINITION = re.compile(
    r"(?:export\s+|default\s+|public\s+|private\s+|protected\s+|internal\s+|static\s+|final\s+|"
    r"abstract\s+|async\s+|pub(?:\([^)]*\))?\s+|unsafe\s+|open\s+|sealed\s+|data\s+|inline\s+|const\s+)*"
    r"(?:def|class|func|function\*?|fn|impl|trait|struct|enum|interface|type|module|namespace|object|"
    r"record|protocol|extension|sub|proc|macro_rules!|CREATE\s+(?:OR\s+REPLACE\s+)?\w+|create\s+\w+)\s+"
    r"(?P<name>[\w$.:<>\[\]\"`]+)"
)  # fmt: skip
_ATTACHED = re.compile(r"(?:@|#|//|/\*|\*|--|;|\"\"\"|%)")


def language_of(name: str, text: str) -> str:
    """By file name, else by shebang; `""` when it is no known source code."""
    base = name.replace("\\", "/").rpartition("/")[2].lower()
    if base in NAMES:
        return NAMES[base]
    ending = base.rpartition(".")[2] if "." in base else ""
    if ending in LANGUAGES:
        return LANGUAGES[ending]
    shebang = _SHEBANG.match(text[:200])
    return (
        {"sh": "shell", "bash": "shell", "zsh": "shell", "node": "javascript"}.get(
            shebang[1], shebang[1]
        )
        if shebang
        else ""
    )


def parse_code(text: str, *, language: str) -> Parsed:
    """The heading path of a block is the name that it defines."""
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines[:-1]), initial=0))
    marks = list(_definitions(lines))
    blocks = []
    for (first, name), (last, _) in zip(marks, [*marks[1:], (len(lines), "")], strict=True):
        block = _block(lines, starts, first, last, name=name)
        if block is not None:
            blocks.append(block)
    return Parsed(
        text=text,
        blocks=tuple(blocks),
        title="",
        media_type=f"text/x-{language}",
        fields={"programming_language": language},
        field_sources={"programming_language": "file"},
    )


def _definitions(lines: list[str]) -> Iterator[tuple[int, str]]:
    """`(first line, name)`; comments and decorators right above belong to the definition."""
    yield 0, ""
    for number, line in enumerate(lines):
        match = _DEFINITION.match(line) if line[:1].isalpha() else None
        if not match:
            continue
        first = number
        while first > 0 and _ATTACHED.match(lines[first - 1]):
            first -= 1
        if first > 0:
            yield first, match["name"].rstrip(":")


def _block(
    lines: list[str], starts: list[int], first: int, last: int, *, name: str
) -> Block | None:
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    if first >= last:
        return None
    end = starts[last - 1] + len(lines[last - 1])
    return Block(kind="code", start=starts[first], end=end, heading_path=(name,) if name else ())
