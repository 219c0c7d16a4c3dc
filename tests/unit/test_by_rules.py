"""What is read off the texts alone."""

from __future__ import annotations

from passages import passages_of

from cluster.model import Metadata, Scope
from cluster.text.terms import query_terms
from rerank.by_rules import POOL, ByRules, rank_by_rules
from rerank.reranker import USUAL_RERANK, Asked, Pooled

QUESTION = "how long is an access token valid"
ASKED = Asked(
    text=QUESTION,
    language="en",
    terms=query_terms(QUESTION),
    scope=Scope(tenant="t"),
    plan=USUAL_RERANK,
)


def pooled(
    text: str, *, fused: float = 0.5, title: str = "x", language: str = "en", name: str = ""
) -> Pooled:
    about = Metadata(title=title, language=language)
    (made,) = passages_of(text, [(0, len(text))], revision=name or text, metadata=about)
    return Pooled(passage=made, fused=fused, keyword=0.0)


def order(*pool: Pooled) -> list[str]:
    scores = rank_by_rules(ASKED, pool).scores
    return [each.passage.chunk.text for each in sorted(pool, key=lambda p: -scores[p.chunk_id])]


def test_more_of_the_question_s_words_stand_higher() -> None:
    assert order(pooled("about a token"), pooled("a token is valid for access"))[0] == (
        "a token is valid for access"
    )


def test_words_together_stand_higher_than_words_apart() -> None:
    together, apart = pooled("valid: the access token"), pooled("access is valid for a token")
    assert order(apart, together)[0] == "valid: the access token"


def test_a_title_counts_and_the_fused_score_most() -> None:
    assert order(pooled("text", name="a"), pooled("text.", title="Access token"))[0] == "text."
    better = pooled("nothing of it", fused=1.0)
    assert order(pooled("an access token is valid long", fused=0.0), better)[0] == "nothing of it"


def test_words_do_not_count_in_another_language() -> None:
    pool = [pooled("an access token"), pooled("说的是 access token", language="zh")]
    parts = rank_by_rules(ASKED, pool).parts
    assert parts[pool[1].chunk_id]["words"] == 0.0


async def test_only_the_best_are_read() -> None:
    pool = [pooled(f"text {at}", fused=1 - at / 100) for at in range(POOL + 5)]
    ranked = await ByRules().score(ASKED, pool)
    assert len(ranked.scores) == POOL
    assert ranked.reranker == "rules"
