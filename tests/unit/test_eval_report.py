"""The page is whole in itself, well formed, and tells what was measured."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from eval import charts
from eval.ablation import Worth
from eval.charts import Bar, Dots
from eval.noise import Noisy
from eval.records import Record
from eval.report import Measured, render
from eval.results import About, Results
from eval.scores import SetScores, score
from eval.significance import paired

VOID = {"meta", "link", "br", "hr", "img", "input", "i"}


class Balanced(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in VOID - {"i"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def scores_of(name: str) -> SetScores:
    records = tuple(
        Record(
            question_id=f"q{number}",
            kind="fact" if number % 2 else "<b>list</b>",
            language="zh" if number % 2 else "en",
            half="tune" if number % 3 else "report",
            relevant={"good": 1},
            stages={
                "keyword": (("c1", "bad", 2.0), ("c2", "good", 1.0)),
                "final": (("c2", "good", 1.0),),
            },
            timings_ms={"total": 10.0 + number},
        )
        for number in range(12)
    )
    about = About(
        dataset=name, data="d", fingerprint="f", settings={}, code="c", commit="a1", documents=7
    )
    return score(Results(about=about, records=records))


def page() -> str:
    difference = paired([1.0] * 12, [0.9] * 12)
    worth = Worth(
        dataset="drcd", stage="rerank", with_it=1.0, without_it=0.9, difference=difference
    )
    noisy = Noisy(dataset="drcd", added=5.0, change=paired([0.9] * 12, [1.0] * 12))
    return render(
        Measured(sets=[scores_of("drcd"), scores_of("own set")], worths=[worth], noisy=[noisy])
    )


def test_nothing_is_loaded_and_all_is_closed() -> None:
    text = page()
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert parser.addresses == []
    assert "<script" not in text
    assert not re.search(r"url\(|@import|https?://", text)


def test_the_figures_are_told() -> None:
    text = page()
    assert "1 of 1 floors are met; what is shown is on no set below" in text
    assert "<b>1.000</b>" in text
    assert "keyword 0.631" in text
    assert '<td class="up" style="--w: 55"><b>+10.0</b></td>' in text
    assert '<td class="bad">-10.00</td>' in text


def test_what_comes_from_a_set_is_escaped() -> None:
    assert "<b>list</b>" not in page()
    assert "&lt;b&gt;list&lt;/b&gt;" in page()
    told = charts.bars([Bar(label="<x>", value=0.5, error=0.1, note="<y>")], title='"z"')
    assert "<x>" not in told
    assert "<y>" not in told
    assert 'aria-label="&quot;z&quot;"' in told


def test_marks_stand_where_their_values_are() -> None:
    told = charts.dot_rows(
        [Dots(label="drcd", values={"keyword": 0.0, "final": 1.0}, floor=0.5)],
        series=("keyword", "final"),
        title="stages",
    )
    left, right = charts.LABELS, charts.WIDTH - charts.RIGHT
    assert [float(each) for each in re.findall(r'cx="([\d.]+)"', told)] == [left, right]
    assert f'class="floor" x1="{(left + right) / 2}"' in told


def test_a_histogram_counts_every_value_once() -> None:
    told = charts.histogram([0.0, 0.05, 0.5, 1.0, 1.0], title="values")
    assert sum(int(each) for each in re.findall(r"<title>(\d+) questions", told)) == 5
    assert "<title>2 questions, 0.9 to 1.0</title>" in told
