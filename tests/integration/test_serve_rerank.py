"""The second look, and the judgement that nothing is relevant, through the service."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from serving import (
    EMBEDDER,
    NOW,
    application,
    client_of,
    encode,
    fill,
    make_key,
    memory_stores,
    prepared,
    service_on,
)

from cluster.errors import ModelError
from cluster.filters import Eq
from cluster.model import ChannelFailure, EncodedQuery, Metadata, Scope, Turn
from cluster.settings import EncoderSettings, Settings
from cluster.stores.open import Stores
from rerank import relevance
from rerank.relevance import ACROSS_LANGUAGES, WEIGHTS
from rerank.reranker import Asked, Pooled, Reranked, RerankPlan
from serve.plan.planner import Question
from serve.retrieve import Retrieved
from serve.service import Service

SCOPE = Scope(tenant="acme")
QUESTION = "How long are access tokens valid?"


@pytest.fixture
async def stores() -> Stores:
    made = memory_stores()
    await fill(
        made,
        [
            prepared("tokens.md", "Access tokens are valid for 30 minutes."),
            prepared("tls.md", "Use TLS 1.3 everywhere, with tokens of the chain."),
            prepared("cats.md", "Cats sleep most of the day."),
        ],
    )
    return made


def question(text: str = QUESTION, **more: object) -> Question:
    asked = Question(text=text, scope=SCOPE, limit=5, now=NOW, deadline_s=2.0)
    return replace(asked, **more)  # type: ignore[arg-type]  # fields of the question by name


def titles(found: Retrieved) -> list[str]:
    return [each.citation.title for each in found.passages]


async def test_token_vectors_rank_and_the_answer_says_by_what(stores: Stores) -> None:
    found = await service_on(stores).search(question())
    assert found.reranker == "late_interaction"
    assert found.failures == ()
    assert titles(found)[0] == "tokens.md"
    assert set(found.passages[0].reasons.score_parts) == {"similarity", "keyword", "cosine"}
    assert {"fuse", "rerank", "judge", "select", "cite", "total"} <= found.timings_ms.keys()
    assert sorted(found.ranked) == sorted(found.fused)


async def test_without_a_reranker_the_fusion_orders(stores: Stores) -> None:
    found = await service_on(stores).search(question(rerank=RerankPlan(name="none")))
    assert (found.reranker, found.failures) == ("", ())
    assert found.ranked == found.fused
    assert found.passages[0].reasons.score_parts == {"fused": pytest.approx(1.0)}


async def test_rules_where_no_token_vectors_are_kept(stores: Stores) -> None:
    settings = Settings(encoder=EncoderSettings(token_vectors=False))
    found = await service_on(stores, settings).search(question())
    assert (found.reranker, found.failures) == ("rules", ())
    assert titles(found)[0] == "tokens.md"


async def test_a_reranker_that_is_not_there_is_told(stores: Stores) -> None:
    found = await service_on(stores).search(question(rerank=RerankPlan(name="cross_encoder")))
    (failure,) = found.failures
    assert failure == ChannelFailure(channel="rerank", reason="cross_encoder is not there")
    assert found.reranker == "late_interaction"
    assert titles(found)[0] == "tokens.md"


@dataclass(frozen=True)
class Troubled:
    """A reranker that waits, then fails."""

    wait_s: float
    name: str = "late_interaction"

    async def score(self, asked: Asked, pool: Sequence[Pooled]) -> Reranked:
        await asyncio.sleep(self.wait_s)
        raise ModelError("no weights")


def troubled(service: Service, *, wait_s: float) -> Service:
    rerankers = {"late_interaction": Troubled(wait_s)}
    return replace(service, sources=replace(service.sources, rerankers=rerankers))


@pytest.mark.parametrize(
    ("wait_s", "reason"),
    [
        (0.0, "late_interaction: no weights"),
        (60.0, "late_interaction: no answer within 50 ms"),
    ],
)
async def test_the_fused_order_answers_where_the_reranker_does_not(
    stores: Stores, wait_s: float, reason: str
) -> None:
    service = troubled(service_on(stores), wait_s=wait_s)
    started = time.perf_counter()
    found = await service.search(question(rerank=RerankPlan(deadline_s=0.05)))
    assert time.perf_counter() - started < 2.0
    assert found.failures == (ChannelFailure(channel="rerank", reason=reason),)
    assert found.ranked == found.fused
    assert titles(found)[0] == "tokens.md"


async def test_a_question_is_encoded_once(stores: Stores) -> None:
    asked: list[str] = []

    async def counted(text: str, language: str) -> EncodedQuery:
        asked.append(text)
        return await encode(text, language)

    found = await service_on(stores, encoder=counted).search(question())
    assert found.reranker == "late_interaction"
    assert asked == [QUESTION]


async def test_a_failing_encoder_leaves_the_other_channels(stores: Stores) -> None:
    async def broken(_text: str, _language: str) -> EncodedQuery:
        raise ModelError("the encoder is gone")

    found = await service_on(stores, encoder=broken).search(question())
    assert sorted(failure.channel for failure in found.failures) == ["rerank", "semantic"]
    assert titles(found)[0] == "tokens.md"


def turn(ordinal: int, speaker: str) -> Turn:
    return Turn(
        conversation="c1",
        session="s1",
        ordinal=ordinal,
        speaker=speaker,
        said_at=datetime(2025, 5, 5, 9, ordinal, tzinfo=UTC),
    )


async def test_an_answer_stands_behind_the_turn_that_asks() -> None:
    """The turn that answers shares no word with the question; the one before it does."""
    stores = memory_stores()
    said = ["Nice weather.", "Where did Ann spend her holiday?", "In Lisbon!", "Dogs bark loudly."]
    await fill(
        stores,
        [
            prepared(f"t{at}", text, turn=turn(at, "ab"[at % 2]), metadata=Metadata(language="en"))
            for at, text in enumerate(said)
        ],
    )
    found = await service_on(stores).search(
        question("Where did Ann spend her holiday?", where=Eq("conversation", "c1"))
    )
    texts = [each.text for each in found.passages]
    whole = "\n".join(texts)
    assert whole.index("Where did Ann") < whole.index("Dogs bark")
    assert whole.index("In Lisbon!") < whole.index("Nice weather.")


SIGNS = (*WEIGHTS, *ACROSS_LANGUAGES)


@pytest.fixture
def calibrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Constants for the encoder of the tests: half of the words must be found."""
    constants = {
        "means": dict.fromkeys(SIGNS, 0.5),
        "spreads": dict.fromkeys(SIGNS, 0.1),
        "enough": -5.0,
    }
    lenient = {**constants, "enough": -1000.0}
    languages = {"en": constants, "zh": constants, "zh/other": lenient}
    listed = {"encoder": EMBEDDER.fingerprint, "languages": languages}
    (tmp_path / "relevance.tests.json").write_text(json.dumps(listed), encoding="utf-8")
    monkeypatch.setattr(relevance, "FOLDER", tmp_path)
    relevance.calibrations.cache_clear()
    yield
    relevance.calibrations.cache_clear()


