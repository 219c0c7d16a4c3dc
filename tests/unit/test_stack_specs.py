"""What the parts are, as data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.errors import StackError
from cluster.settings import (
    MilvusSettings,
    PostgresSettings,
    RaySettings,
    Settings,
    load_settings,
)
from cluster.stack.home import Home, local_key_path
from cluster.stack.services import (
    LONGEST_RAY_FOLDER,
    embedded_postgres_url,
    endpoints,
    module_service,
    ray_address,
    ray_environment,
    ray_folder,
    settings_environment,
    store_services,
)
from cluster.stack.spec import Port, Probe, ServiceSpec, from_json, in_order, to_json

names = st.text(st.characters(codec="utf-8"), max_size=8)
specs = st.builds(
    ServiceSpec,
    name=names,
    command=st.lists(names, max_size=3).map(tuple),
    probe=st.builds(
        Probe,
        kind=st.sampled_from(["alive", "http"]),
        target=names,
        secret_file=st.none() | names,
        timeout_s=st.floats(0.1, 9),
    ),
    env=st.dictionaries(names, names, max_size=3),
    after=st.lists(names, max_size=2).map(tuple),
    ports=st.lists(st.builds(Port, number=st.integers(1, 65535), setting=names), max_size=2).map(
        tuple
    ),
)


@given(st.lists(specs, max_size=3))
def test_specs_survive_the_way_to_the_supervisor(parts: list[ServiceSpec]) -> None:
    assert from_json(to_json(parts)) == parts
    assert [spec.digest for spec in from_json(to_json(parts))] == [spec.digest for spec in parts]


def part(name: str, *after: str) -> ServiceSpec:
    return ServiceSpec(name=name, command=("true",), probe=Probe(kind="alive"), after=after)


def test_parts_come_after_what_they_need_and_ignore_what_runs_elsewhere() -> None:
    parts = [part("serve", "ray", "postgres"), part("ray"), part("worker", "serve", "milvus")]
    assert [spec.name for spec in in_order(parts)] == ["ray", "serve", "worker"]


def test_a_ring_of_needs_is_refused() -> None:
    with pytest.raises(ValueError, match="wait for each other"):
        in_order([part("a", "b"), part("b", "a")])


def test_all_stores_are_local_unless_an_address_is_set() -> None:
    everything = Settings(home=Path("/h"))
    assert [spec.name for spec in store_services(everything)][:3] == ["postgres", "milvus", "ray"]
    elsewhere = Settings(
        home=Path("/h"),
        postgres=PostgresSettings(url="postgresql://db/x"),
        milvus=MilvusSettings(uri="http://m:1"),
        ray=RaySettings(address="10.0.0.1:6379"),
    )
    assert {spec.name for spec in store_services(elsewhere)} <= {"indexer"}
    assert ray_environment(elsewhere) == {}
    assert ray_address(elsewhere) == "10.0.0.1:6379"
    assert endpoints(elsewhere).postgres == "postgresql://db/x"


def test_a_module_of_a_higher_floor_is_restarted_with_ray() -> None:
    spec = module_service(Settings(), name="serve", module="x.y", probe=Probe(kind="alive"))
    assert spec.command[1:] == ("-m", "x.y")
    assert spec.restart_with == ("ray",)
    assert spec.env["RAY_AUTH_MODE"] == "token"


@given(
    st.integers(1, 65535), st.integers(4, 64), st.booleans(), st.sampled_from(["default", "acme"])
)
def test_a_part_loads_the_settings_that_its_stack_was_started_with(
    port: int, cpus: int, centred: bool, tenant: str
) -> None:
    settings = load_settings(
        {
            "PALIMPSEST_HOME": "/nowhere/at/all",
            "PALIMPSEST_TENANT": tenant,
            "PALIMPSEST_SERVE__PORT": str(port),
            "PALIMPSEST_RAY__LOGICAL_CPUS": str(cpus),
            "PALIMPSEST_ENCODER__CENTRED": str(centred),
        }
    )
    assert load_settings(settings_environment(settings)) == settings


def test_a_part_reads_no_file_of_its_own(tmp_path: Path) -> None:
    """Another file was named at the start, or this one was changed since."""
    (tmp_path / "palimpsest.toml").write_text(
        'tenant = "later"\n[postgres]\nurl = "postgresql://other/db"\n', encoding="utf-8"
    )
    settings = Settings(home=tmp_path)
    assert load_settings(settings_environment(settings)) == settings


def test_rays_folder_is_short_enough_for_its_sockets() -> None:
    deep = Home(Path("/" + "d" * 90))
    folder = ray_folder(deep)
    assert len(os.fsencode(folder)) <= LONGEST_RAY_FOLDER
    assert ray_folder(Home(Path("/" + "e" * 90))) != folder
    assert ray_folder(Home(Path("/h"))) == Path("/h/ray")


def test_the_url_needs_a_first_start(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with pytest.raises(StackError, match="palimpsest up"):
        embedded_postgres_url(settings)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "postgres.password").write_text("geheim\n")
    assert embedded_postgres_url(settings) == (
        "postgresql://palimpsest:geheim@127.0.0.1:8731/palimpsest"
    )
    assert local_key_path(settings) == tmp_path / "secrets" / "local.key"
