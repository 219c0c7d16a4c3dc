"""What does a filter mean, what is refused, and how does Milvus get to see it?"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest

from cluster.errors import InvalidFilter
from cluster.filters import (
    FIELDS,
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_TEXT_BYTES,
    MAX_VALUES,
    AllOf,
    AnyOf,
    Eq,
    Filter,
    In,
    Missing,
    Not,
    Range,
    epoch_ms,
    fields_of,
    matches,
    parse_filter,
    scoped,
)
from cluster.model import Scope
from cluster.stores.milvus.filters import render, stored_tags, stored_text, text_literal

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2024, 5, 1, tzinfo=UTC)


class TestMatches:
    def test_an_equal_text_matches_and_nothing_like_it(self) -> None:
        where = Eq("product", "TiDB")
        assert matches(where, {"product": "TiDB"})
        for other in ("tidb", "TiDB ", " TiDB", "TiD", "TiDB\n", "ＴｉＤＢ"):
            assert not matches(where, {"product": other})

    def test_composed_and_decomposed_letters_differ(self) -> None:
        assert not matches(Eq("author", "Andr\u00e9"), {"author": "Andre\u0301"})

    @pytest.mark.parametrize("row", [{}, {"product": None}, {"product": ""}])
    def test_a_missing_field_matches_no_comparison(self, row: dict[str, str | None]) -> None:
        for where in (Eq("product", "x"), In("product", ("x",)), Range("product", lt="x")):
            assert not matches(where, row)
            assert matches(Not(where), row)
        assert matches(Missing("product"), row)
        assert not matches(Not(Missing("product")), row)

    def test_an_empty_list_of_tags_is_missing(self) -> None:
        assert matches(Missing("tags"), {"tags": ()})
        assert not matches(Missing("tags"), {"tags": ("",)})

    def test_a_list_matches_when_any_element_does(self) -> None:
        row = {"tags": ("a", "b")}
        assert matches(Eq("tags", "b"), row)
        assert matches(In("tags", ("x", "a")), row)
        assert not matches(Eq("tags", "ab"), row)
        assert not matches(Not(Eq("tags", "a")), row)

    def test_a_range_holds_its_lower_end_and_not_its_upper(self) -> None:
        where = Range("authority", 0.25, 0.75)
        found = [x for x in (0.0, 0.25, 0.5, 0.75, 1.0) if matches(where, {"authority": x})]
        assert found == [0.25, 0.5]

    def test_texts_are_ordered_by_code_point(self) -> None:
        where = Range("version_key", gte="B", lt="a")
        found = [
            x
            for x in ("A", "B", "Z", "a", "中", "\U0001f642")
            if matches(where, {"version_key": x})
        ]
        assert found == ["B", "Z"]
        assert matches(Range("version_key", gte="\uffff"), {"version_key": "\U0001f642"})

    def test_zero_false_and_empty_are_three_things(self) -> None:
        assert matches(Eq("authority", 0), {"authority": 0.0})
        assert not matches(Missing("authority"), {"authority": 0.0})
        assert matches(Eq("newest_edition", False), {"newest_edition": False})
        assert not matches(Missing("newest_edition"), {"newest_edition": False})
        assert not matches(Eq("newest_edition", False), {"newest_edition": None})

    def test_a_moment_is_the_same_in_any_zone_and_in_milliseconds(self) -> None:
        elsewhere = NOON.astimezone(timezone(timedelta(hours=8)))
        where = Eq("said_at", elsewhere)
        assert matches(where, {"said_at": NOON})
        assert matches(where, {"said_at": epoch_ms(NOON)})
        assert matches(where, {"said_at": NOON + timedelta(microseconds=999)})
        assert not matches(where, {"said_at": NOON + timedelta(milliseconds=1)})
        assert not matches(Range("said_at", lt=elsewhere), {"said_at": epoch_ms(NOON)})

    def test_all_any_and_not(self) -> None:
        a, b = Eq("kind", "turn"), Eq("language", "zh")
        rows = [{"kind": k, "language": v} for k in ("turn", "document") for v in ("zh", "en")]
        held = [[matches(f, row) for row in rows] for f in (AllOf((a, b)), AnyOf((a, b)))]
        assert held == [[True, False, False, False], [True, True, True, False]]
        assert [matches(Not(AllOf((a, b))), row) for row in rows] == [False, True, True, True]


class TestScoped:
    def test_without_an_owner_only_shared_rows_are_seen(self) -> None:
        where = scoped(Scope(tenant="a"), None)
        assert matches(where, {"tenant": "a"})
        assert not matches(where, {"tenant": "a", "owner": "ada"})
        assert not matches(where, {"tenant": "b"})
        assert not matches(where, {})

    def test_an_owner_sees_shared_rows_and_their_own(self) -> None:
        where = scoped(Scope(tenant="a", owner="ada"), None)
        seen = [o for o in (None, "ada", "bob") if matches(where, {"tenant": "a", "owner": o})]
        assert seen == [None, "ada"]

    def test_no_filter_opens_the_walls(self) -> None:
        for where in (AnyOf((Eq("tenant", "b"), Eq("owner", "bob"))), Not(Eq("tenant", "a"))):
            inside = scoped(Scope(tenant="a", owner="ada"), where)
            assert not matches(inside, {"tenant": "b"})
            assert not matches(inside, {"tenant": "a", "owner": "bob"})

    def test_fields_of_names_every_field(self) -> None:
        where = scoped(Scope(tenant="a"), Not(AnyOf((Range("authority", 1), In("tags", ("x",))))))
        assert fields_of(where) == {"tenant", "owner", "authority", "tags"}
        assert fields_of(None) == frozenset()


class TestParse:
    @pytest.mark.parametrize(
        ("raw", "parsed"),
        [
            ({"product": "tidb"}, Eq("product", "tidb")),
            ({"product": ["a", "b"]}, In("product", ("a", "b"))),
            ({"product": None}, Missing("product")),
            ({"authority": {"gte": 0.5}}, Range("authority", 0.5, None)),
            ({"authority": {"gte": 0, "lt": 1}}, Range("authority", 0, 1)),
            ({"newest_edition": True}, Eq("newest_edition", True)),
            ({"tags": "x"}, Eq("tags", "x")),
            ({"updated_at": {"lt": "2024-05-01T12:00:00Z"}}, Range("updated_at", None, NOON)),
            ({"updated_at": {"gte": "2024-05-01"}}, Range("updated_at", MIDNIGHT, None)),
            ({"updated_at": "2024-05-01T20:00:00+08:00"}, Eq("updated_at", NOON)),
            ({"not": {"kind": "turn"}}, Not(Eq("kind", "turn"))),
            (
                {"kind": "turn", "session": ["s"]},
                AllOf((Eq("kind", "turn"), In("session", ("s",)))),
            ),
            (
                {"any_of": [{"kind": "turn"}, {"all_of": [{"product": None}]}]},
                AnyOf((Eq("kind", "turn"), AllOf((Missing("product"),)))),
            ),
        ],
    )
    def test_each_form(self, raw: object, parsed: Filter) -> None:
        assert parse_filter(raw) == parsed

    @pytest.mark.parametrize(
        ("raw", "told"),
        [
            (None, "non-empty object"),
            ({}, "non-empty object"),
            ([], "non-empty object"),
            ("product == 'x'", "non-empty object"),
            ({"prodcut": "x"}, "unknown filter field 'prodcut'"),
            ({"": "x"}, "unknown filter field"),
            ({"tenant; drop": "x"}, "unknown filter field"),
            ({"product": []}, "'product': an empty list"),
            ({"product": ""}, "'product': an empty text"),
            ({"product": 7}, "'product': 7 is not a text"),
            ({"product": True}, "'product': True is not a text"),
            ({"product": ["a", 7]}, "'product': 7 is not a text"),
            ({"product": ["a", None]}, "'product': None is not a text"),
            ({"product": {"like": "x"}}, "not 'like'"),
            ({"product": {}}, "'product': a range needs gte or lt"),
            ({"product": {"gte": None}}, "'product'"),
            ({"product": "a\0b"}, "NUL"),
            ({"product": "\ud800"}, "surrogates"),
            ({"product": "x" * (MAX_TEXT_BYTES + 1)}, "longer than 4096 bytes"),
            ({"product": "中" * (MAX_TEXT_BYTES // 3 + 1)}, "longer than 4096 bytes"),
            ({"authority": "0.5"}, "'authority': '0.5' is not a number"),
            ({"authority": True}, "'authority': True is not a number"),
            ({"authority": float("nan")}, "not a finite number"),
            ({"authority": float("inf")}, "not a finite number"),
            ({"authority": MAX_INTEGER + 1}, "no store is exact there"),
            ({"authority": -(10**400)}, "no store is exact there"),
            ({"newest_edition": "true"}, "'newest_edition': 'true' is not a flag"),
            ({"newest_edition": 1}, "'newest_edition': 1 is not a flag"),
            ({"newest_edition": {"gte": True}}, "has no order"),
            ({"tags": {"gte": "a"}}, "has no order"),
            ({"updated_at": 1714521600}, "'updated_at': a moment is a text"),
            ({"updated_at": "yesterday"}, "'yesterday' is no ISO 8601 moment"),
            ({"updated_at": "2024-05-01T12:00:00"}, "has no time zone"),
            ({"updated_at": "2024-13-01"}, "no ISO 8601 moment"),
            ({"all_of": []}, "all_of: an empty list"),
            ({"any_of": {}}, "any_of takes a list"),
            ({"any_of": "x"}, "any_of takes a list"),
            ({"any_of": [{}]}, "non-empty object"),
            ({"not": []}, "non-empty object"),
            ({"not": None}, "non-empty object"),
        ],
    )
    def test_what_is_refused_and_how_it_is_told(self, raw: object, told: str) -> None:
        with pytest.raises(InvalidFilter) as refused:
            parse_filter(raw)
        assert told in str(refused.value)

    def test_depth_is_bounded(self) -> None:
        def nested(depth: int) -> dict[str, object]:
            return {"not": nested(depth - 1)} if depth else {"kind": "turn"}

        assert matches(parse_filter(nested(MAX_DEPTH)), {"kind": "turn"})
        for depth in (MAX_DEPTH + 1, 400):
            with pytest.raises(InvalidFilter, match="deep"):
                parse_filter(nested(depth))

    def test_the_number_of_values_is_bounded(self) -> None:
        most = [str(n) for n in range(MAX_VALUES)]
        assert parse_filter({"product": most}) == In("product", tuple(most))
        with pytest.raises(InvalidFilter, match="at most 10000"):
            parse_filter({"product": [*most, "x"]})
        with pytest.raises(InvalidFilter, match="at most 10000"):
            parse_filter({"any_of": [{"product": "x"}] * (MAX_VALUES + 1)})

    def test_an_unknown_field_names_the_known_ones(self) -> None:
        with pytest.raises(InvalidFilter) as refused:
            parse_filter({"Product": "x"})
        assert all(name in str(refused.value) for name in FIELDS)


class TestEpochMs:
    @pytest.mark.parametrize(
        ("moment", "expected"),
        [
            (datetime(1970, 1, 1, tzinfo=UTC), 0),
            (NOON, 1_714_564_800_000),
            (NOON.replace(microsecond=999_999), 1_714_564_800_999),
            (datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC), -500),
            (datetime(1969, 12, 31, 23, 59, 59, 999, tzinfo=UTC), -1000),
            (datetime(1, 1, 1, tzinfo=UTC), -62_135_596_800_000),
            (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), 253_402_300_799_999),
            (datetime(2024, 5, 1, 20, tzinfo=timezone(timedelta(hours=8))), 1_714_564_800_000),
        ],
    )
    def test_whole_milliseconds_rounded_down(self, moment: datetime, expected: int) -> None:
        assert epoch_ms(moment) == expected


class TestMilvusExpression:
    @pytest.mark.parametrize(
        ("where", "expression"),
        [
            (Eq("product", "a"), 'product == "a"'),
            (Not(Eq("product", "a")), 'product != "a"'),
            (Not(Not(Eq("product", "a"))), 'product == "a"'),
            (In("product", ("a", "b")), 'product in ["a", "b"]'),
            (Not(In("product", ("a",))), 'product not in ["a"]'),
            (Missing("product"), 'product == ""'),
            (Missing("updated_at"), f"updated_at == {-(2**53)}"),
            (Missing("authority"), f"authority == {-sys.float_info.max!r}"),
            (Missing("newest_edition"), "newest_edition == -1"),
            (Eq("newest_edition", True), "newest_edition == 1"),
            (Eq("authority", 1), "authority == 1.0"),
            (Eq("authority", -0.0), "authority == 0.0"),
            (Eq("updated_at", NOON), "updated_at == 1714564800000"),
            (Range("product", lt="b"), '(product != "" and product < "b")'),
            (Not(Range("product", gte="b")), '(product < "b")'),
            (
                Not(AllOf((Eq("kind", "a"), AnyOf((Eq("kind", "b"), Missing("kind")))))),
                '(kind != "a" or (kind != "b" and kind != ""))',
            ),
        ],
    )
    def test_on_any_server(self, where: Filter, expression: str) -> None:
        assert render(where, tags_as="array") == render(where, tags_as="digests") == expression

    def test_tags_in_an_array(self) -> None:
        assert render(In("tags", ('a"', "b")), tags_as="array") == (
            'array_contains_any(tags, ["a\\"", "b"])'
        )
        assert render(Not(Missing("tags")), tags_as="array") == "(not (array_length(tags) == 0))"

    def test_tags_as_digests_hold_no_pattern(self) -> None:
        held = stored_tags(["100%", "a_b", "a|b", "100%"], tags_as="digests")
        assert isinstance(held, str)
        assert held.count("|") == 4
        assert not set(held) & set("%_\\\"'")
        [digest] = str(stored_tags(["100%"], tags_as="digests")).strip("|").split("|")
        assert render(Eq("tags", "100%"), tags_as="digests") == f'(tags like "%|{digest}|%")'
        assert f"|{digest}|" in held
        assert stored_tags([], tags_as="digests") == ""

    @pytest.mark.parametrize(
        ("text", "literal"),
        [
            ('"', r'"\""'),
            ("\\", r'"\\"'),
            ('\\"', r'"\\\""'),
            ("'", '"\'"'),
            ("a\nb\rc\td", r'"a\nb\rc\td"'),
            ("100%_", '"100%_"'),
            ("中🙂", '"中🙂"'),
            ('x" or tenant != "', r'"x\" or tenant != \""'),
        ],
    )
    def test_a_text_stays_one_text(self, text: str, literal: str) -> None:
        assert text_literal(text) == literal

    @pytest.mark.parametrize("letter", ["x", "é", "中", "🙂"])
    def test_a_cut_text_stays_longer_than_any_filter_value(self, letter: str) -> None:
        for offset in range(4):
            long = "y" * offset + letter * 5000
            kept = stored_text(long)
            assert long.startswith(kept)
            assert MAX_TEXT_BYTES < len(kept.encode()) <= MAX_TEXT_BYTES + 4
        exact = "y" * (MAX_TEXT_BYTES % len(letter.encode()))
        exact += letter * ((MAX_TEXT_BYTES - len(exact)) // len(letter.encode()))
        assert stored_text(exact) == exact
