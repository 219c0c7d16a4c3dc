"""Bytes to text: every common encoding, marked, declared or guessed; binary is refused."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cluster.errors import UnreadableItem
from ingest.parse.encoding import clean, decode

TEXTS = {
    "short Chinese": ("数据库\n内存不足", ("gb18030", "utf-16-le", "utf-16-be", "utf-32-le")),
    "Chinese table": ("产品,价格\n苹果,3\n香蕉,4", ("gb18030", "utf-16-le", "utf-32-be")),
    "Chinese": ("本文介绍如何在集群中配置备份任务，包括时间间隔和保留策略。", ("gb18030",)),
    "traditional": ("產品說明：請先閱讀本文件再開始安裝。", ("cp950", "utf-16-le")),
    "Japanese table": ("名前,年齢\n佐藤,30", ("cp932", "euc_jp", "iso2022_jp")),
    "Japanese": ("本書ではデータベースの設定方法について説明します。", ("cp932", "euc_jp")),
    "Korean": ("이름,나이\n김철수,30", ("cp949",)),
    "German": ("## können\n\näöüß\n", ("cp1252",)),
    "one word": ("Größe: 5 m\n", ("cp1252",)),
    "French": ("Résumé du café — naïve façade", ("cp1252",)),
    "Polish": ("Zażółć gęślą jaźń. Proszę przeczytać.", ("cp1250", "iso8859_2")),
    "Czech": ("Příliš žluťoučký kůň úpěl ďábelské ódy.", ("cp1250",)),
    "Russian": ("Настройка базы данных.", ("cp1251", "koi8_r", "cp866", "iso8859_5")),
    "Ukrainian": ("Налаштування бази даних і копіювання її.", ("cp1251", "koi8_u")),
    "Greek": ("Ρυθμίσεις της βάσης δεδομένων", ("cp1253", "iso8859_7")),
    "Hebrew": ("הגדרות מסד הנתונים והגיבוי", ("cp1255",)),
    "Arabic": ("إعدادات قاعدة البيانات والنسخ الاحتياطي", ("cp1256", "iso8859_6")),
    "Turkish": ("Veritabanı ayarları ve yedekleme için şifre", ("cp1254",)),
    "Thai": ("การตั้งค่าฐานข้อมูลและการสำรองข้อมูล", ("cp874",)),
    "mixed": ("# Config\nThe server 服务器 must be restarted.", ("gb18030",)),
    "marks": ("Palimpsest™ “quotes” – it’s €5", ("cp1252",)),
}


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        pytest.param(text, codec, id=f"{name} {codec}")
        for name, (text, codecs) in TEXTS.items()
        for codec in codecs
    ],
)
def test_legacy_bytes_read_as_written(text: str, codec: str) -> None:
    assert decode(text.encode(codec)).text == text


@pytest.mark.parametrize(
    "codec", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
)
def test_unicode_with_and_without_mark(codec: str) -> None:
    text = "Hello, 世界\nsecond line"
    decoded = decode(text.encode(codec))
    assert decoded.text == text
    assert decoded.encoding.replace("-sig", "").startswith(codec[:6].removesuffix("-"))


def test_mark_of_utf_32_is_not_taken_for_that_of_utf_16() -> None:
    assert decode(b"\xff\xfe\0\0" + "abc".encode("utf-32-le")).encoding == "utf-32-le"
    assert decode(b"\xff\xfe" + "abc".encode("utf-16-le")).encoding == "utf-16-le"


def test_declared_charset_wins_over_the_guess() -> None:
    page = '<meta charset="windows-1251"><p>Да</p>'.encode("cp1251")
    assert decode(page).encoding == "cp1251"
    assert "Да" in decode(page).text
    xml = '<?xml version="1.0" encoding="GB2312"?><a>价格</a>'.encode("gb18030")
    assert decode(xml).encoding == "gb18030"
    assert decode("ÄÖ".encode("cp850"), declared="cp850").text == "ÄÖ"


def test_wrong_declaration_does_not_harm_utf_8() -> None:
    assert "价格" in decode('<meta charset="gb2312">价格'.encode()).text


def test_a_broken_byte_in_much_utf_8_is_noted() -> None:
    content = ("Größenänderung " * 20).encode() + b"\xff" + "überall".encode()
    decoded = decode(content)
    assert decoded.encoding == "utf-8"
    assert decoded.text.count("\ufffd") == 1
    assert "1 bytes are not valid UTF-8" in decoded.notes


@pytest.mark.parametrize("content", [b"", b" \n\t ", b"\0\0\0\0", b"\xef\xbb\xbf\n"])
def test_nothing_is_empty(content: bytes) -> None:
    with pytest.raises(UnreadableItem) as refused:
        decode(content)
    assert refused.value.kind == "empty"


def test_binary_is_refused() -> None:
    with pytest.raises(UnreadableItem) as refused:
        decode(bytes(range(256)) * 20)
    assert refused.value.kind == "binary"


def test_control_characters_and_line_ends_are_cleaned() -> None:
    assert clean("a\r\nb\rc\0d\x07e\ud800") == "a\nb\ncde\ufffd"


@given(st.binary(max_size=400))
def test_arbitrary_bytes_decode_or_are_refused(content: bytes) -> None:
    try:
        text = decode(content).text
    except UnreadableItem:
        return
    assert text.strip()
    assert "\0" not in text
    assert "\r" not in text
    text.encode("utf-8")


@given(st.text(min_size=1, max_size=200))
def test_utf_8_round_trip(text: str) -> None:
    content = text.encode("utf-8", "replace")
    wanted = clean(content.decode())
    assume(wanted.strip() and wanted == content.decode())
    assert decode(content).text == wanted
