"""Forty pages in two languages and a conversation, and what becomes of them later."""

from __future__ import annotations

import json
from pathlib import Path

PAGES = 20
"""Of each language."""

EDITED = range(4)
DELETED = range(4, 7)
FORGOTTEN = range(7, 10)
GONE = range(10, 12)
FORGOTTEN_LATER = 12
OVERTAKEN = 13
"""Numbers of the pages that change, are deleted, are forgotten, vanish from the folder, and are
forgotten while they change."""

SESSION = "ferry-1"

APART = "the vault code of page"
"""Stands on every page that is forgotten later, and nowhere else."""

SAID = (
    ("ada", "Which port does the ferry to Harlow leave from?"),
    ("bo", "From the north quay, at ten past six, and not on Sundays."),
    ("ada", "那么周日怎么走？"),
    ("bo", "周日请坐十二路车，终点站下车。"),
    ("ada", "Note that I moved to the blue house in May."),
    ("bo", "Noted: the blue house, since May."),
)


def write(folder: Path) -> None:
    """The folder as it is at first."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(PAGES):
        (folder / page("en", number)).write_text(english(number), encoding="utf-8")
        (folder / page("zh", number)).write_text(chinese(number), encoding="utf-8")
    turns = [
        {
            "conversation": "ferry", "session": SESSION, "turn_id": f"t{at}", "speaker": speaker,
            "text": text, "time": f"2026-03-01T10:{at:02}:00Z",
        }
        for at, (speaker, text) in enumerate(SAID)
    ]  # fmt: skip
    talk = "\n".join(json.dumps(turn, ensure_ascii=False) for turn in turns)
    (folder / "talk.jsonl").write_text(talk, encoding="utf-8")
    (folder / "empty.md").write_text("", encoding="utf-8")


def edit(folder: Path) -> None:
    """The same pages as somebody left them: some longer, some with fewer parts."""
    for number in EDITED:
        longer = english(number) + "\n\n## Since then\n\nThe lamp was changed to green.\n"
        (folder / page("en", number)).write_text(longer, encoding="utf-8")
        shorter = chinese(number).split("\n\n## 第二")[0] + "\n"
        (folder / page("zh", number)).write_text(shorter, encoding="utf-8")


def edit_again(folder: Path) -> None:
    changed = english(OVERTAKEN) + "\n\n## Later\n\nThe tower was painted white.\n"
    (folder / page("en", OVERTAKEN)).write_text(changed, encoding="utf-8")


def add(folder: Path) -> None:
    (folder / "new.md").write_text("# New\n\nBeacon N-1 was lit in spring.\n", encoding="utf-8")


def take_away(folder: Path) -> None:
    for number in GONE:
        for language in ("en", "zh"):
            (folder / page(language, number)).unlink(missing_ok=True)


def page(language: str, number: int) -> str:
    """Its name in the folder."""
    return f"{language}-{number:02}.md"


def english(number: int) -> str:
    parts = [
        f"## Part {part}\n\nBeacon {number}.{part} stands {number * 7 + part} metres above the "
        f"water and blinks every {part + 2} seconds. Its keeper signs the log as K-{number:03}."
        for part in range(1, 5)
    ]
    secret = f"\n\n## Kept apart\n\nHere is {APART} {number}: 91-{number:03}.\n"
    told = "\n\n".join([f"# Beacon {number}", *parts])
    return told + (secret if number in FORGOTTEN else "\n")


def chinese(number: int) -> str:
    first = (
        f"## 第一部分\n\n灯塔{number}号高出水面{number * 7}米，每{number + 2}秒闪一次，记录编号为 "
        f"D-{number:03}。"
    )
    second = f"## 第二部分\n\n{number}号灯塔的守护人每天早上六点登记，晚上九点换班。"
    secret = f"\n\n## 另存\n\n{APART} {number}: 88-{number:03}。\n"
    told = f"# 灯塔{number}\n\n{first}\n\n{second}"
    return told + (secret if number in FORGOTTEN else "\n")
