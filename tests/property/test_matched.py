"""The quick way gives what the index analysis gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cluster.text.terms import document_terms
from rerank.matched import terms_of

WORDS = st.sampled_from(
    [
        "metadata.filter",
        "FIT-2024-0087",
        "hybrid=True",
        "v2.4.1",
        "retries",
        "访问令牌",
        "C++",
        "\n",
    ]
)


@given(st.lists(st.one_of(WORDS, st.text(max_size=12)), max_size=12).map(" ".join))
def test_the_terms_of_a_text_are_those_of_its_words(text: str) -> None:
    assert terms_of(text) == set(document_terms(text))
