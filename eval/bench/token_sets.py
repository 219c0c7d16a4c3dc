"""Questions, passages and their token vectors, kept on disk, and how well each coding of them
ranks. Used by `eval.bench.token_vectors`.

The pool of a question is the whole conversation for `locomo`, elsewhere the best 60 passages by
`.5 z(BM25) + z(cosine)`. It is ranked by `.5 z(BM25 in its language) + 1.5 z(MaxSim)`, content
words only, turns with their neighbours.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cluster.errors import InvalidSettings
from cluster.model import TokenVectors, Vectors
from cluster.models.embedder import ModelEmbedder
from cluster.models.open import open_embedder
from cluster.settings import Settings
from cluster.text.content_words import content_tokens
from cluster.text.languages import detect_language
from cluster.text.terms import content_terms, document_terms, query_terms
from eval.datasets import Document, Query, RetrievalSet, read_set, sample
from eval.metrics import ndcg_per_query
from rerank.late_interaction import highest_cosines, z_scores
from rerank.turns import NOWHERE, Neighbours, in_windows, words_in_windows

POOL = 60
TOP = 10
K1, B = 1.2, 0.75
BATCH = 64

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoded:
    """Rows of `tokens` below each other, `lengths` of each passage; of the questions the content
    tokens alone. `content` marks the rows of passages that belong to content words."""

    tokens: NDArray[np.float16]
    lengths: NDArray[np.int64]
    content: NDArray[np.bool_]
    vectors: Vectors
    question_tokens: NDArray[np.float16]
    question_lengths: NDArray[np.int64]
    question_vectors: Vectors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenSet:
    """`bm25[question, passage]`; `pools[question]` are positions of passages, `same` whether
    each of those is in the question's language."""

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    qrels: Mapping[str, Mapping[str, int]]
    encoded: Encoded
    bm25: Floats
    pools: list[NDArray[np.int64]]
    around: list[Neighbours]
    same: list[NDArray[np.bool_]]


def open_set(
    folder: Path, subsets: Path, *, questions: int, cache: Path, settings: Settings
) -> TokenSet:
    """The cut corpus of `subsets`, if it has one of this set."""
    documents, queries, qrels = _cut(read_set(folder), subsets, questions=questions)
    kept = cache / f"{folder.name}-{questions}.npz"
    if not kept.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = _encode(documents, queries, settings)
        np.savez(kept, **arrays)
    encoded = Encoded(**np.load(kept))
    bm25 = bm25_scores([one.full_text for one in documents], [one.text for one in queries])
    pools = [_pool(at, documents, queries, encoded, bm25) for at in range(len(queries))]
    return TokenSet(
        name=folder.name,
        documents=tuple(documents),
        queries=tuple(queries),
        qrels=qrels,
        encoded=encoded,
        bm25=bm25,
        pools=pools,
        around=[_around(documents, pool) for pool in pools],
        same=_same_language(documents, queries, pools),
    )


def ndcg(one: TokenSet, rows: TokenVectors, lengths: NDArray[np.int64]) -> float:
    """Mean nDCG@10, linear gains, when the passages' token vectors are `rows`."""
    starts = np.cumsum(lengths) - lengths
    run = {
        query.query_id: _ranked(one, at, rows, starts, lengths)
        for at, query in enumerate(one.queries)
    }
    values = ndcg_per_query(one.qrels, run)
    return sum(values.values()) / len(values)


