"""What is asked of which corpus: every set that is known by name, and any folder in BEIR form.

A set is read from its folder into questions and a corpus. Where the corpus of a set needs
another shape than its file has (records that get a session, turns inside sessions), its lines
are made anew; the file itself is never changed.
"""

from __future__ import annotations

import calendar
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from cluster.errors import InvalidRequest
from cluster.filters import AllOf, Eq, Filter, Range
from cluster.ids import sha256_hex
from cluster.text.languages import detect_language
from eval.datasets import Query, RetrievalSet, read_lines, read_set
from ingest.moments import parse_moment

Unit = Literal["path", "session"]
"""What a passage counts as when it is compared with the judgements."""

ORDER = (
    "xquad_en_zh",
    "cmrc2018",
    "stard_gold",
    "drcd",
    "ramdocs",
    "longmemeval_questions",
    "scifact",
    "locomo",
    "rgb_zh",
    "lifebench_zh",
)
"""The folders that are measured when none is named, quick ones first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One judged question. `relevant` has the grade of each judged unit, at least one above 0;
    questions of one `group` are in the same half. `now` is the moment of asking where the set
    has one; nothing said later may be found (`where` sees to that)."""

    question_id: str
    text: str
    relevant: Mapping[str, int]
    group: str
    kind: str = ""
    language: str = "und"
    where: Filter | None = None
    now: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A JSON Lines file for the ingest: `file` as it stands, unless `lines` are to take its
    place. The corpus of a name always goes to the same tenant."""

    name: str
    file: Path
    documents: int
    lines: Sequence[Mapping[str, Any]] | None = field(default=None, repr=False)

    @property
    def tenant(self) -> str:
        return f"eval-{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSet:
    name: str
    corpus: Corpus
    questions: tuple[Asked, ...]
    unit: Unit = "path"


def read_folder(folder: Path) -> list[EvalSet]:
    """The sets of a folder: those of its adapter if its name has one, else one set in BEIR form.
    Raises `InvalidRequest` naming what is missing or wrong."""
    adapter = ADAPTERS.get(folder.name)
    return adapter(folder) if adapter else [plain(read_set(folder), folder)]


def plain(read: RetrievalSet, folder: Path) -> EvalSet:
    """Each judged question to the whole corpus."""
    return EvalSet(
        name=read.name,
        corpus=Corpus(name=read.name, file=folder / "corpus.jsonl", documents=len(read.documents)),
        questions=tuple(_asked(query, read.qrels[query.query_id]) for query in read.judged),
    )


def cut(given: EvalSet, *, documents: Sequence[str], questions: Sequence[str]) -> EvalSet:
    """The set on a part of its corpus (paths of documents), for the named questions that keep a
    relevant document there."""
    kept, asked = frozenset(documents), frozenset(questions)
    lines = given.corpus.lines or tuple(line for _, line in read_lines(given.corpus.file))
    part = tuple(line for line in lines if line["doc_id"] in kept)
    shrunk = (replace(each, relevant=_only(each.relevant, kept)) for each in given.questions)
    return EvalSet(
        name=f"{given.name}-peer",
        corpus=Corpus(
            name=f"{given.corpus.name}-peer",
            file=given.corpus.file,
            documents=len(part),
            lines=part,
        ),
        questions=tuple(
            each
            for each in shrunk
            if each.question_id in asked and any(grade > 0 for grade in each.relevant.values())
        ),
        unit=given.unit,
    )


def sample(questions: Sequence[Asked], *, limit: int) -> list[Asked]:
    """The same `limit` questions on every machine: those with the smallest hash of their id."""
    return sorted(questions, key=lambda each: sha256_hex(each.question_id))[:limit]


def half_of(group: str) -> Literal["tune", "report"]:
    """Weights are read off the one half of the questions only, results are told of the other."""
    return "tune" if int(sha256_hex(f"half\0{group}")[:8], 16) % 2 else "report"


def _asked(query: Query, relevant: Mapping[str, int], **more: Any) -> Asked:
    fields = query.fields
    kind = fields.get("category") or fields.get("kind") or ""
    values = {
        "question_id": query.query_id,
        "text": query.text,
        "relevant": relevant,
        "group": query.query_id,
        "kind": str(kind),
        "language": fields.get("lang") or detect_language(query.text),
    }
    return Asked(**{**values, **more})


def _only(relevant: Mapping[str, int], kept: frozenset[str]) -> dict[str, int]:
    return {unit: grade for unit, grade in relevant.items() if unit in kept}


def _bilingual(folder: Path) -> list[EvalSet]:
    """Mixed, and each language asked of the passages of the other only."""
    read = read_set(folder)
    mixed = plain(read, folder)
    language_of = {document.doc_id: document.fields["lang"] for document in read.documents}
    grouped = tuple(
        replace(each, group=each.question_id.partition("-")[2]) for each in mixed.questions
    )
    sets = [replace(mixed, questions=grouped)]
    for asked, found in (("zh", "en"), ("en", "zh")):
        there = frozenset(path for path, language in language_of.items() if language == found)
        questions = tuple(
            replace(each, relevant=relevant, where=Eq("language", found))
            for each in grouped
            if each.language == asked and (relevant := _only(each.relevant, there))
        )
        sets.append(replace(mixed, name=f"xquad_{asked}-{found}", questions=questions))
    return sets


def _conversations(folder: Path) -> list[EvalSet]:
    """Each question inside its own conversation, asked when the conversation had ended."""
    read = read_set(folder)
    return [
        replace(
            plain(read, folder),
            questions=tuple(
                _asked(
                    query,
                    read.qrels[query.query_id],
                    where=Eq("conversation", query.fields["conversation"]),
                    now=parse_moment(query.fields["ask_time"]),
                )
                for query in read.judged
            ),
        )
    ]


def _life_records(folder: Path) -> list[EvalSet]:
    """Each question among the records of its person up to the end of the month of asking. The
    records of one day are one session, in the order of their time."""
    read = read_set(folder)
    records = [{"doc_id": each.doc_id, "text": each.text, **each.fields} for each in read.documents]
    records.sort(key=lambda each: (each["conversation"], each["timestamp"], each["doc_id"]))
    lines = tuple(
        {**each, "session": f"{each['conversation']}/{each['timestamp'][:10]}"} for each in records
    )
    whole = plain(read, folder)
    return [
        replace(
            whole,
            corpus=replace(whole.corpus, lines=lines),
            questions=tuple(
                _asked(
                    query,
                    read.qrels[query.query_id],
                    where=AllOf(
                        (
                            Eq("conversation", query.fields["conversation"]),
                            Range("said_at", lt=_month_end(query.fields["ask_time"])),
                        )
                    ),
                    now=_month_end(query.fields["ask_time"]) - timedelta(seconds=1),
                )
                for query in read.judged
            ),
        )
    ]


def _month_end(month: str) -> datetime:
    """`2025-01` -> the first moment after it."""
    year, number = (int(part) for part in month.split("-"))
    days = calendar.monthrange(year, number)[1]
    return datetime(year, number, days, tzinfo=UTC) + timedelta(days=1)


def _assistant_chats(folder: Path) -> list[EvalSet]:
    """The instances whose sessions are there; a hit is a turn of a session with the answer.
    Instances that ask the same of the same sessions count once."""
    instances = {
        str(each["question_id"]): each for _, each in read_lines(folder / "instances.jsonl")
    }
    questions = tuple(_instance(each) for each in instances.values())
    lines = tuple(line for each in instances.values() for line in _instance_turns(each))
    return [
        EvalSet(
            name="longmemeval",
            corpus=Corpus(
                name="longmemeval",
                file=folder / "instances.jsonl",
                documents=len(lines),
                lines=lines,
            ),
            questions=questions,
            unit="session",
        )
    ]


def _instance(each: Mapping[str, Any]) -> Asked:
    question_id = str(each["question_id"])
    stamp, _, text = each["queries"][0]["input"].partition("] ")
    date, _, clock = stamp.removeprefix("[").rpartition(" ")
    return Asked(
        question_id=question_id,
        text=text,
        relevant={f"{question_id}/{name}": 1 for name in each["answer_session_ids"]},
        group=question_id,
        kind=str(each["question_type"]),
        language="en",
        where=Eq("conversation", question_id),
        now=parse_moment(f"{date.partition(' ')[0]} {clock}"),
    )


def _instance_turns(each: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    conversation = str(each["question_id"])
    for session in each["sessions"]:
        name = f"{conversation}/{session['session_id']}"
        for number, turn in enumerate(session["turns"]):
            if turn["content"].strip():
                yield {
                    "doc_id": f"{name}/{number}",
                    "conversation": conversation,
                    "session": name,
                    "ordinal": number,
                    "speaker": turn["role"],
                    "timestamp": turn["created_at"],
                    "text": turn["content"],
                }


ADAPTERS: Mapping[str, Callable[[Path], list[EvalSet]]] = {
    "xquad_en_zh": _bilingual,
    "locomo": _conversations,
    "lifebench_zh": _life_records,
    "longmemeval_questions": _assistant_chats,
}


def peer_subsets(file: Path) -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Name of a set -> ids of its `docs` and `queries` in the cut corpora."""
    try:
        read: Mapping[str, Mapping[str, Sequence[str]]] = json.loads(
            file.read_text(encoding="utf-8")
        )
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"{file} cannot be read: {error}") from error
    return read
