"""Formats beside Markdown and HTML, dispatch by content, and hostile input."""

from __future__ import annotations

import io
import json
import struct
import threading
import time
import zipfile

import openpyxl  # type: ignore[import-untyped]  # ships no types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.errors import UnreadableItem
from ingest.parse import pdf
from ingest.parse.dispatch import parse
from ingest.parse.parsed import Parsed, ParseLimits

LIMITS = ParseLimits()
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def read(content: str | bytes, name: str, media_type: str | None = None) -> Parsed:
    raw = content.encode() if isinstance(content, str) else content
    return parse(raw, name=name, media_type=media_type, limits=LIMITS)


def packed(members: dict[str, str | bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target.getvalue()


def docx(body: str, **more: str | bytes) -> bytes:
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/></Types>'
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
        'relationships/officeDocument" Target="word/document.xml"/></Relationships>'
    )
    document = f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
    return packed(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": relations,
            "word/document.xml": document,
            **more,
        }
    )


def test_csv_gets_its_header_whatever_the_delimiter() -> None:
    for mark in ",;\t|":
        parsed = read(f"name{mark}port\napi{mark}8730\ndb{mark}\n", "t.csv")
        assert parsed.text == "| name | port |\n| --- | --- |\n| api | 8730 |\n| db |  |"
        assert parsed.blocks[0].table_header == "| name | port |\n| --- | --- |"


def test_csv_with_quotes_title_and_ragged_rows() -> None:
    parsed = read('Team list\n"Name, full",Age\n"A ""b""",3,extra\n', "t.csv")
    assert parsed.title == "Team list"
    assert '| A "b" | 3 | extra |' in parsed.text
    assert parsed.notes == ("rows have 1 to 3 cells",)


def test_json_of_an_issue_becomes_a_page() -> None:
    issue = {
        "title": "Crash on start",
        "body": "It **fails**.\n\n```\nE42\n```",
        "user": {"login": "ann"},
        "created_at": "2024-01-02T03:04:05Z",
        "labels": [{"name": "bug"}],
        "comments": [{"user": {"login": "bob"}, "body": "Fixed in 1.2"}],
    }
    parsed = read(json.dumps(issue), "issue-1.json")
    assert parsed.title == "Crash on start"
    assert parsed.fields["author"] == "ann"
    assert parsed.fields["published_at"] == "2024-01-02T03:04:05Z"
    assert parsed.fields["keywords"] == "bug"
    assert [b.heading_path for b in parsed.blocks][-1] == ("Crash on start", "bob")
    assert "```\nE42\n```" in parsed.text


def test_broken_json_stays_readable() -> None:
    parsed = read('{"a": 1, "b": [', "x.json")
    assert parsed.text == '{"a": 1, "b": ['
    assert "not valid JSON" in parsed.notes[0]


def test_yaml_and_xml_and_feeds() -> None:
    assert read("# c\nversion: 1.10\n", "c.yaml").fields["version"] == "1.10"
    assert "port: 8730" in read("<c><s><port>8730</port></s></c>", "c.xml").text
    feed = read(
        "<rss><channel><title>News</title><item><title>One</title>"
        "<description>&lt;p&gt;Body&lt;/p&gt;</description></item></channel></rss>",
        "f.xml",
    )
    assert feed.text == "# News\n\n## One\n\nBody"


def test_xml_entities_are_refused_or_inert() -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "xxxx">]><a>&b;</a>'
    assert "xxxx" not in read(bomb, "b.xml").text.replace('"xxxx"', "")
    with pytest.raises(UnreadableItem) as refused:
        read(docx("", **{"word/x.xml": bomb}), "b.docx")
    assert refused.value.kind == "broken"


def test_notebook_cells_and_outputs() -> None:
    book = {
        "nbformat": 4,
        "metadata": {"kernelspec": {"language": "python"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "text"]},
            {
                "cell_type": "code",
                "source": "print(1)",
                "outputs": [{"output_type": "stream", "text": ["1\n"]}],
            },
        ],
    }
    parsed = read(json.dumps(book), "n.ipynb")
    assert parsed.text == "# Title\ntext\n\n```python\nprint(1)\n```\n\n```text\n1\n```"
    assert parsed.title == "Title"
    assert [b.heading_path for b in parsed.blocks] == [("Title",)] * 4


