"""The API reference as one page of HTML, made from the OpenAPI document; works offline."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from typing import Any

from serve.api.problems import KINDS

_STYLE = """
:root{color-scheme:light dark;--line:#8885;--soft:#8881}
body{font:16px/1.55 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{margin-bottom:.2rem}
h2{margin-top:2.5rem;border-bottom:1px solid var(--line)}
section{margin:1.2rem 0;padding:.8rem 1rem;border:1px solid var(--line);border-radius:.5rem}
code,pre{font:14px/1.45 ui-monospace,monospace}
pre{background:var(--soft);padding:.7rem;overflow:auto;border-radius:.4rem}
.m{font-weight:700;display:inline-block;min-width:4.2rem}
table{border-collapse:collapse;width:100%}
td{text-align:left;vertical-align:top;padding:.25rem .6rem .25rem 0}
td{border-bottom:1px solid var(--line)}
summary{cursor:pointer}
.t{opacity:.7}
"""

_INTRODUCTION = """
<p>Every request but health and metrics needs a key: <code>palimpsest keys create</code> prints
one; the local stack keeps its own in <code>secrets/local.key</code>. The machine-readable form
is <a href="/openapi.json">/openapi.json</a>.</p>
"""

_START = """curl -s {base}/v1/search \\
  -H "Authorization: Bearer $PALIMPSEST_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"query": "How long are access tokens valid?", "top_k": 3}}'"""


def render(document: Mapping[str, Any], *, base: str) -> str:
    """OpenAPI 3.1 document -> a complete page; `base` is where the reader reached it."""
    info = document["info"]
    body = "\n".join(
        (
            f"<h1>{_text(info['title'])} API</h1><p>{_text(info['description'])}</p>",
            _INTRODUCTION,
            f"<pre>{_text(_START.format(base=base))}</pre>",
            "<h2>Endpoints</h2>",
            *_operations(document),
            "<h2>Shapes</h2>",
            *_shapes(document),
            "<h2>Problems</h2>",
            _problems(),
        )
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{_text(info['title'])} API</title><style>{_STYLE}</style></head>"
        f"<body>{body}</body></html>"
    )


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield (
                f'<section id="{_text(operation["operationId"])}">'
                f'<div><span class="m">{method.upper()}</span><code>{_text(path)}</code>'
                f" — {_text(operation.get('summary', ''))}</div>"
                f"<p>{_text(operation.get('description', ''))}</p>"
                f"{_parameters(operation)}{_body(operation)}{_answers(operation)}</section>"
            )


def _parameters(operation: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{_text(each['name'])}</code> <span class=t>{each['in']}</span></td>"
        f"<td>{_type(each['schema'])}</td><td>{_text(each.get('description', ''))}</td></tr>"
        for each in operation.get("parameters", ())
    )
    return f"<table>{rows}</table>" if rows else ""


def _body(operation: Mapping[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    return "".join(
        f"<p>Body: <code>{_text(media_type)}</code>, {_type(each['schema'])}</p>"
        for media_type, each in content.items()
    )


def _answers(operation: Mapping[str, Any]) -> str:
    rows = ""
    for status, answer in operation["responses"].items():
        shapes = ", ".join(
            _type(each["schema"]) for each in answer.get("content", {}).values() if "schema" in each
        )
        rows += (
            f"<tr><td>{_text(status)}</td><td>{shapes}</td>"
            f"<td>{_text(answer.get('description', ''))}</td></tr>"
        )
    return f"<details><summary>Answers</summary><table>{rows}</table></details>"


def _shapes(document: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in sorted(document.get("components", {}).get("schemas", {}).items()):
        required = schema.get("required", ())
        rows = "".join(
            _field(field, each, optional=field not in required)
            for field, each in schema.get("properties", {}).items()
        )
        examples = "".join(
            f"<pre>{_text(json.dumps(example, ensure_ascii=False, indent=2))}</pre>"
            for example in schema.get("examples", ())
        )
        about = f"<b>{_text(name)}</b><p>{_text(schema.get('description', ''))}</p>"
        yield f'<section id="{_text(name)}">{about}<table>{rows}</table>{examples}</section>'


def _field(name: str, schema: Mapping[str, Any], *, optional: bool) -> str:
    mark = " <span class=t>optional</span>" if optional else ""
    return (
        f"<tr><td><code>{_text(name)}</code>{mark}</td><td>{_type(schema)}</td>"
        f"<td>{_text(schema.get('description', ''))}</td></tr>"
    )


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = _text(schema["$ref"].rsplit("/", 1)[-1])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(f"<code>{_text(value)}</code>" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return _text(schema.get("format", schema.get("type", "any"))) + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    names = {"minimum": "≥", "maximum": "≤", "maxLength": "length ≤", "default": "default"}
    told = [f"{sign} {_text(schema[name])}" for name, sign in names.items() if name in schema]
    return f" <span class=t>({', '.join(told)})</span>" if told else ""


def _problems() -> str:
    rows = "".join(
        f'<tr id="{kind.name}"><td><code>/docs#{kind.name}</code></td><td>{kind.status}</td>'
        f"<td>{_text(kind.title)}. {_text(kind.meaning)}</td></tr>"
        for kind in KINDS.values()
    )
    return f"<table>{rows}</table>"


def _text(value: object) -> str:
    return html.escape(str(value))