def _ranked(
    one: TokenSet,
    at: int,
    rows: TokenVectors,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> list[str]:
    pool, around = one.pools[at], one.around[at]
    encoded = one.encoded
    first = int(encoded.question_lengths[:at].sum())
    question = encoded.question_tokens[first : first + int(encoded.question_lengths[at])]
    own = np.concatenate([rows[starts[each] : starts[each] + lengths[each]] for each in pool])
    found = highest_cosines(question.astype(np.float32), own, lengths[pool])
    similarity = in_windows(found, around).mean(axis=1).astype(np.float64)
    keyword = words_in_windows(one.bm25[at, pool], around)
    total = 1.5 * z_scores(similarity) + 0.5 * z_scores(keyword, counted=one.same[at])
    best = np.argsort(-total, kind="stable")[:TOP]
    return [one.documents[pool[each]].doc_id for each in best]


def bm25_scores(texts: Sequence[str], questions: Sequence[str]) -> Floats:
    """Of the product's own terms, without function words."""
    counts = [Counter(document_terms(text)) for text in texts]
    sizes = np.array([sum(each.values()) for each in counts], dtype=np.float64)
    weight = K1 * (1 - B + B * sizes / sizes.mean())
    scores = np.zeros((len(questions), len(texts)))
    places: dict[str, list[tuple[int, int]]] = {}
    for at, each in enumerate(counts):
        for term, count in each.items():
            places.setdefault(term, []).append((at, count))
    for at, question in enumerate(questions):
        for asked in content_terms(query_terms(question)):
            found = np.array(places.get(asked.term, []), dtype=np.int64).reshape(-1, 2)
            idf = np.log(1 + (len(texts) - len(found) + 0.5) / (len(found) + 0.5))
            where, often = found[:, 0], found[:, 1]
            scores[at, where] += asked.weight * idf * often * (K1 + 1) / (often + weight[where])
    return scores


def _cut(
    whole: RetrievalSet, subsets: Path, *, questions: int
) -> tuple[list[Document], list[Query], dict[str, Mapping[str, int]]]:
    part = json.loads(subsets.read_text(encoding="utf-8")).get(whole.name)
    kept = set(part["docs"]) if part else {one.doc_id for one in whole.documents}
    asked = set(part["queries"]) if part else {one.query_id for one in whole.judged}
    documents = [one for one in whole.documents if one.doc_id in kept]
    queries = sample([one for one in whole.judged if one.query_id in asked], limit=questions)
    qrels = {one.query_id: whole.qrels[one.query_id] for one in queries}
    return documents, queries, qrels


def _encode(
    documents: Sequence[Document], queries: Sequence[Query], settings: Settings
) -> dict[str, Any]:
    embedder = open_embedder(settings)
    if not isinstance(embedder, ModelEmbedder):
        raise InvalidSettings("encoder.backend hashing has no function words to leave out")
    tokens, vectors = list[NDArray[np.float16]](), list[Vectors]()
    content = list[NDArray[np.bool_]]()
    for at in range(0, len(documents), BATCH):
        texts = [one.full_text for one in documents[at : at + BATCH]]
        languages = [detect_language(text) for text in texts]
        made, of_tokens, kept = embedder.embed_documents_with_all_tokens(texts, languages=languages)
        vectors.append(made)
        content += kept
        tokens += [each.astype(np.float16) for each in of_tokens]
    asked = [one.text for one in queries]
    encoded = embedder.encode_queries(asked, languages=[detect_language(text) for text in asked])
    told = [
        one.tokens[content_tokens(text, one.spans)]
        for text, one in zip(asked, encoded, strict=True)
    ]
    return {
        "tokens": np.concatenate(tokens),
        "lengths": np.array([len(each) for each in tokens]),
        "content": np.concatenate(content),
        "vectors": np.concatenate(vectors),
        "question_tokens": np.concatenate(told).astype(np.float16),
        "question_lengths": np.array([len(each) for each in told]),
        "question_vectors": np.stack([one.vector for one in encoded]),
    }


def _pool(
    at: int,
    documents: Sequence[Document],
    queries: Sequence[Query],
    encoded: Encoded,
    bm25: Floats,
) -> NDArray[np.int64]:
    conversation = queries[at].fields.get("conversation")
    if conversation is not None:
        own = [one.fields["conversation"] == conversation for one in documents]
        return np.flatnonzero(own)
    cosine = (encoded.vectors @ encoded.question_vectors[at]).astype(np.float64)
    total = 0.5 * z_scores(bm25[at]) + z_scores(cosine)
    return np.argsort(-total, kind="stable")[:POOL]


def _same_language(
    documents: Sequence[Document], queries: Sequence[Query], pools: Sequence[NDArray[np.int64]]
) -> list[NDArray[np.bool_]]:
    spoken = np.array([detect_language(one.text) for one in documents])
    return [
        spoken[pool] == detect_language(query.text)
        for query, pool in zip(queries, pools, strict=True)
    ]


def _around(documents: Sequence[Document], pool: NDArray[np.int64]) -> Neighbours:
    """Turns stand in the order of their session."""
    places = {int(each): at for at, each in enumerate(pool)}
    sessions = [documents[each].fields.get("session") for each in pool]
    previous = np.full(len(pool), NOWHERE, dtype=np.int64)
    following = np.full(len(pool), NOWHERE, dtype=np.int64)
    for at, each in enumerate(pool):
        left = places.get(int(each) - 1, NOWHERE)
        if left != NOWHERE and sessions[at] is not None and sessions[left] == sessions[at]:
            previous[at], following[left] = left, at
    second = np.where(previous == NOWHERE, NOWHERE, previous[previous])
    return Neighbours(before_previous=second, previous=previous, next=following)