def test_mail_prefers_the_plain_body_and_names_attachments() -> None:
    mail = (
        (
            b"From: Ann <ann@example.com>\nSubject: =?utf-8?b?5L2g5aW9?=\nMIME-Version: 1.0\n"
            b"Date: Tue, 2 Jan 2024 03:04:05 +0800\nContent-Type: multipart/mixed; boundary=b\n\n"
            b"--b\nContent-Type: text/plain; charset=gb18030\nContent-Transfer-Encoding: 8bit\n\n"
        )
        + "内容\n".encode("gb18030")
        + (
            b"--b\nContent-Type: application/pdf\n"
            b"Content-Disposition: attachment; filename=a.pdf\n\nx\n"
            b"--b--\n"
        )
    )
    parsed = read(mail, "m.eml")
    assert parsed.title == "你好"
    assert parsed.fields["published_at"] == "2024-01-02T03:04:05+08:00"
    assert parsed.text.endswith("内容")
    assert parsed.notes == ("attachment not read: a.pdf",)


def test_code_blocks_at_definitions() -> None:
    source = "import os\n\n# about f\n@deco\ndef f():\n    return 1\n\n\nclass A:\n    x = 1\n"
    parsed = read(source, "m.py")
    assert parsed.text == source
    assert [parsed.text[b.start : b.end] for b in parsed.blocks] == [
        "import os",
        "# about f\n@deco\ndef f():\n    return 1",
        "class A:\n    x = 1",
    ]
    assert [b.heading_path for b in parsed.blocks] == [(), ("f",), ("A",)]
    assert read("#!/usr/bin/env python3\nx = 1\n", "tool").media_type == "text/x-python"


def test_rst_and_asciidoc_headings_listings_and_tables() -> None:
    rst = "Top\n===\n\nSub\n---\n\nText::\n\n    code\n\n== ==\na  b\n== ==\n1  2\n== ==\n"
    parsed = read(rst, "a.rst")
    assert [b.kind for b in parsed.blocks] == ["heading", "heading", "paragraph", "code", "table"]
    assert parsed.blocks[-1].heading_path == ("Top", "Sub")
    assert parsed.blocks[-1].table_header == "== ==\na  b\n== =="
    adoc = "= Doc\n\n== One\n\n----\n== not a heading\n----\n\n|===\n|a |b\n\n|1 |2\n|===\n"
    parsed = read(adoc, "a.adoc")
    assert [b.kind for b in parsed.blocks] == ["heading", "heading", "code", "table"]
    assert parsed.blocks[-1].table_header == "| a | b |\n| --- | --- |"


def test_workbook_sheets_and_empty_rows() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Ports"
    for row in (["name", "port"], ["api", 8730.0], [], ["x", "y"], ["1", True]):
        sheet.append(row)
    sheet.cell(900_000, 1).number_format = "0.00"
    target = io.BytesIO()
    book.save(target)
    parsed = read(target.getvalue(), "b.bin")
    assert parsed.text == (
        "## Ports\n\n| name | port |\n| --- | --- |\n| api | 8730 |\n\n"
        "| x | y |\n| --- | --- |\n| 1 | TRUE |"
    )
    assert {b.page for b in parsed.blocks} == {1}


def test_docx_body_and_core_fields() -> None:
    core = (
        '<p xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:t="http://purl.org/dc/terms/">'
        "<dc:creator>Ann</dc:creator><t:modified>2024-01-02T00:00:00Z</t:modified></p>"
    )
    content = docx(
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Head</w:t></w:r></w:p>'
        "<w:p><w:r><w:t>Body</w:t></w:r></w:p>",
        **{
            "word/styles.xml": f'<w:styles xmlns:w="{W}"><w:style w:type="paragraph" '
            'w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>',
            "docProps/core.xml": core,
        },
    )
    parsed = read(content, "wrong.txt")
    assert parsed.text == "# Head\n\nBody"
    assert parsed.fields == {"author": "Ann", "updated_at": "2024-01-02T00:00:00Z"}


