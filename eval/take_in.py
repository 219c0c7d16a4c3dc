"""A made corpus into the running stack, for the checks that are commands of their own."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from cluster.errors import StackError
from cluster.settings import Settings
from eval.results import write_corpus
from eval.sets import Corpus
from ingest.open import open_surroundings
from ingest.progress import watcher
from ingest.run import Request, ingest


def take_in(corpus: Corpus, settings: Settings, *, rules: Path | None = None) -> None:
    """Ingest it for its tenant; what is there already costs nothing. `StackError` when nothing
    of it came in. `rules` is a rules file of the ingest."""
    path = write_corpus(corpus, settings.data_dir / "eval" / "corpora")
    request = Request(targets=(str(path),), tenant=corpus.tenant, rules_path=rules)
    shown = watcher(Console(stderr=True))
    with open_surroundings(settings) as around, shown:
        done = ingest(request, around, shown)
    if done.state != "succeeded":
        raise StackError(f"nothing of {path} came in: run {done.run_id} {done.state}")
