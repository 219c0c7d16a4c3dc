"""A cross-encoder in the service: a real model, a small one with weights that were drawn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from serving import NOW, application, client_of, fill, make_key, memory_stores, prepared, service_on
from tiny_cross_encoder import write_tiny_cross_encoder

from cluster.errors import ModelError
from cluster.model import Scope
from cluster.models.cross_encoder import Logits, open_cross_encoder
from cluster.models.embedder import Ids
from cluster.models.onnx_forward import OnnxPairForward
from cluster.settings import CrossEncoderSettings, EncoderSettings, Settings
from cluster.stores.open import Stores
from rerank.cross_encoder import ScorePassages
from rerank.reranker import RerankPlan
from serve.cross_encoding import HereCrossEncoder
from serve.plan.as_json import plan_json
from serve.plan.planner import Question
from serve.retrieve import Retrieved
from serve.service import Service

SCOPE = Scope(tenant="acme")
QUESTION = "how long are access tokens valid?"
TEXTS = {
    "tokens.md": "access tokens are valid for 30 minutes.",
    "tls.md": "use tls 1.3 everywhere, with tokens of the chain.",
    "cats.md": "cats sleep most of the day.",
    "world.md": "tokens, tokens and again tokens: are they valid everywhere?",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_cross_encoder(tmp_path_factory.mktemp("served") / "tiny", seed=4)


@pytest.fixture
async def stores() -> Stores:
    made = memory_stores()
    await fill(made, [prepared(path, text) for path, text in TEXTS.items()])
    return made


def settings_for(folder: Path, **more: object) -> Settings:
    wanted = {"model": str(folder), "threads": 1, "timeout_s": 5.0, **more}
    return Settings(home=folder.parent, cross_encoder=CrossEncoderSettings.model_validate(wanted))


@pytest.fixture(scope="module")
def here(folder: Path) -> HereCrossEncoder:
    made = HereCrossEncoder(settings_for(folder))
    made.load()
    return made


@dataclass
class Stalling:
    """The real one, which waits before it answers, or fails, while it is told to."""

    real: ScorePassages
    wait_s: float = 0.0
    broken: bool = False
    asked: list[int] = field(default_factory=list)

    async def __call__(
        self, question: str, passages: Sequence[str], *, within_s: float
    ) -> Sequence[float]:
        self.asked.append(len(passages))
        await asyncio.sleep(self.wait_s)
        if self.broken:
            raise ModelError("out of memory")
        return await self.real(question, passages, within_s=within_s)


def question(**more: object) -> Question:
    asked = Question(text=QUESTION, scope=SCOPE, limit=5, now=NOW, deadline_s=8.0)
    return replace(asked, **more)  # type: ignore[arg-type]  # fields of the question by name


def titles(found: Retrieved) -> list[str]:
    return [each.citation.title for each in found.passages]


def by_its_scores(folder: Path) -> list[str]:
    """The order of all passages as the model itself gives it."""
    scorer = open_cross_encoder(settings_for(folder))
    logits = scorer.score([(QUESTION, text) for text in TEXTS.values()])
    return [list(TEXTS)[at] for at in (-logits).argsort()]


async def test_the_order_is_that_of_its_scores(
    stores: Stores, folder: Path, here: HereCrossEncoder
) -> None:
    service = service_on(stores, settings_for(folder), cross_encoder=here)
    found = await service.search(question())
    assert (found.reranker, found.failures) == ("cross_encoder", ())
    assert titles(found) == by_its_scores(folder)
    assert set(found.passages[0].reasons.score_parts) == {"cross_encoder"}
    plain = await service.search(question(rerank=RerankPlan()))
    assert plain.reranker == "late_interaction"
    assert titles(plain)[0] == "tokens.md"
    assert titles(plain) != titles(found)


async def test_the_plan_names_it_and_replays(
    stores: Stores, folder: Path, here: HereCrossEncoder
) -> None:
    service = service_on(stores, settings_for(folder), cross_encoder=here)
    found = await service.search(question())
    assert found.plan.rerank.name == "cross_encoder"
    assert found.plan.rerank.deadline_s == pytest.approx(5.4)
    assert plan_json(found.plan)["rerank"]["name"] == "cross_encoder"
    assert titles(await service.search(found.plan)) == titles(found)


async def test_what_is_relevant_is_judged_on_the_scale_of_late_interaction(
    stores: Stores, folder: Path, here: HereCrossEncoder
) -> None:
    """Its logits are on no scale that a threshold was calibrated for."""
    service = service_on(stores, settings_for(folder), cross_encoder=here)
    read, plain = [await service.search(question(rerank=each)) for each in (None, RerankPlan())]
    assert read.reranker == "cross_encoder"
    assert read.relevance is not None
    assert read.relevance == plain.relevance


async def test_it_reads_the_best_of_late_interaction_and_no_more(
    stores: Stores, folder: Path, here: HereCrossEncoder
) -> None:
    counted = Stalling(here)
    service = service_on(stores, settings_for(folder, pool=2), cross_encoder=counted)
    plain = await service.search(question(rerank=RerankPlan()))
    found = await service.search(question())
    assert counted.asked == [2]
    assert sorted(found.ranked[:2]) == sorted(plain.ranked[:2])
    assert found.ranked[2:] == plain.ranked[2:]


async def test_without_token_vectors_rules_choose_what_it_reads(
    stores: Stores, folder: Path, here: HereCrossEncoder
) -> None:
    settings = settings_for(folder).model_copy(
        update={"encoder": EncoderSettings(token_vectors=False)}
    )
    found = await service_on(stores, settings, cross_encoder=here).search(question())
    assert (found.reranker, found.failures) == ("cross_encoder", ())
    assert titles(found) == by_its_scores(folder)


async def test_a_stall_is_told_and_late_interaction_answers_in_time(
    stores: Stores, folder: Path, here: HereCrossEncoder
) -> None:
    stalling = Stalling(here, wait_s=60)
    service = service_on(stores, settings_for(folder, timeout_s=0.2), cross_encoder=stalling)
    started = time.perf_counter()
    found = await service.search(question(deadline_s=3.0))
    assert time.perf_counter() - started < 3.0
    assert found.reranker == "late_interaction"
    assert titles(found)[0] == "tokens.md"
    (failure,) = found.failures
    assert (failure.channel, failure.reason) == (
        "rerank",
        "cross_encoder: no answer within 200 ms",
    )


async def test_a_pass_that_hangs_keeps_nobody_waiting(
    stores: Stores, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread is busy for longer than two questions may take."""
    slow = HereCrossEncoder(settings_for(folder))
    slow.load()
    real = OnnxPairForward.__call__

    def hanging(self: OnnxPairForward, ids: Ids, mask: Ids, types: Ids) -> Logits:
        time.sleep(1.0)
        return real(self, ids, mask, types)

    monkeypatch.setattr(OnnxPairForward, "__call__", hanging)
    service = service_on(stores, settings_for(folder, timeout_s=0.2), cross_encoder=slow)
    found = await asyncio.gather(*(service.search(question(deadline_s=3.0)) for _ in range(2)))
    for each in found:
        assert each.reranker == "late_interaction"
        assert each.failures[0].reason == "cross_encoder: no answer within 200 ms"
    monkeypatch.undo()
    await asyncio.sleep(1.1)
    assert (await service.search(question())).reranker == "cross_encoder"


