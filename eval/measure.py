"""A set from its folder to its results: ingested once, each question asked once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cluster.settings import Settings
from eval.open import open_service
from eval.records import SHAPE, Record
from eval.results import (
    About,
    ResultFile,
    Results,
    code_digest,
    commit_of,
    data_digest,
    shaping_settings,
    write_corpus,
)
from eval.run import TOP_K, ask_all
from eval.sets import ORDER, EvalSet, cut, peer_subsets, read_folder, sample
from rerank.fusion import FusionMethod

ROOT = Path(__file__).parents[1]

Advanced = Callable[[int, int], None]
"""(questions done, of how many) is told as answers come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """How to measure. `folder` keeps results and made corpora; `code` names the version of the
    code for the key of the results, its digest when empty."""

    folder: Path
    command: str
    began: datetime
    questions: int = 300
    fusion: FusionMethod | None = None
    code: str = ""
    again: bool = False


def chosen_sets(folders: Sequence[Path], *, data: Path, subset: str = "") -> Iterator[EvalSet]:
    """Those of the folders, else all known ones under `data`; read one folder at a time. `subset`
    `peer` cuts them as `peer_subsets.json` beside the folders says."""
    for folder in folders or [data / name for name in ORDER if (data / name).is_dir()]:
        cuts = peer_subsets(folder.parent / "peer_subsets.json") if subset else {}
        for each in read_folder(folder):
            if not subset:
                yield each
            elif each.name in cuts:
                part = cuts[each.name]
                yield cut(each, documents=part["docs"], questions=part["queries"])


def corpus_file(of: EvalSet, request: Request) -> Path:
    """The file to ingest for the tenant of the set."""
    return write_corpus(of.corpus, request.folder / "corpora")


async def measure(
    of: EvalSet,
    settings: Settings,
    request: Request,
    *,
    corpus: Path,
    advanced: Advanced,
) -> Results:
    """The results of the set's sample of questions, under the key of today's code and data. What
    is there is not asked again, unless the request says `again` or something had failed.
    `corpus` is the file that `corpus_file` gave, ingested for the tenant of the set."""
    async with open_service(settings) as service:
        file = ResultFile(
            request.folder / "results",
            _about(of, settings, request, corpus=corpus, fingerprint=service.fingerprint),
        )
        if request.again:
            file.forget()
        file.start()
        asked = sample(of.questions, limit=request.questions)
        known = file.read().sound
        missing = [each for each in asked if each.question_id not in known]
        done = len(asked) - len(missing)

        def keep(record: Record) -> None:
            nonlocal done
            file.add(record)
            done += 1
            advanced(done, len(asked))

        advanced(done, len(asked))
        await ask_all(missing, service, of=of, fusion=request.fusion, keep=keep)
    return file.read().of([each.question_id for each in asked])


def _about(
    of: EvalSet, settings: Settings, request: Request, *, corpus: Path, fingerprint: str
) -> About:
    return About(
        dataset=of.name,
        data=data_digest(of, corpus),
        fingerprint=fingerprint,
        settings=shaping_settings(settings, fusion=request.fusion, top_k=TOP_K, shape=SHAPE),
        code=request.code or code_digest(ROOT),
        command=request.command,
        commit=commit_of(ROOT),
        began=request.began.isoformat(),
        documents=of.corpus.documents,
    )
