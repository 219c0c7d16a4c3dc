"""Scores token by token: what counts, what a neighbour lends, what a missing vector costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from passages import passages_of

from cluster.model import EncodedQuery, Metadata, Scope, StoredPassage, Turn
from cluster.text.content_words import content_tokens
from rerank.late_interaction import (
    evidence_of,
    highest_cosines,
    means,
    rank_by_tokens,
    z_scores,
)
from rerank.reranker import Asked, Pooled, RerankPlan
from rerank.turns import (
    asked_in,
    in_windows,
    neighbours_of,
    of_the_named_speaker,
    of_the_session,
    of_what_is_told,
    words_in_windows,
)


def spans_of(question: str, *pieces: str) -> list[tuple[int, int]]:
    at, spans = 0, []
    for piece in pieces:
        start = question.index(piece, at)
        at = start + len(piece)
        spans.append((start, at))
    return spans


def passage(name: str, *, language: str = "en", turn: Turn | None = None) -> StoredPassage:
    about = Metadata(title=name, language=language)
    (made,) = passages_of(name, [(0, len(name))], revision=name, document=name, metadata=about)
    return replace(made, turn=turn)


def turn(ordinal: int, *, session: str = "s1", conversation: str = "c1") -> Turn:
    return Turn(
        conversation=conversation, session=session, ordinal=ordinal, speaker="a", said_at=None
    )


ASKED = Asked(text="lake", language="en", terms=(), scope=Scope(tenant="t"), plan=RerankPlan())


def test_function_words_and_signs_are_no_content() -> None:
    question = "Where is the WHO office?"
    pieces = ["Where", "is", "the", "WHO", "off", "ice", "?"]
    content = content_tokens(question, spans_of(question, *pieces))
    assert content.tolist() == [False, False, False, True, True, True, False]


def test_function_words_of_chinese_also_in_traditional_script() -> None:
    for question, pieces in (
        ("合同的违约金是多少？", ["合同", "的", "违约", "金", "是", "多少", "？"]),
        ("合同的違約金是多少？", ["合同", "的", "違約", "金", "是", "多少", "？"]),
    ):
        content = content_tokens(question, spans_of(question, *pieces))
        assert content.tolist() == [True, False, True, True, False, False, False]


def test_a_token_that_reaches_over_a_function_word_has_content() -> None:
    question = "我的猫"
    assert content_tokens(question, [(0, 1), (1, 3)]).tolist() == [False, True]


def test_where_all_are_function_words_all_count() -> None:
    assert content_tokens("who is it", [(0, 3), (4, 6), (7, 9)]).tolist() == [True] * 3


def test_highest_cosine_of_each_token_in_each_passage() -> None:
    question = np.eye(3, dtype=np.float32)[:2]
    rows = np.array([[1, 0, 0], [0.6, 0.8, 0], [0, 0, 1]], dtype=np.float32)
    found = highest_cosines(question, rows, [2, 0, 1])
    assert found[0].tolist() == pytest.approx([1.0, 0.8])
    assert np.isnan(found[1]).all()
    assert found[2].tolist() == [0.0, 0.0]


def test_neighbours_follow_each_other_in_one_session() -> None:
    turns = [turn(2), turn(0), turn(1), turn(1, session="s2"), turn(4)]
    pool = [passage(f"t{at}", turn=each) for at, each in enumerate(turns)]
    around = neighbours_of([*pool, passage("a document")])
    assert around.previous.tolist() == [2, -1, 1, -1, -1, -1]
    assert around.before_previous.tolist() == [1, -1, -1, -1, -1, -1]
    assert around.next.tolist() == [-1, 2, 0, -1, -1, -1]


def test_a_window_lends_a_part_of_the_neighbours_match() -> None:
    pool = [passage(f"t{at}", turn=turn(at)) for at in range(4)]
    around = neighbours_of(pool)
    found = np.array([[1.0], [0.2], [0.3], [0.0]], dtype=np.float32)
    assert in_windows(found, around)[:, 0].tolist() == pytest.approx([1.0, 0.95, 0.9, 0.95 * 0.3])
    words = words_in_windows(np.array([1.0, 0.0, 0.0, 2.0]), around)
    assert words.tolist() == pytest.approx([1.0, 0.2, 0.2, 2.0])


def test_the_next_turn_lends_least() -> None:
    around = neighbours_of([passage(f"t{at}", turn=turn(at)) for at in range(2)])
    found = np.array([[0.0], [1.0]], dtype=np.float32)
    assert in_windows(found, around)[0, 0] == pytest.approx(0.85)
    assert words_in_windows(np.array([0.0, 1.0]), around)[0] == pytest.approx(0.1)


def test_z_scores_are_over_what_counts() -> None:
    values = np.array([1.0, 3.0, 99.0, np.nan])
    counted = np.array([True, True, False, True])
    assert z_scores(values, counted=counted).tolist() == [-1.0, 1.0, 0.0, 0.0]
    assert z_scores(np.array([2.0, 2.0])).tolist() == [0.0, 0.0]
    assert z_scores(np.array([np.nan])).tolist() == [0.0]


def test_evidence_is_that_of_the_best_passage() -> None:
    found = np.array([[0.9, 0.6, 0.3], [0.5, 0.5, 0.5], [np.nan] * 3], dtype=np.float32)
    evidence = evidence_of(found, first="a")
    assert evidence is not None
    assert evidence.best == pytest.approx(0.6)
    assert evidence.worst_third == pytest.approx(0.3)
    assert evidence_of(found[2:], first="a") is None


def ranked(pool: list[Pooled], rows: list[list[float]], lengths: list[int]) -> dict[str, float]:
    question = EncodedQuery(
        vector=np.array([1, 0], dtype=np.float32),
        tokens=np.array([[1, 0]], dtype=np.float32),
        spans=((0, 4),),
    )
    result = rank_by_tokens(
        ASKED,
        pool,
        question=question,
        rows=np.array(rows, dtype=np.float32).reshape(-1, 2),
        lengths=np.array(lengths),
    )
    return {each.passage.document_id: result.scores[each.chunk_id] for each in pool}


def test_words_and_meaning_add_up_in_standard_deviations() -> None:
    pool = [
        Pooled(passage=passage("a"), fused=1, keyword=4.0),
        Pooled(passage=passage("b"), fused=0, keyword=2.0),
    ]
    scores = ranked(pool, [[0.6, 0.8], [0.8, 0.6]], [1, 1])
    assert scores == pytest.approx({"a": 0.5 - 1.5, "b": 1.5 - 0.5})


def test_words_count_only_in_the_language_of_the_question() -> None:
    pool = [
        Pooled(passage=passage("a"), fused=1, keyword=4.0),
        Pooled(passage=passage("b"), fused=1, keyword=2.0),
        Pooled(passage=passage("c", language="zh"), fused=0, keyword=0.0),
    ]
    scores = ranked(pool, [[0.8, 0.6]] * 3, [1, 1, 1])
    assert scores == pytest.approx({"a": 0.5, "b": -0.5, "c": 0.0})


def test_a_cosine_stands_in_where_token_vectors_are_missing() -> None:
    pool = [
        Pooled(passage=passage("a"), fused=1, keyword=0.0, cosine=0.9),
        Pooled(passage=passage("b"), fused=1, keyword=0.0, cosine=0.5),
        Pooled(passage=passage("c"), fused=0, keyword=0.0),
    ]
    scores = ranked(pool, [[0.6, 0.8]], [0, 1, 0])
    z_cosine = {"a": 2**0.5, "b": -(0.5**0.5), "c": -(0.5**0.5)}
    expected = {"a": 2.0 * z_cosine["a"], "b": 0.5 * z_cosine["b"], "c": 2.0 * z_cosine["c"]}
    assert scores == pytest.approx(expected)


def test_the_note_counts_passages_without_vectors_whatever_the_question_has() -> None:
    pool = [Pooled(passage=passage(name), fused=1, keyword=0.0, cosine=0.5) for name in "abc"]
    nothing = EncodedQuery(
        vector=np.array([1, 0], dtype=np.float32),
        tokens=np.empty((0, 2), dtype=np.float32),
        spans=(),
    )
    rows = np.array([[0.6, 0.8]] * 2, dtype=np.float32)
    notes = [
        rank_by_tokens(ASKED, pool, question=nothing, rows=rows, lengths=np.array(lengths)).note
        for lengths in ([1, 1, 0], [1, 0, 1], [0, 2, 0])
    ]
    assert [note[:6] for note in notes] == ["1 of 3", "1 of 3", "2 of 3"]
    whole = np.array([1, 1])
    assert not rank_by_tokens(ASKED, pool[:2], question=nothing, rows=rows, lengths=whole).note


def test_tokens_that_the_pool_answers_unequally_count_more() -> None:
    found = np.array([[0.9, 0.5], [0.3, 0.5], [0.3, 0.5], [np.nan, np.nan]], dtype=np.float32)
    assert means(found)[:3].tolist() == pytest.approx([0.9, 0.3, 0.3])
    assert np.isnan(means(found)[3])
    even = np.full((2, 2), 0.5, dtype=np.float32)
    assert means(even).tolist() == [0.5, 0.5]


def test_words_and_the_own_vector_count_less_among_turns() -> None:
    pool = [
        Pooled(passage=passage("a", turn=turn(0)), fused=1, keyword=1.0, cosine=0.9),
        Pooled(passage=passage("b", turn=turn(5)), fused=0, keyword=0.0, cosine=0.5),
    ]
    from_both = 0.25 + 0.35
    session = 0.1 * from_both
    scores = ranked(pool, [[0.8, 0.6]] * 2, [1, 1])
    assert scores == pytest.approx({"a": from_both + session, "b": -from_both + session})


def test_the_one_speaker_who_is_named_is_likelier_to_have_said_it() -> None:
    said = [passage("t0", turn=replace(turn(0), speaker="Ann")), passage("doc")]
    said.append(passage("t1", turn=replace(turn(1), speaker="Bob")))
    assert of_the_named_speaker(said, "What did Ann buy?").tolist() == [0.5, 0.0, 0.0]
    assert of_the_named_speaker(said, "What did Annabel buy?").tolist() == [0.0] * 3
    assert of_the_named_speaker(said, "When did Ann meet Bob?").tolist() == [0.0] * 3
    chinese = [passage("t", turn=replace(turn(0), speaker="雷明轩"))]
    assert of_the_named_speaker(chinese, "雷明轩在哪里？").tolist() == [0.5]


def test_the_best_of_a_session_lends_to_its_turns() -> None:
    said = [passage(f"t{at}", turn=turn(at, session=f"s{at // 2}")) for at in range(4)]
    lent = of_the_session([*said, passage("doc")], np.array([2.0, -1.0, -3.0, -1.0, 9.0]))
    assert lent.tolist() == pytest.approx([0.2, 0.2, 0.0, 0.0, 0.0])


def test_how_much_of_a_text_is_questions() -> None:
    assert asked_in("Where were you?") == 1.0
    assert asked_in("I was at the lake.") == 0.0
    assert asked_in("你去哪儿了？我去了湖边。") == 6 / 12
    assert asked_in("It is at https://x.example/?page=2 now.") == 0.0
    assert 0.3 < asked_in("I was at the lake. And where were you?!") < 0.6
    assert asked_in("“Where were you?” he said.") == pytest.approx(16 / 26)
    assert asked_in("?") == 0.0


def said_by(speaker: str, *texts: str) -> list[StoredPassage]:
    return [passage(text, turn=replace(turn(at), speaker=speaker)) for at, text in enumerate(texts)]


def test_who_asks_or_says_little_tells_less_than_who_states() -> None:
    said = said_by("Ann", "Thanks!", "What did you buy for it there?", "I bought an old red kayak.")
    told = of_what_is_told([*said, *said_by("Ann", "Fine.", "Good night.")])
    assert told.argmax() == 2
    assert told.argmin() == 1
    assert told.sum() == pytest.approx(0.0)


def test_each_speaker_is_measured_by_his_own_turns() -> None:
    user = said_by("user", "How?", "Why so?", "Who is it?", "A lake it was.", "Where is that?")
    helper = said_by("helper", *("A long answer that goes on. " * count for count in range(3, 8)))
    told = of_what_is_told([*user, *helper])
    assert told[:5].sum() == pytest.approx(0.0)
    assert told[5:].sum() == pytest.approx(0.0)
    assert told[3] == told.max()


def test_what_nobody_says_and_what_is_little_is_not_measured() -> None:
    records = said_by("", "Paid 12.", "Where?", "A long record of the whole day.", "b", "c")
    assert not of_what_is_told(records).any()
    assert not of_what_is_told(said_by("Ann", "Where?", "At the lake.", "Yes.", "No.")).any()
    assert not of_what_is_told([passage("What is a lake?"), passage("A lake is water.")]).any()
    assert not of_what_is_told(said_by("Ann", *["Yes."] * 6)).any()


def test_what_a_date_beside_the_text_meets_is_no_evidence_against_it() -> None:
    question = EncodedQuery(
        vector=np.array([1, 0], dtype=np.float32),
        tokens=np.array([[1, 0], [0, 1], [0, 1]], dtype=np.float32),
        spans=((0, 5), (9, 13), (14, 18)),
    )
    asked = replace(ASKED, text="lakes in June 2025")
    pool = [Pooled(passage=passage("a"), fused=1, keyword=0.0)]
    rows, lengths = np.array([[1, 0]], dtype=np.float32), np.array([1])

    def evidence(*beside: tuple[int, int]) -> float:
        given = replace(asked, beside=beside)
        seen = rank_by_tokens(given, pool, question=question, rows=rows, lengths=lengths).evidence
        assert seen is not None
        return seen.best

    assert evidence() == pytest.approx(1 / 3)
    assert evidence((9, 18)) == 1.0
    assert evidence((0, 18)) == pytest.approx(1 / 3)
