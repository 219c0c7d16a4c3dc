"""Which mean vector is taken off a text's vector?

A multilingual encoder spends part of each vector on the language of the text and on whether it
is a question. Taking off the mean of that language and side brings the languages together
(Yang et al., EMNLP 2021, on language identity). The means are data: `centres/<model>.json`,
made by `eval.centres`. Token vectors have means of their own, in `centres/<model>.tokens.json`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from cluster.errors import ModelError
from cluster.ids import digest
from cluster.model import TokenVectors, Vector, Vectors

Side = Literal["document", "query"]
SIDES: tuple[Side, ...] = ("document", "query")
OVERALL = "overall"
FOLDER = Path(__file__).parent / "centres"

ROW_RULE = "last-layer-content-words-1"
"""Which tokens have a vector, and what is done with it."""

_SMALLEST = 1e-6
_TOKENS = ".tokens"


@dataclass(frozen=True, slots=True, eq=False)
class Centres:
    """`means[language][side]` of shape `(dim,)`; the language `overall` stands for others.
    `digest` is the SHA-256 of the file, in hex."""

    means: Mapping[str, Mapping[Side, Vector]]
    digest: str

    @property
    def dim(self) -> int:
        return len(self.means[OVERALL]["document"])


def read_centres(model: str, *, folder: Path = FOLDER) -> Centres | None:
    """The means of a model by the last part of its name or path; None when there are none."""
    path = folder / f"{Path(model).name}.json"
    if not path.is_file():
        return None
    raw = path.read_bytes()
    try:
        listed = json.loads(raw)["means"]
        means: dict[str, Mapping[Side, Vector]] = {
            language: {side: np.array(listed[language][side], dtype=np.float32) for side in SIDES}
            for language in (OVERALL, *listed)
        }
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is not a file of language means: {error}") from error
    return Centres(means, hashlib.sha256(raw).hexdigest())


def read_token_centres(model: str, *, folder: Path = FOLDER) -> Centres | None:
    """The means of a model's token vectors, by the same name."""
    return read_centres(f"{Path(model).name}{_TOKENS}", folder=folder)


def token_recipe(centres: Centres | None) -> str:
    """Eight hex digits that change when the same encoder's token vectors would be others."""
    return digest(ROW_RULE, centres.digest if centres else "plain").hex()[:8]


def centred(vectors: Vectors, *, languages: Sequence[str], side: Side, centres: Centres) -> Vectors:
    """Unit rows without the mean of their language, unit rows again. A row that is nothing but
    its mean stays as it was."""
    if not len(vectors):
        return vectors
    off = np.stack([_mean(centres, language, side) for language in languages])
    return _without(off, vectors)


def centred_tokens(
    tokens: TokenVectors, *, language: str, side: Side, centres: Centres
) -> TokenVectors:
    """The same for the tokens of one text."""
    return _without(_mean(centres, language, side), tokens)


def _mean(centres: Centres, language: str, side: Side) -> Vector:
    return centres.means.get(language, centres.means[OVERALL])[side]


def _without(off: Vector | Vectors, vectors: Vectors) -> Vectors:
    moved = vectors - off
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    return np.where(lengths > _SMALLEST, moved / np.maximum(lengths, _SMALLEST), vectors)
