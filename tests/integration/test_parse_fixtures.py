"""Every file of the parse fixtures ends parsed or as an explained skip; texts agree with gold."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from cluster.errors import UnreadableItem
from ingest.parse.dispatch import parse
from ingest.parse.markdown import parse_markdown
from ingest.parse.parsed import Parsed, ParseLimits

pytestmark = pytest.mark.data

LIMITS = ParseLimits()
SKIPS = {
    "markitdown/MEDRPT-2024-PAT-3847_medical_report_scan.pdf": "scanned",
    "markitdown/expected_outputs/MEDRPT-2024-PAT-3847_medical_report_scan.md": "empty",
    "markitdown/random.bin": "binary",
    "unstructured/empty.txt": "empty",
    "unstructured/fake-text-all-whitespace.txt": "empty",
    "unstructured/img/chi_sim_image.jpeg": "scanned",
    "unstructured/pdf/password.pdf": "encrypted",
    "unstructured/pdf/table-multi-row-column-cells.pdf": "scanned",
}


@pytest.fixture(scope="module")
def fixtures(data_dir: Path) -> Path:
    return data_dir / "parse_fixtures"


@pytest.fixture(scope="module")
def outcomes(fixtures: Path) -> dict[str, Parsed | UnreadableItem]:
    manifest = (fixtures / "manifest.jsonl").read_text(encoding="utf-8")
    found: dict[str, Parsed | UnreadableItem] = {}
    for line in manifest.splitlines():
        name = json.loads(line)["file"]
        try:
            found[name] = parse((fixtures / name).read_bytes(), name=name, limits=LIMITS)
        except UnreadableItem as error:
            found[name] = error
    return found


def test_only_broken_empty_and_scanned_files_are_skipped(
    outcomes: dict[str, Parsed | UnreadableItem],
) -> None:
    skipped = {n: o.kind for n, o in outcomes.items() if isinstance(o, UnreadableItem)}
    assert skipped == SKIPS
    assert len(outcomes) == 218


def test_blocks_cover_every_text_in_order(outcomes: dict[str, Parsed | UnreadableItem]) -> None:
    for name, parsed in outcomes.items():
        if isinstance(parsed, UnreadableItem):
            continue
        position = 0
        for block in parsed.blocks:
            assert position <= block.start < block.end, name
            assert not parsed.text[position : block.start].strip(), name
            position = block.end
        assert not parsed.text[position:].strip(), name
        assert "\r" not in parsed.text, name
        assert "\0" not in parsed.text, name


def words(text: str) -> list[str]:
    """Lower-case words; a hyphen at a line end is taken out, table rules are no words."""
    joined = re.sub(r"(?<=\w)-\s*\n\s*(?=\w)", "", text)
    return re.findall(r"\w+", re.sub(r"[|_]+|-{3,}", " ", joined).lower())


@pytest.mark.parametrize(
    ("stem", "least_order"),
    [
        ("RECEIPT-2024-TXN-98765_retail_purchase", 0.98),
        ("REPAIR-2022-INV-001_multipage", 0.90),
        ("SPARSE-2024-INV-1234_borderless_table", 0.98),
        ("movie-theater-booking-2024", 0.90),
        ("test", 0.98),
    ],
)
def test_texts_agree_with_gold_output(
    outcomes: dict[str, Parsed | UnreadableItem], fixtures: Path, stem: str, least_order: float
) -> None:
    gold_file = fixtures / "markitdown" / "expected_outputs" / f"{stem}.md"
    gold = words(gold_file.read_text(encoding="utf-8"))
    parsed = outcomes[f"markitdown/{stem}.pdf"]
    assert isinstance(parsed, Parsed)
    got = words(parsed.text)
    recall = sum((Counter(gold) & Counter(got)).values()) / len(gold)
    order = difflib.SequenceMatcher(None, gold, got, autojunk=False).ratio()
    assert recall >= 0.98
    assert order >= least_order


@pytest.mark.parametrize(
    ("name", "encoding", "sentence"),
    [
        ("encodings/sample-arabic-1.txt", "cp1256", "بالموازاة مع ذلك"),
        ("encodings/sample-chinese.txt", "cp950", "維基大典（Wikipedia）者"),
        ("encodings/sample-french-1.txt", "cp1252", "MOLIÈRE"),
        ("encodings/sample-greek.txt", "cp1253", "Η ελληνική αποτελεί"),
        ("encodings/sample-hebrew-2.txt", "cp1255", "אין כמעט ניבים"),
        ("encodings/sample-korean.txt", "cp949", "역사적 예수 연구자들은"),
        ("encodings/sample-russian.txt", "mac_cyrillic", "В гимназии он не был"),
        ("encodings/sample-turkish.txt", "cp1254", "İstanbul, Türkiye'nin"),
        ("markitdown/test_mskanji.csv", "cp932", "佐藤太郎"),
        ("unstructured/umlauts-non-utf8.md", "cp1252", "äöüß"),
        ("unstructured/fake-html-cp1252.html", "cp1252", "15,50 €"),
        ("unstructured/fake-text-utf-16-be.txt", "utf-16-be", "test document"),
        ("unstructured/fake-text-utf-32.txt", "utf-32-le", "test document"),
        ("unstructured/stanley-cups-utf-16.csv", "utf-16-be", "Stanley Cups"),
    ],
)
def test_legacy_encodings_read_as_written(
    outcomes: dict[str, Parsed | UnreadableItem], name: str, encoding: str, sentence: str
) -> None:
    parsed = outcomes[name]
    assert isinstance(parsed, Parsed)
    assert parsed.fields["encoding"] == encoding
    assert sentence in parsed.text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("docling/docx/equations.docx", "$A=πr^{2}$"),
        ("docling/docx/docx_comments.docx", "This is a sample reviewer comment"),
        ("docling/docx/textbox.docx", "Suggested Reportable Symptoms"),
        ("docling/docx/Strict.docx", "Some text"),
        ("docling/html/table_05.html", "| A1 B1 C1 D1 E1 F1 |"),
        ("docling/xlsx/xlsx_04_inflated.xlsx", "| first | second | third |"),
        ("docling/xlsx/xlsx_comments.xlsx", "Minimum number of saltwater ducks"),
        ("docling/pdf/right_to_left_01.pdf", "تحسين الإنتاجية وحل المشكلات"),
        ("docling/pdf/code_and_formula.pdf", "function add(a, b) {\n    return a + b;"),
        ("unstructured/pdf/fake-bold-sample.pdf", "BOLD TEXT SAMPLE"),
        ("unstructured/pdf/multi-column-2p.pdf", "Open-domain question answering relies on effi"),
        ("unstructured/pdf/korean-text-with-tables.pdf", "서비스 제공 기준"),
        ("unstructured/rotated-page-90.pdf", "Rotated page fixture"),
        ("unstructured/docx-hdrftr.docx", "First header para"),
        ("unstructured/simple.odt", "favorite things"),
        ("unstructured/eml/email-no-utf8-2008-07-16.062410.eml", "RE: שלום"),
        ("unstructured/eml/mime-word-encoded-subject.eml", "☸☿"),
        ("unstructured/fake-incomplete-json.txt", "{"),
        ("markitdown/test_outlook_msg.msg", "Test Email Message"),
        ("markitdown/test_rss.xml", "## "),
    ],
)
def test_what_each_format_must_keep(
    outcomes: dict[str, Parsed | UnreadableItem], name: str, shown: str
) -> None:
    parsed = outcomes[name]
    assert isinstance(parsed, Parsed)
    assert shown in parsed.text


def test_pages_are_known_and_never_beyond_the_last(
    outcomes: dict[str, Parsed | UnreadableItem],
) -> None:
    parsed = outcomes["docling/pdf/multi_page.pdf"]
    assert isinstance(parsed, Parsed)
    assert {block.page for block in parsed.blocks} == {1, 2, 3, 4, 5}


def test_boilerplate_of_pages_goes(outcomes: dict[str, Parsed | UnreadableItem]) -> None:
    duck = outcomes["docling/html/wiki_duck.html"]
    blog = outcomes["markitdown/test_blog.html"]
    assert isinstance(duck, Parsed)
    assert isinstance(blog, Parsed)
    assert "Jump to content" not in duck.text
    assert "Privacy policy" not in duck.text
    assert "Ducks are generally smaller and shorter-necked than swans" in duck.text
    assert blog.fields["language"] == "en"
    assert blog.fields["url"].startswith("https://microsoft.github.io/autogen")


def _filled(parsed: Parsed, start: int, end: int) -> bool:
    return bool(parsed.text[start:end].strip("# \t"))


def test_commonmark_examples_have_their_headings(fixtures: Path) -> None:
    for line in (fixtures / "commonmark" / "spec_examples.jsonl").read_text("utf-8").splitlines():
        example = json.loads(line)
        parsed = parse_markdown(example["markdown"])
        headings = [
            b for b in parsed.blocks if b.kind == "heading" and _filled(parsed, b.start, b.end)
        ]
        # Headings at the top level: those of the expected HTML outside lists and quotes.
        html = re.sub(r"<(ul|ol|blockquote|pre)>.*</\1>", "", example["html"], flags=re.DOTALL)
        expected = re.findall(r"^<h[1-6]>(?:.|\n)*?</h[1-6]>", html, flags=re.MULTILINE)
        filled = [h for h in expected if re.sub(r"<[^>]+>", "", h).strip()]
        if example["section"] in ("ATX headings", "Setext headings", "Fenced code blocks"):
            assert len(headings) == len(filled), example["example"]
