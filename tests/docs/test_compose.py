"""The servers for a workstation: open to this machine only, watched, kept, of named versions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.settings import load_settings

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "servers" / "palimpsest.toml"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
KNOWN_KEYS = {
    "command", "depends_on", "environment", "healthcheck", "image", "ports", "restart",
    "security_opt", "shm_size", "ulimits", "volumes",
}  # fmt: skip


def test_the_stores_and_what_milvus_needs() -> None:
    assert SERVICES.keys() == {"postgres", "etcd", "minio", "milvus", "elasticsearch"}
    needs = SERVICES["milvus"]["depends_on"]
    assert needs == {name: {"condition": "service_healthy"} for name in ("etcd", "minio")}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service(name: str) -> None:
    service = SERVICES[name]
    assert service.keys() <= KNOWN_KEYS
    _, _, tag = service["image"].rpartition(":")
    assert re.search(r"\d+\.\d+|\d{4}-\d\d-\d\d", tag), f"{name}: {tag} names no version"
    assert service["restart"] == "unless-stopped"
    check = service["healthcheck"]
    assert check["test"][0] in ("CMD", "CMD-SHELL")
    assert {"interval", "timeout", "retries"} <= check.keys()
    for port in service.get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port), f"{name}: {port} is open to others"
    kept = [volume.split(":")[0] for volume in service["volumes"] if not volume.startswith(".")]
    assert kept == [name]
    assert name in COMPOSE["volumes"]


def test_milvus_searches_exactly_what_is_not_flushed() -> None:
    (mount,) = (one for one in SERVICES["milvus"]["volumes"] if one.startswith("."))
    source, target, mode = mount.split(":")
    assert (target, mode) == ("/milvus/configs/user.yaml", "ro")
    told = yaml.safe_load((ROOT / source).read_text(encoding="utf-8"))
    assert told["queryNode"]["segcore"]["interimIndex"] == {"enableIndex": False}


def test_no_password_stands_in_the_file() -> None:
    for name, service in SERVICES.items():
        for key, value in service["environment"].items():
            if "PASSWORD" in key or "SECRET" in key:
                assert re.fullmatch(r"\$\{\w+:\?set it in \.env\}", value), f"{name}: {key}"


def test_the_store_behind_each_port_is_the_one_that_the_example_names() -> None:
    settings = load_settings({"PALIMPSEST_CONFIG": str(EXAMPLE)})
    ports = {name: service.get("ports", []) for name, service in SERVICES.items()}
    for name, address in (
        ("postgres", settings.postgres.url),
        ("milvus", settings.milvus.uri),
        ("elasticsearch", settings.text_index.url),
    ):
        assert address is not None
        found = re.search(r"127\.0\.0\.1:(\d+)", address)
        assert found is not None
        assert f"127.0.0.1:{found[1]}:{found[1]}" in ports[name]
    assert settings.text_index.backend == "elasticsearch"


def test_each_password_of_the_example_is_one_of_the_compose_file() -> None:
    example = EXAMPLE.read_text(encoding="utf-8")
    compose = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    readme = (EXAMPLE.parent / "README.md").read_text(encoding="utf-8")
    asked = set(re.findall(r"\$\{(\w+):\?", compose))
    assert set(re.findall(r"[A-Z]+_PASSWORD", example)) == asked - {"MINIO_PASSWORD"}
    (loop,) = re.findall(r"for name in ([A-Z_ ]+); do", readme)
    assert set(loop.split()) == asked
