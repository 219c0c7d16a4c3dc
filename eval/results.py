"""Results on disk: one file a set and key, one line a question, so that nothing is asked twice.

The key is what shapes an answer: the corpus and the questions, the encoder, the settings, and the
code. The first line tells it, with the command and the commit that began the file.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cluster.errors import InvalidRequest
from cluster.ids import digest, sha256_hex
from cluster.settings import Settings
from eval.records import Record, as_json, from_json
from eval.sets import Corpus, EvalSet

SHAPING = ("cluster", "ingest", "rerank", "serve")
"""The packages whose code shapes an answer."""

_CODE = (".py", ".toml", ".json", ".sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a file of results is of. `code` is a digest, or the name that the caller gave it."""

    dataset: str
    data: str
    fingerprint: str
    settings: Mapping[str, Any]
    code: str
    command: str = ""
    commit: str = ""
    began: str = ""
    documents: int = 0

    @property
    def key(self) -> str:
        told = json.dumps(self.settings, sort_keys=True, default=str)
        return digest(self.dataset, self.data, self.fingerprint, told, self.code).hex()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The records of one set under one key, in the order in which they were asked."""

    about: About
    records: tuple[Record, ...] = field(repr=False)

    @property
    def sound(self) -> frozenset[str]:
        """The questions whose latest answer lacks nothing."""
        latest = {record.question_id: record for record in self.records}
        return frozenset(each for each, record in latest.items() if not record.failures)

    def of(self, question_ids: Sequence[str]) -> Results:
        """Only the latest answers to these questions, in this order; all must be there."""
        by_id = {record.question_id: record for record in self.records}
        return Results(about=self.about, records=tuple(by_id[each] for each in question_ids))


class ResultFile:
    """Where the records of one set and key are kept; lines are added as answers come."""

    def __init__(self, folder: Path, about: About) -> None:
        self.path = folder / f"{about.dataset}-{about.key}.jsonl"
        self.about = about

    def read(self) -> Results:
        """What is there already; a last line that was cut off by a kill is passed over."""
        lines = list(_whole_lines(self.path)) if self.path.exists() else []
        if not lines:
            return Results(about=self.about, records=())
        return Results(
            about=About(**json.loads(lines[0])),
            records=tuple(from_json(json.loads(line)) for line in lines[1:]),
        )

    def start(self) -> None:
        """An empty file with its head, where there is none; a cut last line is taken off."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kept = list(_whole_lines(self.path)) if self.path.exists() else []
        lines = kept or [_line(asdict(self.about))]
        made = self.path.with_suffix(".new")
        made.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        made.replace(self.path)

    def add(self, record: Record) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{_line(as_json(record))}\n")

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)


def read_results(path: Path) -> Results:
    """Raises `InvalidRequest` when this is no file of results."""
    try:
        lines = list(_whole_lines(path))
        about = About(**json.loads(lines[0]))
    except (OSError, ValueError, TypeError, IndexError) as error:
        raise InvalidRequest(f"{path} holds no results: {error}") from error
    return Results(about=about, records=tuple(from_json(json.loads(line)) for line in lines[1:]))


def data_digest(given: EvalSet, corpus_file: Path) -> str:
    """Of the corpus as it is ingested, and of all questions with their judgements."""
    questions = "\n".join(repr(question) for question in given.questions)
    return digest(sha256_hex(corpus_file.read_bytes()), questions).hex()


def shaping_settings(settings: Settings, **asked: Any) -> dict[str, Any]:
    """Those that could change an answer, and how it was asked for."""
    dumped = settings.model_dump(mode="json")
    kept = {name: dumped[name] for name in ("encoder", "chunk", "text_index", "serve")}
    for place in ("host", "port"):
        kept["serve"].pop(place, None)
    for secret in ("url", "api_key", "user", "password", "ca_file"):
        kept["text_index"].pop(secret, None)
    for pace in ("device", "threads", "batch_tokens"):
        kept["encoder"].pop(pace, None)
    return {**kept, **asked}


def code_digest(root: Path) -> str:
    """Of all files of the packages that shape an answer."""
    parts = [
        part
        for package in SHAPING
        for path in sorted((root / package).rglob("*"))
        if path.suffix in _CODE and "__pycache__" not in path.parts
        for part in (path.relative_to(root).as_posix(), path.read_bytes())
    ]
    return digest(*parts).hex()[:16]


def commit_of(root: Path) -> str:
    """The commit that is checked out, with `+` when files differ from it; empty outside git."""
    git = shutil.which("git")
    if git is None:
        return ""
    head = _told(git, root, "rev-parse", "HEAD")
    changed = _told(git, root, "status", "--porcelain", "--untracked-files=no")
    return f"{head}+" if head and changed else head


def write_corpus(corpus: Corpus, folder: Path) -> Path:
    """The file to ingest: the set's own, or its lines as the adapter made them. A file that is
    there with the same content is left as it is."""
    if corpus.lines is None:
        return corpus.file
    text = "".join(f"{_line(line)}\n" for line in corpus.lines)
    path = folder / corpus.name / "corpus.jsonl"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _whole_lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            if line.endswith("\n"):
                yield line[:-1]


def _told(git: str, root: Path, *words: str) -> str:
    done = subprocess.run(  # noqa: S603  # fixed words, no shell
        [git, "-C", str(root), *words], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""
