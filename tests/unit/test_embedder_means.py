from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cluster.models.centring import (
    OVERALL,
    SIDES,
    read_centres,
    read_token_centres,
    token_recipe,
)
from cluster.models.hashing import HashingEmbedder
from eval.centres import DIGITS, SETS, as_json, language_means, sample


def _write_sets(folder: Path, sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        place = folder / name
        place.mkdir(parents=True)
        corpus = [{"doc_id": f"d{at}", "text": f"{name} text {at}"} for at in range(size)]
        queries = [{"query_id": f"q{at}", "text": f"{name} query {at}"} for at in range(size)]
        (place / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
        (place / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
        (place / "qrels.tsv").write_text("")


def test_a_sample_depends_on_ids_alone() -> None:
    texts = {f"id{at}": str(at) for at in range(50)}
    backwards = dict(reversed(texts.items()))
    assert sample(texts, size=7) == sample(backwards, size=7)
    assert len(set(sample(texts, size=7))) == 7
    assert sample(texts, size=7) != [str(at) for at in range(7)]
    assert sorted(sample(texts, size=99)) == sorted(texts.values())


def test_each_set_counts_the_same(tmp_path: Path) -> None:
    names = [name for sets in SETS.values() for name in sets]
    _write_sets(tmp_path, {name: 3 + at * 5 for at, name in enumerate(names)})
    embedder = HashingEmbedder(32)
    means = language_means(embedder, tmp_path, size=100)
    of_sets = [
        embedder.embed_documents(
            [f"{name} text {at}" for at in range(3 + names.index(name) * 5)],
            languages=["en"] * (3 + names.index(name) * 5),
        ).mean(axis=0)
        for name in SETS["en"]
    ]
    assert means["en"]["document"] == pytest.approx(np.mean(of_sets, axis=0), abs=1e-6)
    for side in SIDES:
        both = (means["zh"][side] + means["en"][side]) / 2
        assert means[OVERALL][side] == pytest.approx(both, abs=1e-6)


def test_the_means_of_tokens_count_each_token_alike(tmp_path: Path) -> None:
    for names in SETS.values():
        for name in names:
            (tmp_path / name).mkdir()
            lines = [{"doc_id": "a", "text": "anchor"}, {"doc_id": "b", "text": "boat boat boat"}]
            asked = [{"query_id": "q", "text": "which boat?"}]
            (tmp_path / name / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
            (tmp_path / name / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
            (tmp_path / name / "qrels.tsv").write_text("")
    embedder = HashingEmbedder(32)
    means = language_means(embedder, tmp_path, tokens=True)
    _, (anchor, boat) = embedder.embed_documents_with_tokens(
        ["anchor", "boat"], languages=["en", "en"]
    )
    (query,) = embedder.encode_queries(["which boat?"], languages=["en"])
    for language in ("zh", "en", OVERALL):
        wanted = (anchor[0] + 3 * boat[0]) / 4
        assert means[language]["document"] == pytest.approx(wanted, abs=1e-6)
        assert means[language]["query"] == pytest.approx(query.tokens.mean(axis=0), abs=1e-6)


def test_the_default_model_has_means_of_tokens() -> None:
    centres = read_token_centres("some/folder/multilingual-e5-small")
    assert centres is not None
    assert centres.dim == 384
    assert {"zh", "en", OVERALL} == centres.means.keys()
    plain = read_centres("multilingual-e5-small")
    assert plain is not None
    assert token_recipe(centres) != token_recipe(plain) != token_recipe(None)
    assert len(token_recipe(centres)) == 8
    assert read_token_centres("another-model") is None


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    means = {
        language: {side: np.array([0.123456789, -1 / 3], dtype=np.float32) for side in SIDES}
        for language in ("zh", "en", OVERALL)
    }
    text = as_json(means, fingerprint="model@1/x", size=5)
    (tmp_path / "model.json").write_text(text)
    assert json.loads(text)["encoder"] == "model@1/x"
    found = read_centres("some/model", folder=tmp_path)
    assert found is not None
    assert found.means["zh"]["query"].tolist() == [
        pytest.approx(0.12346, abs=10**-DIGITS / 2),
        pytest.approx(-0.33333, abs=10**-DIGITS / 2),
    ]
