"""Versions in order, and which edition a question means."""

from __future__ import annotations

import pytest

from cluster.text.versions import same_version, version_key

IN_ORDER = (
    "",
    "docs",
    "main",
    "1.9.9",
    "2.0.dev1",
    "2.0a1.dev3",
    "2.0a1",
    "2.0-beta.2",
    "2.0-beta.10",
    "2.0-rc1",
    "v2.0",
    "2.0-1",
    "2.0.1",
    "v2.3.1",
    "2.3.10",
    "2.3.x",
    "2.4",
    "release-6.5",
    "7.5",
    "TiDB v7.10",
    "2023-12",
    "2024-05",
    "2024-05-01",
    "2024/05/17",
    "2024年6月",
    "2024-10",
    "latest",
)


def test_order() -> None:
    keys = [version_key(version) for version in IN_ORDER]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    "same",
    [
        ("v2.0", "2.0.0", "2.0", "2", "V2", "version 2.0", "Release_2_0", "2.0 GA", " ２.０ "),
        ("7.4-DMR", "7.4", "v7.4.0-dmr"),
        ("2.0-rc1", "2.0.0rc1", "v2.0-RC.1", "2.0c1"),
        ("2024-05", "2024.05", "2024年5月", "2024/5", "release-2024-05"),
        ("latest", "Stable", "current"),
    ],
)
def test_one_version_written_in_several_ways(same: tuple[str, ...]) -> None:
    assert len({version_key(version) for version in same}) == 1
    assert all(same_version(asked, held) for asked in same for held in same)


@pytest.mark.parametrize(
    ("asked", "held", "expected"),
    [
        ("7.5", "v7.5.1", True),
        ("7.5", "7.5.x", True),
        ("7.5.1", "7.5.x", True),
        ("7.5.x", "7.5.1", True),
        ("7", "7.5", True),
        ("7.5.0", "7.5", True),
        ("2024-05", "2024-05-07", True),
        ("MAIN", "main", True),
        ("7.5", "7.50", False),
        ("7.5", "7.5-rc1", False),
        ("7.5-rc1", "7.5", False),
        ("7.5.1", "7.5", False),
        ("7.5", "7.1.x", False),
        ("7.5", "17.5", False),
        ("7.5", "", False),
        ("", "7.5", False),
        ("main", "7.5", False),
    ],
)
def test_which_edition_is_meant(asked: str, held: str, expected: bool) -> None:
    assert same_version(asked, held) is expected
