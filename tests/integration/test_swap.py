"""Embedded text index or server: the same rows and questions give the same rankings."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cluster.stores.elasticsearch.index import ElasticsearchTextIndex
from cluster.stores.tantivy.index import TantivyTextIndex
from eval.bench.corpus import sentence
from eval.bench.swap import Swap, compare_text
from eval.datasets import Document, Query, RetrievalSet, read_set
from servers.elasticsearch_index import new_settings, removed

pytestmark = pytest.mark.stores


def made_up(*, documents: int, questions: int) -> RetrievalSet:
    """Texts of very different lengths in two languages, some without any term."""
    rng = random.Random("swap")

    def text(words: int) -> str:
        return sentence(rng, language=rng.choice(["en", "zh"]), words=words)

    return RetrievalSet(
        name="made-up",
        documents=tuple(
            Document(doc_id=f"d{n}", title="", text=text(1 + n % 400) if n % 50 else "…", fields={})
            for n in range(documents)
        ),
        queries=tuple(
            Query(query_id=f"q{n}", text=text(1 + n % 12), fields={}) for n in range(questions)
        ),
        qrels={},
    )


async def test_made_up_texts(tmp_path: Path, elasticsearch_url: str) -> None:
    dataset = made_up(documents=600, questions=150)
    swap = await swapped(dataset, tmp_path, elasticsearch_url)
    assert (swap.questions, swap.differing) == (100, ())


@pytest.mark.data
@pytest.mark.parametrize("name", ["stard_gold", "cranfield"])
async def test_real_texts(
    name: str, data_dir: Path, tmp_path: Path, elasticsearch_url: str
) -> None:
    swap = await swapped(read_set(data_dir / name), tmp_path, elasticsearch_url)
    assert (swap.questions, swap.differing) == (100, ())
    # The embedded index rounds to six digits.
    assert swap.largest_difference < 1e-5


async def swapped(dataset: RetrievalSet, folder: Path, url: str) -> Swap:
    settings = new_settings(url)
    embedded = TantivyTextIndex.open(folder)
    server = await ElasticsearchTextIndex.open(settings)
    try:
        return await compare_text(dataset, embedded, server, questions=100)
    finally:
        await server.close()
        await embedded.close()
        await removed(settings)
