"""Estimates the means that `cluster.models.centring` takes off. Run as
`python -m eval.centres DATA_DIR --out cluster/models/centres/multilingual-e5-small.json`, for
token vectors with `--tokens` and a name that ends in `.tokens.json`.

Per set and side: the mean of the plain unit vectors of a fixed sample, or of its tokens. Per
language: the mean of its sets' means, so that each set counts the same whatever its size.
`overall`: the mean of the languages. The sets are those whose licences allow it; all others
stay unseen, to be tested on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cluster.ids import digest
from cluster.model import Vector
from cluster.models.centring import OVERALL, SIDES, Side
from cluster.models.open import open_embedder
from cluster.models.protocols import Embedder
from cluster.settings import Settings, load_settings
from eval.datasets import RetrievalSet, read_set

SETS: Mapping[str, tuple[str, ...]] = {
    "zh": ("cmrc2018", "drcd", "stard_gold"),
    "en": ("ramdocs", "scifact"),
}
SAMPLE = 400
"""Texts of each set and side; all of them where there are fewer."""
TOKEN_SAMPLE = 100
"""The same for token vectors, of which a text has hundreds."""

DIGITS = 5

Means = dict[str, dict[Side, Vector]]


def sample(texts_by_id: Mapping[str, str], *, size: int) -> list[str]:
    """`size` texts that depend on their ids alone, not on their order."""
    chosen = sorted(texts_by_id, key=digest)[:size]
    return [texts_by_id[one] for one in chosen]


def texts_of(retrieval_set: RetrievalSet, *, side: Side, size: int) -> list[str]:
    if side == "query":
        texts = {query.query_id: query.text for query in retrieval_set.queries}
    else:
        texts = {document.doc_id: document.full_text for document in retrieval_set.documents}
    return sample(texts, size=size)


def set_mean(embedder: Embedder, texts: Sequence[str], *, language: str, side: Side) -> Vector:
    languages = [language] * len(texts)
    embed = embedder.embed_queries if side == "query" else embedder.embed_documents
    mean: Vector = embed(texts, languages=languages).mean(axis=0, dtype=np.float64)
    return mean


def token_mean(embedder: Embedder, texts: Sequence[str], *, language: str, side: Side) -> Vector:
    """Of all tokens of all texts alike."""
    languages = [language] * len(texts)
    if side == "query":
        tokens = [one.tokens for one in embedder.encode_queries(texts, languages=languages)]
    else:
        _, tokens = embedder.embed_documents_with_tokens(texts, languages=languages)
    mean: Vector = np.concatenate(tokens).mean(axis=0, dtype=np.float64)
    return mean


def language_means(
    embedder: Embedder, data_dir: Path, *, size: int = SAMPLE, tokens: bool = False
) -> Means:
    """`embedder` must not take means off itself."""
    mean_of = token_mean if tokens else set_mean
    means: Means = {}
    for language, names in SETS.items():
        sets = [read_set(data_dir / name) for name in names]
        means[language] = {
            side: _mean(
                [
                    mean_of(
                        embedder, texts_of(one, side=side, size=size), language=language, side=side
                    )
                    for one in sets
                ]
            )
            for side in SIDES
        }
    means[OVERALL] = {side: _mean([means[one][side] for one in SETS]) for side in SIDES}
    return means


def as_json(means: Means, *, fingerprint: str, size: int) -> str:
    """One line for each mean, so that a change is readable."""
    head = {"encoder": fingerprint, "sets": SETS, "texts_per_set": size}
    listed = {
        language: {side: [round(float(x), DIGITS) for x in sides[side]] for side in SIDES}
        for language, sides in means.items()
    }
    rows = [
        f'  "{language}": {{\n'
        + ",\n".join(f'   "{side}": {json.dumps(sides[side])}' for side in SIDES)
        + "\n  }"
        for language, sides in listed.items()
    ]
    return json.dumps(head, indent=1)[:-2] + ',\n "means": {\n' + ",\n".join(rows) + "\n }\n}\n"


def plain(settings: Settings) -> Settings:
    encoder = settings.encoder.model_copy(update={"centred": False})
    return settings.model_copy(update={"encoder": encoder})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", type=Path, help="folder that holds the sets")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--tokens", action="store_true", help="means of token vectors")
    parser.add_argument("--texts-per-set", type=int)
    arguments = parser.parse_args()
    size = arguments.texts_per_set or (TOKEN_SAMPLE if arguments.tokens else SAMPLE)
    embedder = open_embedder(plain(load_settings()))
    means = language_means(embedder, arguments.data_dir, size=size, tokens=arguments.tokens)
    text = as_json(means, fingerprint=embedder.fingerprint, size=size)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text, encoding="utf-8")
    print(f"{arguments.out}: means of {', '.join(means)}")


def _mean(vectors: Sequence[Vector]) -> Vector:
    mean: Vector = np.mean(np.stack(vectors), axis=0)
    return mean


if __name__ == "__main__":
    main()
