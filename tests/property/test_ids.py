"""Ids come from content: stable for ever, and never the same for different parts."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.ids import chunk_id, content_id, digest, document_id, revision_id, sha256_hex

any_text = st.text(st.characters(exclude_categories=()), max_size=12)
parts = st.lists(any_text, max_size=4)


@given(one=parts, other=parts)
def test_different_parts_have_different_digests(one: list[str], other: list[str]) -> None:
    assert (digest(*one) == digest(*other)) == (one == other)


@given(text=any_text, cut=st.integers(0, 12))
def test_where_a_text_is_cut_matters(text: str, cut: int) -> None:
    first, rest = text[:cut], text[cut:]
    assert digest(first, rest) != digest(text)
    if 0 < cut < len(text):
        assert digest(first, rest) != digest(text[: cut - 1], text[cut - 1 :])


@given(parts=parts)
def test_an_id_is_a_prefix_and_26_letters(parts: list[str]) -> None:
    assert re.fullmatch(r"chk_[a-z2-7]{26}", content_id("chk", *parts))
    assert content_id("chk", *parts) == content_id("chk", *parts)


@given(number=st.integers())
def test_a_number_is_its_decimal_text(number: int) -> None:
    assert digest(number) == digest(str(number)) == digest(str(number).encode())


@given(text=st.text())
def test_sha256_hex_is_what_anyone_computes(text: str) -> None:
    assert (
        sha256_hex(text) == hashlib.sha256(text.encode()).hexdigest() == sha256_hex(text.encode())
    )


def test_lone_surrogates_are_kept_distinct() -> None:
    texts = ["\ud800", "\ud801", "\udfff", "?", "\ufffd", ""]
    assert len({digest(text) for text in texts}) == len(texts)


def test_ids_are_the_same_for_ever() -> None:
    """Stored ids depend on these; a change makes every collection foreign."""
    document = document_id(tenant="default", source="docs", path="a/b.md", language="zh")
    revision = revision_id(
        document=document, edition="7.5", content="c" * 64, metadata="m" * 64, recipe="r"
    )
    chunk = chunk_id(revision=revision, start=0, end=3, text="中文🙂")
    assert (document, revision, chunk) == (
        "doc_yznq4youtfxwuptgk3xhyaeppe",
        "rev_uidqu52c2gdpieoyvjsqzk6dam",
        "chk_ycbsupmmclkiaghxkcffhkhizm",
    )


@pytest.mark.parametrize("changed", ["tenant", "source", "path", "language"])
def test_every_part_of_a_document_counts(changed: str) -> None:
    same = {"tenant": "t", "source": "s", "path": "p", "language": "en"}
    assert document_id(**same) != document_id(**{**same, changed: "other"})


def test_an_owner_counts_and_none_is_no_owner() -> None:
    same = {"tenant": "t", "source": "s", "path": "p", "language": "en"}
    ids = {document_id(**same, owner=owner) for owner in ("ada", "bo", "en", None)}
    assert len(ids) == 4
    assert document_id(**same, owner="") == document_id(**same)


@given(start=st.integers(0, 99), end=st.integers(0, 99))
def test_the_span_of_a_chunk_counts(start: int, end: int) -> None:
    here = chunk_id(revision="rev_a", start=start, end=end, text="x")
    assert here != chunk_id(revision="rev_a", start=start + 1, end=end, text="x")
    assert here != chunk_id(revision="rev_a", start=start, end=end + 1, text="x")
    assert here != chunk_id(revision="rev_b", start=start, end=end, text="x")