async def answered_by(service: Service, **more: object) -> tuple[str, str]:
    found = await service.search(question(**more))
    return found.reranker, "; ".join(each.reason for each in found.failures)


REST_S = 2.0
"""Longer than two answers take on a busy machine."""


async def test_the_breaker_opens_and_recovers(
    stores: Stores, folder: Path, here: HereCrossEncoder
) -> None:
    failing = Stalling(here, broken=True)
    settings = settings_for(folder, failures=2, rest_s=REST_S)
    service = service_on(stores, settings, cross_encoder=failing)
    late = "late_interaction"
    for _ in range(2):
        assert await answered_by(service) == (late, "cross_encoder: out of memory")
    resting = "cross_encoder: it failed too often in a row and is not asked for a while"
    assert await answered_by(service) == (late, resting)
    assert len(failing.asked) == 2
    await asyncio.sleep(REST_S)
    assert await answered_by(service) == (late, "cross_encoder: out of memory")
    assert await answered_by(service) == (late, resting)
    failing.broken = False
    await asyncio.sleep(REST_S)
    assert await answered_by(service) == ("cross_encoder", "")
    assert await answered_by(service, limit=4) == ("cross_encoder", "")


async def test_callers_in_a_hurry_do_not_open_it(
    stores: Stores, folder: Path, here: HereCrossEncoder
) -> None:
    stalling = Stalling(here, wait_s=0.3)
    service = service_on(stores, settings_for(folder, failures=1), cross_encoder=stalling)
    hurried = RerankPlan(name="cross_encoder", deadline_s=0.1)
    for _ in range(3):
        name, reason = await answered_by(service, rerank=hurried)
        assert name == "late_interaction"
        assert reason.startswith("cross_encoder: no answer within")
    unhurried = RerankPlan(name="cross_encoder", deadline_s=10)
    assert await answered_by(service, rerank=unhurried) == ("cross_encoder", "")


async def test_the_api_says_which_reranker_made_the_order(
    stores: Stores, folder: Path, here: HereCrossEncoder
) -> None:
    key = await make_key(stores.ledger)
    service = service_on(stores, settings_for(folder), cross_encoder=here)
    async with client_of(application(service), key) as client:
        told = (await client.post("/v1/search", json={"query": QUESTION})).json()
        assert told["reranker"] == "cross_encoder"
        assert [each["citation"]["title"] for each in told["results"]] == by_its_scores(folder)
        body = {"query": QUESTION, "rerank": "late_interaction"}
        assert (await client.post("/v1/search", json=body)).json()["reranker"] == "late_interaction"
