"""Whose key lies in the data directory, and when is it not the right one to ask with?"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.ask import local_key
from cli.stack import service_specs
from cluster.errors import StackError
from cluster.model import ApiKey
from cluster.settings import Settings
from cluster.stack.home import home_of, local_key_path, prepare_home
from cluster.stack.spec import to_json
from cluster.stores.memory.ledger import MemoryLedger
from serve.local_key import ensure_local_key
from serve.secret import secret_digest

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def secret_in(path: Path) -> str:
    return path.read_text().strip()


async def keys_of(ledger: MemoryLedger, path: Path, *tenants: str) -> list[ApiKey]:
    """The key in the file after each start of a stack of that tenant."""
    found = []
    for tenant in tenants:
        await ensure_local_key(ledger, path=path, tenant=tenant, now=NOW)
        async with ledger.transaction() as tx:
            key = await tx.keys.find(secret_digest(secret_in(path)))
        assert key is not None
        found.append(key)
    return found


def test_the_key_stays_while_the_tenant_does(tmp_path: Path) -> None:
    path = tmp_path / "secrets" / "local.key"
    keys = asyncio.run(keys_of(MemoryLedger(), path, "default", "default", "acme"))
    assert [(key.tenant, key.role) for key in keys] == [
        ("default", "admin"),
        ("default", "admin"),
        ("acme", "admin"),
    ]
    assert keys[0].key_id == keys[1].key_id


def test_a_stack_of_another_tenant_is_not_asked(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, tenant="default")
    home = home_of(settings)
    prepare_home(home)
    local_key_path(settings).write_text("secret\n")
    assert local_key(settings) == "secret"
    home.specs_file.write_text(to_json(service_specs(settings)), encoding="utf-8")
    assert local_key(settings) == "secret"
    with pytest.raises(StackError, match=r"'default', these settings name 'acme'.*--tenant acme"):
        local_key(settings.model_copy(update={"tenant": "acme"}))
