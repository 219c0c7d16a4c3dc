"""Labels, duels and refusals are counted as they are shown."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from passages import passages_of
from serving import fill, memory_stores, prepared, service_on

from cluster.filters import Eq, matches
from cluster.model import Metadata, Scope
from eval.abstain import Refused, count, enough, tries, without_answers
from eval.conflicts import Label, duel_corpus, duel_of, duels, five_of, plain_ranks
from eval.run import as_question
from eval.sets import Asked, Corpus, EvalSet
from rerank.citations import CitedPassage, ConflictsWith, cite
from rerank.dedup import Block

ROW = {
    "id": "fact-1",
    "lang": "en",
    "question": "how many piers has the harbour?",
    "right_docs": ["The harbour has 14 piers and a lighthouse."],
    "wrong_docs": ["The harbour has 23 piers and a lighthouse."],
}


def shown(path: str, rank: int = 1, *, against: int | None = None) -> CitedPassage:
    (passage,) = passages_of("It has 14 piers.", [(0, 16)])
    block = Block(passages=(replace(passage, path=path),), score=1.0, hits=())
    found = cite(
        block, rank=rank, text="It has 14 piers.", surfaces=lambda _: (), filters=("tenant",)
    )
    if against is None:
        return found
    other = ConflictsWith(
        rank=against, chunk_id="chk", mine="14", theirs="23", standing="wins", by="date"
    )
    return replace(found, conflicts_with=(other,))


def test_the_first_five_are_counted_by_their_label() -> None:
    labels = {
        "a": Label(kind="correct", answer="14"),
        "b": Label(kind="misinfo", answer="23"),
        "c": Label(kind="noise", answer="unknown"),
    }
    paths = ["a", "b", "c", "elsewhere", "c", "a"]
    five = five_of([shown(path) for path in paths], labels)
    assert five.kinds == {"correct": 1, "misinfo": 1, "noise": 2, "other": 1}
    assert (five.shown, five.differ, five.flagged) == (5, True, False)
    agreeing = five_of([shown("a", against=2), shown("c")], labels)
    assert (agreeing.differ, agreeing.flagged) == (False, True)


def test_the_favoured_side_is_newer_and_of_higher_authority() -> None:
    corpus = duel_corpus([ROW], favoured="wrong")
    assert corpus.tenant == "eval-fact-conflict-wrong"
    assert corpus.lines is not None
    by_id = {line["doc_id"]: line for line in corpus.lines}
    right, wrong = by_id["fact-1/right/0"], by_id["fact-1/wrong/0"]
    assert wrong["authority"] > right["authority"]
    assert wrong["published_at"] > right["published_at"]
    assert "right" not in right["text"]


def test_a_duel_is_read_off_what_is_shown() -> None:
    both = [shown("fact-1/wrong/0", 1, against=3), shown("x", 2), shown("fact-1/right/0", 3)]
    duel = duel_of(both, question_id="fact-1", favoured="right")
    assert (duel.first, duel.both, duel.told) == ("wrong", True, True)
    elsewhere = [shown("fact-1/wrong/0", 1, against=2), shown("x", 2)]
    duel = duel_of(elsewhere, question_id="fact-1", favoured="right")
    assert (duel.both, duel.told) == (False, False)
    assert duel_of([shown("x")], question_id="fact-1", favoured="right").first is None


async def test_duels_are_asked_of_the_corpus_of_their_side() -> None:
    stores = memory_stores()
    for favoured, year in (("right", 2025), ("wrong", 2021)):
        about = Metadata(language="en", published_at=datetime(year, 1, 1, tzinfo=UTC))
        tenant = "eval-fact-conflict-right"
        text = str(ROW[f"{favoured}_docs"][0])
        await fill(stores, [prepared(f"fact-1/{favoured}/0", text, tenant=tenant, metadata=about)])
    (duel,) = await duels([ROW], service_on(stores), favoured="right")
    assert duel.both
    assert duel.first in ("right", "wrong")


async def test_plain_ranks_are_of_two_channels_with_equal_weights() -> None:
    service = service_on(memory_stores())
    asked = Asked(question_id="q", text="latest pier", relevant={}, group="q")
    plan = plain_ranks(await service.plan(as_question(asked, scope=Scope(tenant="acme"))))
    assert {each.name: each.weight for each in plan.channels} == {"semantic": 1.0, "keyword": 1.0}
    assert (plan.fusion, plan.rerank.name) == ("reciprocal_rank", "none")


def asked_of(name: str, questions: int) -> EvalSet:
    return EvalSet(
        name=name,
        corpus=Corpus(name=name, file=Path(), documents=1),
        questions=tuple(
            Asked(question_id=f"{name}-{at}", text="?", relevant={"d": 1}, group=f"{name}-{at}")
            for at in range(questions)
        ),
    )


def test_a_question_is_asked_at_home_abroad_and_without_its_answer() -> None:
    found = list(tries({"en": [asked_of("one", 40), asked_of("two", 40)]}, questions=10))
    assert len(found) == 60
    foreign = {(each.dataset, each.tenant) for each in found if each.asking == "foreign"}
    assert foreign == {("one", "eval-two"), ("two", "eval-one")}
    home = {(each.dataset, each.tenant) for each in found if each.asking == "own"}
    assert home == {("one", "eval-one"), ("two", "eval-two")}


def test_what_answers_is_out_of_reach_and_nothing_else() -> None:
    asked = Asked(
        question_id="q", text="?", relevant={"d": 1}, group="q", where=Eq("language", "en")
    )
    where = without_answers(asked).where
    assert where is not None
    assert not matches(where, {"path": "d", "language": "en"})
    assert matches(where, {"path": "e", "language": "en"})
    assert not matches(where, {"path": "e", "language": "zh"})


async def test_an_answer_with_passages_is_no_refusal() -> None:
    stores = memory_stores()
    await fill(stores, [prepared("d", "The harbour has 14 piers.", tenant="eval-one")])
    found = tries({"en": [asked_of("one", 6)]}, questions=6)
    own = [each for each in found if each.asking == "own"]
    (told,) = await count(own, service_on(stores))
    assert told.refused == 0
    assert told.asked == len(own) > 0


def test_both_shares_decide() -> None:
    def refused(asking: str, share: int) -> Refused:
        return Refused(
            asking=asking,  # type: ignore[arg-type]  # one of the three, by the caller
            language="en",
            dataset="one",
            refused=share,
            asked=100,
        )

    assert enough([refused("own", 2), refused("foreign", 95)], languages=["en"])
    assert not enough([refused("own", 3), refused("foreign", 95)], languages=["en"])
    assert not enough([refused("own", 2), refused("foreign", 94)], languages=["en"])
