"""The first page leads with two commands, and what it links to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "README.zh.md", *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_two_commands_come_first_and_exist(name: str) -> None:
    first = re.search(r"```bash\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)
    assert first is not None
    commands = [line.split("#")[0].strip() for line in first[1].splitlines()]
    assert commands == ["make demo", "make test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{command.removeprefix('make ')}:" in makefile for command in commands)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    for link in links:
        if not link.startswith("http"):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
