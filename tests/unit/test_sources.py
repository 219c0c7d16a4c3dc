"""What is listed and loaded, and what happens to what cannot be."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from cluster.errors import InvalidRequest
from cluster.model import ItemProblem
from ingest.load import Item, load, origin_of
from ingest.rules import Rules, load_rules
from ingest.sources import LinesUnit, Listing

LIMIT = 10_000


@pytest.fixture(scope="module")
def rules() -> Rules:
    return load_rules()


def listing(*targets: str | Path, rules: Rules, block_items: int = 4) -> Listing:
    return Listing(
        targets=[str(target) for target in targets],
        rules=rules,
        block_items=block_items,
        max_item_bytes=LIMIT,
    )


def loaded(of: Listing) -> tuple[list[Item], list[ItemProblem]]:
    found = [
        each for unit in of.units() for each in load(unit, rules=of.rules, max_item_bytes=LIMIT)
    ]
    items = [each for each in found if isinstance(each, Item)]
    return items, [*of.problems, *(each for each in found if isinstance(each, ItemProblem))]


def write_lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_a_folder_gives_its_files_by_name_without_the_hidden_ones(
    tmp_path: Path, rules: Rules
) -> None:
    for name in ("b.md", "a/c.md", ".git/config", ".hidden.md", "node_modules/x.js", "z.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name, encoding="utf-8")
    items, problems = loaded(listing(tmp_path, rules=rules))
    assert [item.path for item in items] == ["a/c.md", "b.md", "z.txt"]
    assert {item.root for item in items} == {tmp_path.as_uri()}
    assert items[0].origin == (tmp_path / "a/c.md").as_uri()
    assert problems == []


def test_links_in_a_circle_are_walked_once(tmp_path: Path, rules: Rules) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.md").write_text("x", encoding="utf-8")
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    items, problems = loaded(listing(tmp_path, rules=rules))
    assert [item.path for item in items] == ["a/x.md"]
    assert [(each.kind, each.origin.rsplit("/", 1)[-1]) for each in problems] == [
        ("unreadable", "gone")
    ]


def test_a_glob_takes_what_matches(tmp_path: Path, rules: Rules) -> None:
    for name in ("x.md", "sub/y.md", "sub/z.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("t", encoding="utf-8")
    items, _ = loaded(listing(f"{tmp_path}/**/*.md", rules=rules))
    assert [item.path for item in items] == ["sub/y.md", "x.md"]


@pytest.mark.parametrize("target", ["nowhere", "*.nothing", "ftp2://host/x"])
def test_a_target_that_is_not_there_is_told(tmp_path: Path, rules: Rules, target: str) -> None:
    where = target if "://" in target else f"{tmp_path}/{target}"
    with pytest.raises(InvalidRequest, match=target.replace("*", r"\*")):
        list(listing(where, rules=rules).units())


def test_an_empty_folder_is_told(tmp_path: Path, rules: Rules) -> None:
    with pytest.raises(InvalidRequest, match="no file to ingest"):
        list(listing(tmp_path, rules=rules).units())


def test_a_name_that_is_not_utf8_is_shown_escaped(tmp_path: Path, rules: Rules) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"\xff name.md")
    with open(path, "wb") as file:
        file.write(b"text")
    (item,), _ = loaded(listing(tmp_path, rules=rules))
    assert item.path == "%FF name.md"
    assert item.origin.endswith("/%FF%20name.md")
    assert item.content == b"text"


def test_a_sidecar_gives_fields_and_is_no_item(tmp_path: Path, rules: Rules) -> None:
    (tmp_path / "a.md").write_text("text", encoding="utf-8")
    (tmp_path / "a.md.meta.yaml").write_text("project: nimbus\nlang: en\n", encoding="utf-8")
    (item,), _ = loaded(listing(tmp_path, rules=rules))
    assert item.sidecar == {"product": "nimbus", "language": "en"}
    before = item.raw_digest
    (tmp_path / "a.md.meta.yaml").write_text("project: other\n", encoding="utf-8")
    assert loaded(listing(tmp_path, rules=rules))[0][0].raw_digest != before


def test_records_are_read_under_our_names(tmp_path: Path, rules: Rules) -> None:
    record = {
        "doc_id": "d1", "project": "nimbus", "version": "2.0", "released": "2024-01-01",
        "lang": "en", "path": "a.md", "title": "A", "text": "# A", "source": "https://x.example/a",
    }  # fmt: skip
    file = write_lines(tmp_path / "c.jsonl", [record, {"_id": 7, "text": "plain", "title": ""}])
    (first, second), _ = loaded(listing(file, rules=rules))
    assert first.record == {
        "title": "A",
        "language": "en",
        "source_url": "https://x.example/a",
        "published_at": "2024-01-01",
        "product": "nimbus",
        "product_version": "2.0",
    }
    assert (first.path, first.name) == ("a.md", "a.md")
    said = "product=nimbus&product_version=2.0&language=en"
    assert first.origin == f"{file.as_uri()}#a.md?{said}"
    assert (second.path, second.name, second.content) == ("7", "7.txt", b"plain")


def test_bad_lines_are_told_by_number_and_the_rest_comes_through(
    tmp_path: Path, rules: Rules
) -> None:
    lines = [
        b'{"text": "one"}', b"{broken", b'{"text": "' + b"x" * LIMIT + b'"}', b"[1]", b"",
        b'{"no": "text"}', b'{"text": "\xff"}', b'{"text": "\\ud800 two"}', b"[" * 5000,
    ]  # fmt: skip
    file = tmp_path / "c.jsonl"
    file.write_bytes(b"\n".join(lines))
    for block_items in (1, 4):
        of = listing(file, rules=rules, block_items=block_items)
        items, problems = loaded(of)
        assert [item.content for item in items] == [b"one", b"? two"]
        told = {int(each.origin.rpartition("#L")[2]): each.kind for each in problems}
        assert told == {
            2: "broken", 3: "too_large", 4: "broken", 6: "empty", 7: "encoding", 9: "broken"
        }  # fmt: skip


def test_a_line_of_many_megabytes_is_passed_over_without_being_held(
    tmp_path: Path, rules: Rules
) -> None:
    file = tmp_path / "c.jsonl"
    with file.open("wb") as out:
        out.write(b'{"text": "')
        out.writelines(b"x" * 1_000_000 for _ in range(50))
        out.write(b'"}\n{"text": "after"}\n')
    of = listing(file, rules=rules)
    items, problems = loaded(of)
    assert [(item.content, item.label) for item in items] == [
        (b"after", f"{file.as_uri()}#L2 (L2)")
    ]
    assert [each.kind for each in problems] == ["too_large"]
    assert of.complete


def test_turns_are_counted_inside_their_session_across_units(tmp_path: Path, rules: Rules) -> None:
    turns = [
        {"id": number, "speaker": "Ada", "text": f"t{number}", "session": f"s{number % 2}",
         "conversation": "c", "timestamp": "2023-05-08T13:56:00"}
        for number in range(70)
    ]  # fmt: skip
    of = listing(write_lines(tmp_path / "c.jsonl", turns), rules=rules)
    units = list(of.units())
    assert len(units) == 3
    assert all(isinstance(unit, LinesUnit) for unit in units)
    items = [
        item
        for unit in units
        for item in load(unit, rules=rules, max_item_bytes=LIMIT)
        if isinstance(item, Item)
    ]
    assert [item.turn.ordinal for item in items if item.turn] == [n // 2 for n in range(70)]
    turn = items[3].turn
    assert turn is not None
    assert (turn.conversation, turn.session, turn.speaker) == ("c", "s1", "Ada")
    assert turn.said_at is not None
    assert turn.said_at.isoformat() == "2023-05-08T13:56:00+00:00"
    assert items[3].path == "c/s1/3"


@pytest.mark.parametrize(
    ("conversation", "session", "name", "path"),
    [
        ("c", "s", "7", "c/s/7"),
        ("c", "c/s", "7", "c/s/7"),
        ("c", "c/s", "c/t7", "c/t7"),
        ("c", None, 7, "c/7"),
        (None, "s", "t", "s/t"),
    ],
)
def test_a_turn_has_a_path_of_its_own(
    tmp_path: Path,
    rules: Rules,
    *,
    conversation: str | None,
    session: str | None,
    name: str | int,
    path: str,
) -> None:
    turn = {"conversation": conversation, "session": session, "id": name, "text": "x", "role": "u"}
    (item,), _ = loaded(listing(write_lines(tmp_path / "c.jsonl", [turn]), rules=rules))
    assert item.path == path


def test_a_session_gives_its_turns_and_an_exchange_gives_two(tmp_path: Path, rules: Rules) -> None:
    session = {
        "session_id": "s1",
        "turns": [
            {"role": "user", "content": "hello", "time": "2024-01-01T00:00:00Z"},
            {"user": "how are you?", "assistant": "well", "date": "2024-01-02"},
        ],
    }
    items, _ = loaded(listing(write_lines(tmp_path / "c.jsonl", [session]), rules=rules))
    assert [(i.turn.speaker, i.turn.ordinal, i.content) for i in items if i.turn] == [
        ("user", 0, b"hello"),
        ("user", 1, b"how are you?"),
        ("assistant", 2, b"well"),
    ]
    assert len({item.origin for item in items}) == len({item.label for item in items}) == 3


def test_every_record_and_every_turn_has_an_origin_of_its_own(tmp_path: Path, rules: Rules) -> None:
    page = {"id": "guide", "text": "words"}
    told = [{}, {"lang": "zh"}, {"lang": "en"}, {"project": "a", "version": "1"}]
    told += [{"project": "b", "version": "1"}, {"project": "b", "version": "2"}, {"path": "x.md"}]
    pages = write_lines(tmp_path / "pages.jsonl", [{**page, **fields} for fields in told])
    turn = {"role": "u", "text": "same words", "session_id": "s"}
    talk = [{**turn, "conversation": c} for c in ("c", "d") for _ in range(3)]
    turns = write_lines(tmp_path / "turns.jsonl", talk)
    said = [{"role": "u", "content": "hi"}, {"user": "a", "assistant": "b"}]
    chats = [{"session_id": "s1", "turns": said}, {"session_id": "s2", "turns": said}]
    sessions = write_lines(tmp_path / "sessions.jsonl", [*chats, {"turns": said}, {"turns": said}])
    items, problems = loaded(listing(pages, turns, sessions, rules=rules))
    assert (len(items), problems) == (7 + 6 + 12, [])
    assert len({item.origin for item in items}) == len(items)


def test_a_record_keeps_its_origin_when_lines_come_before_it(tmp_path: Path, rules: Rules) -> None:
    records = [{"path": "a.md", "text": "a"}, {"session": "s", "role": "u", "text": "x", "id": 5}]
    file = write_lines(tmp_path / "c.jsonl", records)
    before = [item.origin for item in loaded(listing(file, rules=rules))[0]]
    write_lines(file, [{"path": "new.md", "text": "new"}, *records])
    assert [item.origin for item in loaded(listing(file, rules=rules))[0]][1:] == before


def test_no_two_places_become_one_origin() -> None:
    places = ["s3://b/a  b", "s3://b/a b", "s3://b/a\0b", "s3://b/ab", "x" * 4000, "x" * 4001]
    places += ["x" * 5000, "upload:/n", "upload:/n~"]
    origins = [origin_of(place) for place in places]
    assert len(set(origins)) == len(places)
    assert max(map(len, origins)) <= 4000
    assert origins[1] == "s3://b/a b"
    assert origin_of("upload:/n", {"source": "a"}) != origin_of("upload:/n", {"source": "b"})
    assert origin_of("upload:/n", {"source": None, "title": "t"}) == "upload:/n"


def test_folders_and_corpora_are_covered_and_other_files_and_patterns_are_not(
    tmp_path: Path, rules: Rules
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("t", encoding="utf-8")
    corpus = write_lines(tmp_path / "docs" / "c.jsonl", [{"text": "t"}])

    def covered(target: str | Path) -> set[str]:
        of = listing(target, rules=rules)
        list(of.units())
        return of.covered

    docs = tmp_path / "docs"
    assert covered(docs) == {docs.as_uri(), corpus.as_uri()}
    assert covered(docs.as_uri()) == covered(docs)
    assert covered(corpus) == covered(f"{docs}/*") == {corpus.as_uri()}
    assert covered(docs / "a.md") == covered(f"{docs}/*.md") == set()


def test_a_jsonl_in_a_folder_is_a_corpus_only_when_it_holds_texts(
    tmp_path: Path, rules: Rules
) -> None:
    write_lines(tmp_path / "corpus.jsonl", [{"text": "one"}, {"text": "two"}])
    write_lines(tmp_path / "log.jsonl", [{"level": "info", "n": 1}])
    items, problems = loaded(listing(tmp_path, rules=rules))
    assert [item.content for item in items[:2]] == [b"one", b"two"]
    assert items[2].path == "log.jsonl"
    assert problems == []


def test_parquet_rows_are_records(tmp_path: Path, rules: Rules) -> None:
    file = tmp_path / "c.parquet"
    table = pa.table({"doc_id": ["a", "b", "c"], "text": ["one", "two", None]})
    pq.write_table(table, file, row_group_size=2)
    items, problems = loaded(listing(file, rules=rules))
    assert [(item.path, item.content) for item in items] == [("a", b"one"), ("b", b"two")]
    assert [each.origin.rpartition("#")[2] for each in problems] == ["R2"]
    broken = tmp_path / "d.parquet"
    broken.write_bytes(b"PAR1 no")
    of = listing(broken, rules=rules)
    assert loaded(of)[1][0].kind == "broken"
    assert not of.complete


def test_a_link_to_itself_is_a_problem_of_its_own(tmp_path: Path, rules: Rules) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "x.md").write_text("x", encoding="utf-8")
    items, problems = loaded(listing(tmp_path, rules=rules))
    assert [item.path for item in items] == ["x.md"]
    assert [(each.origin, each.kind) for each in problems] == [
        (f"{tmp_path.as_uri()}/loop", "unreadable")
    ]


def test_a_file_that_goes_while_it_is_listed_is_a_problem(
    tmp_path: Path, rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.md").write_text("x", encoding="utf-8")

    def gone(_path: str) -> int:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(os.path, "getsize", gone)
    found = listing(tmp_path, rules=rules)
    items, problems = loaded(found)
    assert (items, [each.kind for each in problems]) == ([], ["unreadable"])
    assert not found.complete


def test_a_corpus_that_is_gone_when_it_is_read_is_a_problem(tmp_path: Path, rules: Rules) -> None:
    file = write_lines(tmp_path / "c.jsonl", [{"text": "one"}])
    units = list(listing(file, rules=rules).units())
    file.unlink()
    (told,) = [each for unit in units for each in load(unit, rules=rules, max_item_bytes=LIMIT)]
    assert isinstance(told, ItemProblem)
    assert (told.origin, told.kind) == (file.as_uri(), "unreadable")


def test_a_damaged_page_and_a_far_moment_spare_the_other_rows(tmp_path: Path, rules: Rules) -> None:
    far = pa.array([0, 400_000_000_000_000, 1], pa.timestamp("ms"))
    table = pa.table({"id": ["a", "b", "c"], "text": ["one", "two", "three"], "date": far})
    pq.write_table(table, tmp_path / "a.parquet")
    items, problems = loaded(listing(tmp_path / "a.parquet", rules=rules))
    assert [item.path for item in items] == ["a", "c"]
    assert [each.origin.rpartition("#")[2] for each in problems] == ["R1"]
    damaged = tmp_path / "b.parquet"
    pq.write_table(pa.table({"text": ["w" * 4000]}), damaged, compression="gzip")
    raw = bytearray(damaged.read_bytes())
    raw[4:60] = b"\xff" * 56
    damaged.write_bytes(raw)
    items, problems = loaded(listing(damaged, rules=rules))
    assert items == []
    assert [(each.origin, each.kind) for each in problems] == [(damaged.as_uri(), "broken")]


def test_a_place_in_a_session_that_is_a_moment_is_counted_instead(
    tmp_path: Path, rules: Rules
) -> None:
    told = {"speaker": "a", "session": "s", "text": "hello"}
    records = [{**told, "index": each} for each in (1_700_000_000_000, 2**31 - 1)]
    items, _ = loaded(listing(write_lines(tmp_path / "c.jsonl", records), rules=rules))
    assert [item.turn.ordinal for item in items if item.turn] == [0, 2**31 - 1]


def test_the_same_file_named_twice_comes_once(tmp_path: Path, rules: Rules) -> None:
    (tmp_path / "a.md").write_text("text", encoding="utf-8")
    items, _ = loaded(listing(tmp_path, f"{tmp_path}/*.md", rules=rules))
    assert len(items) == 1


def test_a_file_that_is_too_large_is_told(tmp_path: Path, rules: Rules) -> None:
    (tmp_path / "a.md").write_text("x" * (LIMIT + 1), encoding="utf-8")
    (tmp_path / "b.md").write_text("x", encoding="utf-8")
    items, problems = loaded(listing(tmp_path, rules=rules))
    assert [item.path for item in items] == ["b.md"]
    assert [each.kind for each in problems] == ["too_large"]


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = self.path == "/a/page.html"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Last-Modified", "Fri, 01 Mar 2024 10:00:00 GMT")
        self.end_headers()
        self.wfile.write(b"<h1>Hello</h1>" if found else b"")

    def log_message(self, *_: object) -> None:
        return None


@pytest.fixture
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_web_page_comes_with_its_address_type_and_date(site: str, rules: Rules) -> None:
    (item,), _ = loaded(listing(f"{site}/a/page.html", rules=rules))
    assert (item.path, item.name, item.media_type) == ("a/page.html", "page.html", "text/html")
    assert item.page == {
        "source_url": f"{site}/a/page.html",
        "updated_at": "Fri, 01 Mar 2024 10:00:00 GMT",
    }
    _, (problem,) = loaded(listing(f"{site}/gone.html", rules=rules))
    assert problem.kind == "unreadable"
    assert "404" in problem.reason


def test_whose_a_record_is_comes_from_a_rules_file_only(tmp_path: Path, rules: Rules) -> None:
    file = write_lines(tmp_path / "c.jsonl", [{"owner": "ada", "text": "t"}])
    (item,), _ = loaded(listing(file, rules=rules))
    assert "owner" not in item.record
    (tmp_path / "r.toml").write_text('[aliases]\nowner = ["owner"]\n', encoding="utf-8")
    (item,), _ = loaded(listing(file, rules=load_rules(tmp_path / "r.toml")))
    assert item.record["owner"] == "ada"
