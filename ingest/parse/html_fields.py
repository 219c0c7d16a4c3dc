"""What does a page say about itself: title, author, dates, language, address, licence?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from selectolax.lexbor import LexborHTMLParser

MAX_VALUE = 2_000

# Field → names of meta elements (name, property or itemprop), best first.
_META: dict[str, tuple[str, ...]] = {
    "title": ("og:title", "dc.title", "dcterms.title", "twitter:title", "citation_title"),
    "author": ("author", "article:author", "dc.creator", "dcterms.creator", "citation_author"),
    "description": ("description", "og:description", "twitter:description"),
    "keywords": ("keywords", "article:tag", "citation_keywords"),
    "published_at": (
        "article:published_time", "datepublished", "dc.date.issued", "dcterms.created",
        "citation_publication_date", "citation_date", "dc.date", "date", "pubdate", "publish_date",
    ),
    "updated_at": (
        "article:modified_time", "og:updated_time", "datemodified", "dcterms.modified",
        "last-modified", "revised", "lastmod",
    ),
    "language": ("content-language", "dc.language", "dcterms.language", "language"),
    "version": ("docsearch:version", "doc-version", "version", "product-version"),
    "license": ("license", "dcterms.license", "dc.rights"),
    "url": ("og:url",),
}  # fmt: skip
_JSON_LD = {
    "headline": "title", "name": "title", "author": "author", "datePublished": "published_at",
    "dateModified": "updated_at", "inLanguage": "language", "license": "license",
    "keywords": "keywords", "version": "version", "softwareVersion": "version",
}  # fmt: skip
_ARTICLES = ("Article", "Posting", "WebPage", "Report", "Book", "Dataset", "HowTo", "Creative")
_BY_NAME = {name: field for field, names in _META.items() for name in names}


def page_fields(tree: LexborHTMLParser) -> dict[str, str]:
    """Fields found in `<head>`, JSON-LD and `<time>`; the more formal place wins."""
    fields: dict[str, str] = {}
    for name, value in (*_head(tree), *_meta(tree), *_linked_data(tree), *_times(tree)):
        shown = " ".join(value.split())[:MAX_VALUE]
        if shown:
            fields.setdefault(name, shown)
    return fields


def _head(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    title = tree.css_first("title")
    if title is not None:
        yield "title", title.text()
    root = tree.css_first("html")
    if root is not None:
        yield "language", root.attributes.get("lang") or root.attributes.get("xml:lang") or ""
    for relation, field in (("canonical", "url"), ("license", "license")):
        link = tree.css_first(f"link[rel~='{relation}'], a[rel~='{relation}']")
        if link is not None:
            yield field, link.attributes.get("href") or ""


def _meta(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    values: dict[str, str] = {}
    for node in tree.css("meta"):
        attributes = node.attributes
        name = next(
            (
                attributes[k]
                for k in ("name", "property", "itemprop", "http-equiv")
                if attributes.get(k)
            ),
            "",
        )
        if name and attributes.get("content"):
            values.setdefault(name.lower(), attributes["content"] or "")
    for field, names in _META.items():
        for name in names:
            if name in values:
                yield field, values[name]


def _linked_data(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    for node in tree.css("script[type='application/ld+json']"):
        try:
            loaded = json.loads(node.text())
        except (ValueError, RecursionError):
            continue
        for item in _articles(loaded):
            for name, field in _JSON_LD.items():
                yield field, _plain(item.get(name))


def _articles(loaded: Any) -> Iterator[Mapping[str, Any]]:
    queue = [loaded]
    for _ in range(200):
        if not queue:
            return
        item = queue.pop(0)
        if isinstance(item, list):
            queue.extend(item[:100])
        elif isinstance(item, Mapping):
            kind = str(item.get("@type", ""))
            if any(name in kind for name in _ARTICLES):
                yield item
            queue.extend(v for v in (item.get("@graph"), item.get("mainEntity")) if v)


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, (_plain(item) for item in value[:50])))
    if isinstance(value, Mapping):
        return str(value.get("name") or value.get("url") or "")
    return "" if value is None else str(value)


def _times(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    for node in tree.css("time[datetime]"):
        marks = " ".join(
            str(node.attributes.get(k) or "") for k in ("itemprop", "class", "pubdate", "title")
        ).lower()
        moment = node.attributes.get("datetime") or ""
        if "modif" in marks or "updat" in marks:
            yield "updated_at", moment
        elif "publi" in marks or "pubdate" in node.attributes or "entry-date" in marks:
            yield "published_at", moment
    first = tree.css_first("article time[datetime], header time[datetime], main time[datetime]")
    if first is not None:
        yield "published_at", first.attributes.get("datetime") or ""
