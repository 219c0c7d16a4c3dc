"""What do token vectors cost at rest, and what does each way to keep them lose?

    python -m eval.bench.token_vectors DATA_DIR [SET…] --cache DIR [--questions 150] [--only 2]

Encodes the sets once (minutes) and keeps that in the cache. Prints for each coding the bytes of
a chunk, per set and on average, and nDCG@10 of what is reranked with it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cluster.model import TokenVectors
from cluster.settings import load_settings
from eval.bench.token_codes import FITTED_ON, Coding, codings, unit
from eval.bench.token_sets import TokenSet, ndcg, open_set

SETS = ("xquad_en_zh", "stard_gold", "locomo")


def measured(one: TokenSet, coding: Coding) -> tuple[float, float]:
    """Bytes of a chunk, and nDCG@10."""
    rows, lengths = restored(one, coding)
    return coding.row_bytes * float(lengths.mean()), ndcg(one, rows, lengths)


def restored(one: TokenSet, coding: Coding) -> tuple[TokenVectors, NDArray[np.int64]]:
    encoded = one.encoded
    ends = np.cumsum(encoded.lengths)[:-1]
    parts = [
        coding.restored(unit(rows.astype(np.float32)), content)
        for rows, content in zip(
            np.split(encoded.tokens, ends), np.split(encoded.content, ends), strict=True
        )
    ]
    return np.concatenate(parts), np.array([len(part) for part in parts])


def others_of(sets: Sequence[TokenSet], one: TokenSet) -> TokenVectors:
    """Token vectors of the other sets, as many of each; of itself where there are none."""
    others = [each for each in sets if each is not one] or [one]
    share = FITTED_ON // len(others)
    drawn = [
        each.encoded.tokens[:: max(1, len(each.encoded.tokens) // share)][:share] for each in others
    ]
    return np.concatenate(drawn).astype(np.float32)


def table(sets: Sequence[TokenSet], *, only: str) -> Iterator[str]:
    """Markdown, of the codings whose name begins with `only`."""
    names = [one.name for one in sets]
    columns = " | ".join(f"{name} B | nDCG@10" for name in names)
    yield f"| coding | {columns} |"
    yield "|---" * (1 + 2 * len(sets)) + "|"
    by_set = [list(codings(others_of(sets, one))) for one in sets]
    for each in zip(*by_set, strict=True):
        if not each[0].name.startswith(only):
            continue
        cells = [measured(one, coding) for one, coding in zip(sets, each, strict=True)]
        told = " | ".join(f"{size:,.0f} | {value:.4f}" for size, value in cells)
        yield f"| {each[0].name} | {told} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", type=Path, help="folder of the sets and peer_subsets.json")
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--only", default="", help="how the names of codings begin")
    parser.add_argument("--questions", type=int, default=150)
    arguments = parser.parse_args()
    sets = [
        open_set(
            arguments.data_dir / name,
            arguments.data_dir / "peer_subsets.json",
            questions=arguments.questions,
            cache=arguments.cache,
            settings=load_settings(),
        )
        for name in arguments.sets
    ]
    for line in table(sets, only=arguments.only):
        print(line, flush=True)


if __name__ == "__main__":
    main()