@pytest.mark.usefixtures("calibrated")
async def test_nothing_relevant_is_an_answer(stores: Stores) -> None:
    service = service_on(stores)
    about = await service.search(question())
    assert about.relevant is True
    assert titles(about)
    nothing = await service.search(question("Which volcano erupted in Iceland?"))
    assert nothing.relevant is False
    assert nothing.passages == ()
    assert any("nothing that is stored is about this question" in note for note in nothing.notes)
    assert nothing.relevance is not None
    assert nothing.relevance.value is not None
    assert nothing.relevance.value < 0.5
    anyway = await service.search(
        question("Which volcano erupted in Iceland?", rerank=RerankPlan(min_relevance=0.0))
    )
    assert anyway.relevant is None
    assert len(anyway.passages) == 3


@pytest.mark.usefixtures("calibrated")
async def test_what_answers_in_another_language_is_judged_by_constants_of_its_own(
    stores: Stores,
) -> None:
    """All that is stored here is English; of these words it has none."""
    asked = "冰岛哪座火山喷发了？"
    found = await service_on(stores).search(question(asked))
    assert found.relevance is not None
    assert found.relevance.signals.other_language
    assert found.relevant is True
    assert found.passages
    same = await service_on(stores).search(question("Which volcano erupted in Iceland?"))
    assert same.relevance is not None
    assert not same.relevance.signals.other_language


async def test_an_encoder_without_constants_says_nothing(stores: Stores) -> None:
    found = await service_on(stores).search(question("Which volcano erupted in Iceland?"))
    assert found.relevant is None
    assert found.relevance is not None
    assert found.relevance.value is None
    assert found.passages


async def test_pages_go_on_where_the_former_ended(stores: Stores) -> None:
    service = service_on(stores)
    whole = await service.search(question())
    pages = [await service.search(question(limit=2, page=page)) for page in (1, 2, 3)]
    shown = [each for page in pages for each in page.passages]
    assert [each.citation.title for each in shown] == titles(whole)
    assert [each.rank for each in shown] == [1, 2, 3]
    assert pages[2].passages == ()


async def test_a_page_goes_with_plain_results_only(stores: Stores) -> None:
    key = await make_key(stores.ledger)
    async with client_of(application(service_on(stores)), key) as client:
        body = {"query": QUESTION, "page": 2, "top_k": 1}
        told = (await client.post("/v1/search", json=body)).json()
        assert [each["rank"] for each in told["results"]] == [2]
        assert (told["reranker"], told["relevant"]) == ("late_interaction", None)
        refused = await client.post("/v1/search", json={**body, "view": "writer"})
        assert refused.status_code == 422
        assert "pages are of plain results" in refused.text