def test_zip_bombs_are_refused_before_they_unpack() -> None:
    small = ParseLimits(max_unpacked_bytes=1_000_000, max_entries=50)
    big = docx("", **{"word/media/x.bin": b"\0" * 2_000_000})
    many = docx("", **{f"word/{i}.bin": b"" for i in range(60)})
    for content in (big, many):
        with pytest.raises(UnreadableItem) as refused:
            parse(content, name="a.docx", limits=small)
        assert refused.value.kind == "too_large"


def test_a_lie_about_the_unpacked_size_is_damage() -> None:
    content = bytearray(docx(f"<w:p><w:r><w:t>{'x' * 100_000}</w:t></w:r></w:p>"))
    place = content.rindex(b"word/document.xml") - 46
    struct.pack_into("<I", content, place + 24, 50)
    with pytest.raises(UnreadableItem) as refused:
        read(bytes(content), "a.docx")
    assert refused.value.kind == "broken"


@pytest.mark.parametrize(
    ("content", "name", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "a.md", "scanned"),
        (b"%PDF-1.4\nnothing", "a.pdf", "broken"),
        (b"PK\x03\x04nothing", "a.docx", "broken"),
        (b"\x1f\x8b\x08\0abc", "a.txt", "unsupported"),
        (b"\x7fELF" + b"\0" * 100, "run", "binary"),
        (b"{\\rtf1 hello}", "a.rtf", "unsupported"),
        (b"", "a.md", "empty"),
        (b"---\ntitle: x\n---\n", "a.md", "empty"),
        (b"{}", "a.ipynb", "empty"),
        (b"{", "a.ipynb", "broken"),
    ],
)
def test_what_cannot_be_read_says_why(content: bytes, name: str, kind: str) -> None:
    with pytest.raises(UnreadableItem) as refused:
        read(content, name)
    assert refused.value.kind == kind
    assert str(refused.value)


def test_content_beats_a_wrong_ending() -> None:
    assert read("<!DOCTYPE html><html><body><h1>T</h1></body></html>", "a.txt").text == "# T"
    assert read("<html> is a tag\n\n# Title", "a.md").title == "Title"
    assert read("# Title", "upload", "text/markdown").title == "Title"
    assert read("# Title\n\n- a\n- b\n", "notes.txt").title == "Title"
    assert read("# comment\nkey = 1\n", "notes.txt").media_type == "text/plain"
    assert read('{"a": 1}', "a.txt").media_type == "application/json"


def test_too_large_items_are_refused() -> None:
    with pytest.raises(UnreadableItem) as refused:
        parse(b"abc", name="a.md", limits=ParseLimits(max_item_bytes=2))
    assert refused.value.kind == "too_large"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.csv", "a.json", "a.py", "a.rst"])
def test_one_long_line_ends_in_seconds(name: str) -> None:
    started = time.monotonic()
    parsed = read("word " * 2_000_000, name)
    assert len(parsed.text) > 9_000_000
    assert time.monotonic() - started < 20


ENDINGS = st.sampled_from(
    [
        "md",
        "html",
        "txt",
        "csv",
        "json",
        "jsonl",
        "yaml",
        "xml",
        "eml",
        "ipynb",
        "rst",
        "adoc",
        "py",
        "pdf",
        "docx",
        "xlsx",
        "epub",
        "msg",
        "bin",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)), ENDINGS)
def test_arbitrary_bytes_end_in_text_or_a_reason(content: bytes, ending: str) -> None:
    try:
        parsed = parse(content, name=f"x.{ending}", limits=LIMITS)
    except UnreadableItem:
        return
    position = 0
    for block in parsed.blocks:
        assert position <= block.start < block.end <= len(parsed.text)
        assert not parsed.text[position : block.start].strip()
        position = block.end
    assert not parsed.text[position:].strip()


def test_a_pdf_behind_one_that_was_given_up_fails_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "_WAIT_S", 0.01)
    lock = threading.Lock()
    monkeypatch.setattr(pdf, "_ONE_AT_A_TIME", lock)
    with lock, pytest.raises(UnreadableItem, match="another PDF") as told:
        pdf.parse_pdf(b"%PDF-1.7", limits=ParseLimits())
    assert told.value.kind == "unreadable"
    with pytest.raises(UnreadableItem, match="damaged PDF"):
        pdf.parse_pdf(b"%PDF-1.7", limits=ParseLimits())
