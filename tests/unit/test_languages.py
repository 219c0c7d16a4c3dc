"""The language of short questions, mixed texts and real scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cluster.text.han import is_traditional, to_simplified
from cluster.text.languages import detect_language


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "und"),
        ("123 😀 !?", "und"),
        ("vector index", "en"),
        ("was ist das", "en"),
        ("CREATE TABLE a (id INT PRIMARY KEY, de TEXT)", "en"),
        ("what does 北京 mean", "en"),
        ("Who is 李小龙?", "en"),
        ("在 TiDB 中设置 tidb_enable_clustered_index", "zh"),
        ("metadata.filter 怎么用？", "zh"),
        ("创建表：CREATE TABLE t (id BIGINT PRIMARY KEY AUTO_RANDOM, b VARCHAR)", "zh"),
        ("Please translate 你好 for me", "en"),
        ("臺灣的軟體", "zh"),
        ("の在中文广告里常见，意思是的", "zh"),
        ("東京はどこですか", "ja"),
        ("カタカナ", "ja"),
        ("안녕하세요 세계", "ko"),
        ("Привет мир", "ru"),
        ("Слава Україні", "uk"),
        ("مرحبا بالعالم", "ar"),
        ("چگونه پایگاه داده را نصب کنم", "fa"),
        ("שלום", "he"),
        ("สวัสดีครับ", "th"),
        ("ελληνικά", "el"),
        ("हिन्दी भाषा", "hi"),
        ("Wie kann ich die Datenbank auf einem neuen Server installieren?", "de"),
        ("Comment installer la base de données sur un serveur ?", "fr"),
        ("¿Cómo puedo instalar la base de datos en el servidor?", "es"),
        ("O que é um banco de dados e como posso usar?", "pt"),
        ("Come si installa il database nel server?", "it"),
        ("Hoe kan ik de database op een nieuwe server installeren?", "nl"),
    ],
)
def test_language(text: str, code: str) -> None:
    assert detect_language(text) == code


@pytest.mark.data
def test_real_documentation_full_of_code(data_dir: Path) -> None:
    lines = (data_dir / "versioned_docs" / "docs.jsonl").read_text("utf-8").splitlines()
    pages = [json.loads(line) for line in lines]
    chinese = [page for page in pages if any(letter >= "\u4e00" for letter in page["text"])]
    wrong = [page["path"] for page in chinese if detect_language(page["text"]) != page["lang"][:2]]
    assert len(wrong) <= len(chinese) / 25, wrong[:20]


@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "code"),
    [("scifact", "en"), ("locomo", "en"), ("stard_gold", "zh"), ("cmrc2018", "zh"), ("drcd", "zh")],
)
def test_real_questions(data_dir: Path, folder: str, code: str) -> None:
    """Of all questions and passages at most one in a hundred is told wrong."""
    lines = [
        json.loads(line)["text"]
        for name in ("queries", "corpus")
        for line in (data_dir / folder / f"{name}.jsonl").read_text("utf-8").splitlines()[:1000]
    ]
    wrong = [text for text in lines if detect_language(text) != code]
    assert len(wrong) <= len(lines) / 100, wrong[:10]


def test_traditional_is_told_from_simplified() -> None:
    assert is_traditional("臺灣的軟體開發")
    assert not is_traditional("台湾的软件开发")
    assert not is_traditional("中文")
    assert not is_traditional("plain text")
    assert to_simplified("臺灣的軟體開發 abc") == "台湾的软体开发 abc"
