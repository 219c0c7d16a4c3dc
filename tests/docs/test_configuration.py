"""Every setting is documented with its default."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from cluster.settings import Settings

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def settings(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from settings(field.annotation, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field.default


def test_every_setting_stands_in_the_page_with_its_default() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for key, default in settings(Settings):
        shown = "unset" if default is None else f"`{default}`"
        assert f"| `{key}` | {shown} |" in page, f"{key} = {shown} is missing in {PAGE.name}"
