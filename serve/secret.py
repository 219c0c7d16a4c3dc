"""What a key is made of: a secret that is shown once, and the digest that is kept."""

from __future__ import annotations

import secrets
from datetime import datetime

from cluster.ids import content_id, sha256_hex
from cluster.model import ApiKey, Role

PREFIX = "pk_"


def new_secret() -> str:
    """256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def secret_digest(secret: str) -> str:
    return sha256_hex(secret)


def key_id_of(secret: str) -> str:
    """A name for the key that tells nothing about its secret."""
    return content_id("key", "id of", secret_digest(secret))


def new_key(
    *,
    tenant: str,
    role: Role,
    name: str,
    now: datetime,
    owner: str | None = None,
    agent: str | None = None,
) -> tuple[str, ApiKey]:
    """A fresh secret, and the key that the ledger keeps beside `secret_digest(secret)`."""
    secret = new_secret()
    key = ApiKey(
        key_id=key_id_of(secret),
        tenant=tenant,
        role=role,
        name=name,
        owner=owner,
        agent=agent,
        created_at=now,
    )
    return secret, key
