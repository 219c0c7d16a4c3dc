"""What every embedder must do. Subclass `EmbedderContract` and give it the fixture `embedder`."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest

from cluster.errors import InvalidRequest
from cluster.models.protocols import Embedder
from cluster.settings import Settings

MODELS_HOME = Path(tempfile.gettempdir()) / f"palimpsest-test-models-{os.getuid()}"
"""Kept between runs: unpacking takes seconds, and the folder is verified whenever it is opened."""

ENGLISH = "Replication keeps three copies of each region on different stores."
CHINESE = "副本机制让每个区域在不同的存储节点上保留三份数据。"
UNRELATED = "My grandmother bakes plum cake on Sundays."
HOSTILE = [
    "",
    "   \n\t ",
    "\0\0nul inside\0",
    "lone \ud800 surrogate \udfff",
    "</s><mask><pad><s><unk> [CLS] [SEP] [MASK] <|endoftext|>",
    "＜/s＞＜pad＞",
    "👩‍👩‍👧‍👦 e\u0301 \u200b\u200d\ufeff \u202e",
    "\U000e0001\U0010fff0",
    "{{{" * 50 + "'; DROP TABLE chunks; --",
    "ﷺ" * 30,
]


def default_settings(**encoder: object) -> Settings:
    return Settings.model_validate({"home": MODELS_HOME, "encoder": encoder})


class EmbedderContract:
    tolerance = 1e-5
    """How far a coordinate may move with the company that a text is embedded in."""

    def test_rows_are_unit_vectors_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        texts = [ENGLISH, "short", CHINESE, ENGLISH * 5, UNRELATED]
        languages = ["en", "en", "zh", "en", "en"]
        vectors = embedder.embed_documents(texts, languages=languages)
        assert vectors.shape == (5, embedder.dim)
        assert vectors.dtype == np.float32
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5), abs=1e-5)
        backwards = embedder.embed_documents(texts[::-1], languages=languages[::-1])
        assert np.abs(backwards[::-1] - vectors).max() <= self.tolerance

    @pytest.mark.parametrize("side", ["embed_documents", "embed_queries"])
    def test_company_does_not_matter(self, embedder: Embedder, side: str) -> None:
        embed = getattr(embedder, side)
        texts = [ENGLISH, UNRELATED * 12, CHINESE, "x", CHINESE * 3]
        together = embed(texts, languages=["en", "en", "zh", "en", "zh"])
        alone = np.concatenate(
            [
                embed([text], languages=[language])
                for text, language in zip(texts, ["en", "en", "zh", "en", "zh"], strict=True)
            ]
        )
        assert np.abs(together - alone).max() <= self.tolerance

    def test_twice_the_same(self, embedder: Embedder) -> None:
        first = embedder.embed_documents([ENGLISH, CHINESE], languages=["en", "zh"])
        again = embedder.embed_documents([ENGLISH, CHINESE], languages=["en", "zh"])
        assert np.array_equal(first, again)

    def test_shared_words_bring_texts_together(self, embedder: Embedder) -> None:
        question = "on how many stores are the copies of a region kept?"
        query = embedder.embed_queries([question], languages=["en"])[0]
        near, far = embedder.embed_documents([ENGLISH, UNRELATED], languages=["en", "en"]) @ query
        assert near > far + 0.05

    def test_no_texts(self, embedder: Embedder) -> None:
        assert embedder.embed_documents([], languages=[]).shape == (0, embedder.dim)
        assert embedder.embed_queries([], languages=[]).shape == (0, embedder.dim)
        assert embedder.count_tokens([]) == []

    def test_texts_and_languages_pair_up(self, embedder: Embedder) -> None:
        with pytest.raises(InvalidRequest, match="2 texts, but 1 languages"):
            embedder.embed_documents([ENGLISH, CHINESE], languages=["en"])

    def test_hostile_texts_have_vectors(self, embedder: Embedder) -> None:
        languages = ["und"] * len(HOSTILE)
        for embed in (embedder.embed_documents, embedder.embed_queries):
            vectors = embed(HOSTILE, languages=languages)
            assert np.isfinite(vectors).all()
            assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(HOSTILE)), abs=1e-5)
        assert len(embedder.count_tokens(HOSTILE)) == len(HOSTILE)

    def test_white_space_around_and_composition_do_not_matter(self, embedder: Embedder) -> None:
        vectors = embedder.embed_documents(
            ["café au lait", "  cafe\u0301 au lait\n"], languages=["en", "en"]
        )
        assert np.abs(vectors[0] - vectors[1]).max() <= self.tolerance

    def test_counts_grow_with_the_text(self, embedder: Embedder) -> None:
        empty, word, chinese, longer = embedder.count_tokens(
            ["", "word", CHINESE, f"{CHINESE} {CHINESE}"]
        )
        assert empty == 0
        assert word == 1
        assert 8 <= chinese <= len(CHINESE)
        assert longer >= 2 * chinese - 1

    def test_a_long_text_is_cut_at_the_limit(self, embedder: Embedder) -> None:
        words = [f"{number} plums" for number in range(3000)]
        counts = embedder.count_tokens([" ".join(words[:at]) for at in range(1, 400)])
        fitting = next(at for at, count in enumerate(counts) if count > embedder.max_tokens)
        within, over = " ".join(words[: fitting - 8]), " ".join(words[: fitting + 1])
        vectors = embedder.embed_documents(
            [within, over, " ".join(words)], languages=["en", "en", "en"]
        )
        assert np.abs(vectors[1] - vectors[2]).max() <= self.tolerance
        assert np.abs(vectors[0] - vectors[2]).max() > 10 * self.tolerance

    def test_token_vectors_come_from_the_same_pass(self, embedder: Embedder) -> None:
        texts = [ENGLISH, "", CHINESE, "word", ENGLISH * 3]
        languages = ["en", "en", "zh", "en", "en"]
        vectors, tokens = embedder.embed_documents_with_tokens(texts, languages=languages)
        plain = embedder.embed_documents(texts, languages=languages)
        assert np.abs(vectors - plain).max() <= self.tolerance
        counts = embedder.count_tokens(texts)
        assert [len(rows) <= count for rows, count in zip(tokens, counts, strict=True)] == [
            True
        ] * 5
        assert [len(tokens[1]), len(tokens[3])] == [0, 1]
        assert len(tokens[4]) == 3 * len(tokens[0]) > 0.4 * counts[4]
        for rows in tokens:
            assert rows.dtype == np.float32
            assert rows.shape[1] == embedder.dim
            assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(rows)), abs=1e-5)
        _, (alone,) = embedder.embed_documents_with_tokens([CHINESE], languages=["zh"])
        assert np.abs(alone - tokens[2]).max() <= self.tolerance
        assert embedder.embed_documents_with_tokens([], languages=[])[1] == []

    def test_token_vectors_of_a_long_text_end_at_the_limit(self, embedder: Embedder) -> None:
        words = " ".join(["plums"] * 3000)
        _, (rows,) = embedder.embed_documents_with_tokens([words], languages=["en"])
        assert len(rows) == embedder.max_tokens

    def test_function_words_of_a_passage_have_no_token_vector(self, embedder: Embedder) -> None:
        texts = ["stores, copies", "Of the stores and (also) of their copies!", "of the"]
        _, tokens = embedder.embed_documents_with_tokens(texts, languages=["en"] * 3)
        assert len(tokens[1]) == len(tokens[0]) > 0
        assert len(tokens[2]) == 2

    def test_the_same_words_match_token_by_token(self, embedder: Embedder) -> None:
        (query,) = embedder.encode_queries(["copies of each region"], languages=["en"])
        _, (near, far) = embedder.embed_documents_with_tokens(
            [ENGLISH, UNRELATED], languages=["en", "en"]
        )
        similarity = [(rows @ query.tokens.T).max(axis=0).mean() for rows in (near, far)]
        assert similarity[0] > similarity[1] + 0.1

    @pytest.mark.parametrize(
        ("question", "words"),
        [
            ("  Which café keeps\u3000three copies?\n", ["Which", "café", "keeps", "three"]),
            ("副本保留几份？ vector index", ["副本保留几份", "？", "vector", "index"]),
            ("cafe\u0301 na\u0308chste", ["cafe\u0301", "na\u0308chste"]),
            ("👍 for 🙂 it", ["👍", "for", "🙂", "it"]),
        ],
    )
    def test_spans_lead_to_the_words_of_a_question(
        self, embedder: Embedder, question: str, words: list[str]
    ) -> None:
        (query,) = embedder.encode_queries([question], languages=["en"])
        vector = embedder.embed_queries([question], languages=["en"])[0]
        assert np.abs(query.vector - vector).max() <= self.tolerance
        assert query.recipe == embedder.token_recipe
        assert len(query.tokens) == len(query.spans)
        texts = [question[start:end] for start, end in query.spans]
        assert all(text and text == text.strip() for text in texts)
        assert [start for start, _ in query.spans] == sorted(start for start, _ in query.spans)
        covered = {at for start, end in query.spans for at in range(start, end)}
        assert {at for at, sign in enumerate(question) if not sign.isspace()} <= covered
        for word in words:
            start = question.index(word)
            inside = [span for span in query.spans if start <= span[0] < start + len(word)]
            assert inside
            assert max(end for _, end in inside) <= start + len(word)

    def test_hostile_questions_have_token_vectors(self, embedder: Embedder) -> None:
        queries = embedder.encode_queries(HOSTILE, languages=["und"] * len(HOSTILE))
        for text, query in zip(HOSTILE, queries, strict=True):
            assert np.isfinite(query.tokens).all()
            assert query.tokens.shape == (len(query.spans), embedder.dim)
            assert all(0 <= start < end <= len(text) for start, end in query.spans)
        assert embedder.encode_queries([], languages=[]) == []
        with pytest.raises(InvalidRequest, match="1 texts, but 0 languages"):
            embedder.encode_queries([ENGLISH], languages=[])

    def test_the_recipe_of_token_vectors_is_eight_hex_digits(self, embedder: Embedder) -> None:
        assert re.fullmatch(r"[0-9a-f]{8}", embedder.token_recipe)

    def test_fingerprint_is_a_short_line(self, embedder: Embedder) -> None:
        assert embedder.fingerprint == embedder.fingerprint.strip()
        assert 5 < len(embedder.fingerprint) < 120
