"""`palimpsest receipt verify` on files: no store is asked, and checking makes no key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import build
from cluster.errors import InvalidRequest
from cluster.forget.receipts import SECTIONS, Signer

SIGNER = Signer(bytes(range(32)))


@pytest.fixture
def receipt(tmp_path: Path) -> Path:
    file = tmp_path / "receipt.json"
    file.write_text(SIGNER.sign({name: {"rows": 3} for name in SECTIONS}))
    return file


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PALIMPSEST_CONFIG", "/dev/null")
    return tmp_path / "home"


def call(*words: object) -> Result:
    return CliRunner().invoke(build(), ["receipt", *map(str, words)])


def test_an_instance_without_a_key_says_so_and_makes_none(home: Path, receipt: Path) -> None:
    result = call("verify", receipt)
    assert isinstance(result.exception, InvalidRequest)
    assert "there is no key of receipts at" in str(result.exception)
    assert "--public-key" in str(result.exception)
    assert not home.exists()


def test_the_public_key_is_enough(home: Path, receipt: Path, tmp_path: Path) -> None:
    pem = tmp_path / "public.pem"
    pem.write_text(SIGNER.pem)
    assert call("verify", receipt, "--public-key", pem).exit_code == 0
    receipt.write_text(receipt.read_text().replace('"rows":3', '"rows":4', 1))
    changed = call("verify", receipt, "--public-key", pem, "--json")
    assert changed.exit_code == 1
    assert json.loads(changed.stdout)["wrong"] == ["counts: changed since it was signed"]


def test_neither_file_nor_id(home: Path) -> None:
    result = call("verify", "reciept.json")
    assert isinstance(result.exception, InvalidRequest)
    assert "neither a file nor the id of a receipt" in str(result.exception)


def test_the_key_for_machines(home: Path) -> None:
    told = json.loads(call("public-key", "--json").stdout)
    assert told["pem"] == call("public-key").stdout
    assert len(bytes.fromhex(told["public_key"])) == 32
