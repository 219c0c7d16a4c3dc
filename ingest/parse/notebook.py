"""Jupyter notebooks: Markdown cells as they are, code cells fenced, text outputs behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from cluster.errors import UnreadableItem
from ingest.parse.encoding import clean
from ingest.parse.markdown import find_links, first_title
from ingest.parse.parsed import Parsed
from ingest.parse.pieces import Piece, assemble

NOTEBOOK = "application/x-ipynb+json"
MAX_OUTPUT = 20_000
_TERMINAL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\[\d+(?:;\d+)*m")


def parse_notebook(text: str) -> Parsed:
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableItem("broken", f"the notebook is not valid JSON: {error}") from error
    if not isinstance(loaded, Mapping):
        raise UnreadableItem("broken", "the notebook is not a JSON object")
    metadata = loaded.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    content, blocks = assemble(_pieces(loaded, _language(metadata)))
    if not content.strip():
        raise UnreadableItem("empty", "the notebook holds no text")
    fields = {
        name: str(metadata[name])
        for name in ("title", "language")
        if isinstance(metadata.get(name), str)
    }
    return Parsed(
        text=content,
        blocks=blocks,
        title=fields.get("title", "") or first_title(blocks),
        media_type=NOTEBOOK,
        fields=fields,
        field_sources=dict.fromkeys(fields, "file"),
        links=find_links(content, blocks),
    )


def fence(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    marks = "`" * (longest + 1)
    return f"{marks}{language}\n{text}\n{marks}" if text.strip() else ""


def _language(metadata: Mapping[str, Any]) -> str:
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        info = metadata.get(key)
        if isinstance(info, Mapping) and isinstance(info.get(name), str):
            return re.sub(r"[^\w+#-]", "", info[name])
    return "python"


def _pieces(notebook: Mapping[str, Any], language: str) -> Iterator[Piece]:
    cells = notebook.get("cells")
    if not isinstance(cells, list):  # the format before version 4 has sheets
        sheets = notebook.get("worksheets")
        cells = [
            cell
            for sheet in (sheets if isinstance(sheets, list) else [])
            if isinstance(sheet, Mapping) and isinstance(sheet.get("cells"), list)
            for cell in sheet["cells"]
        ]
    for cell in cells:
        if isinstance(cell, Mapping):
            yield from _cell(cell, language)


def _cell(cell: Mapping[str, Any], language: str) -> Iterator[Piece]:
    source = _joined(cell.get("source", cell.get("input")))
    match cell.get("cell_type"):
        case "code":
            yield Piece(kind="code", text=fence(source, language))
            outputs = cell.get("outputs")
            for output in outputs if isinstance(outputs, list) else ():
                yield Piece(kind="code", text=fence(_output(output), "text"))
        case "heading":
            level = cell.get("level")
            yield Piece(
                kind="heading", text=source, level=int(level or 1) if level in range(7) else 1
            )
        case "raw":
            yield Piece(kind="paragraph", text=source)
        case _:
            yield Piece(kind="markdown", text=source)


def _output(output: Any) -> str:
    if not isinstance(output, Mapping):
        return ""
    data = output.get("data")
    shown = data.get("text/plain") if isinstance(data, Mapping) else None
    if output.get("output_type") in ("error", "pyerr"):
        shown = f"{output.get('ename', '')}: {output.get('evalue', '')}"
    text = _TERMINAL.sub("", _joined(shown if shown is not None else output.get("text")))
    return text[:MAX_OUTPUT].strip("\n")


def _joined(source: Any) -> str:
    text = "".join(map(str, source)) if isinstance(source, list) else str(source or "")
    return clean(text).strip("\n")
