"""What a key is made of: a secret that is shown once, and the digest that is kept."""

from __future__ import annotations

import secrets

from cluster.ids import content_id, sha256_hex

PREFIX = "pk_"


def new_secret() -> str:
    """256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def secret_digest(secret: str) -> str:
    return sha256_hex(secret)


def key_id_of(secret: str) -> str:
    """A name for the key that tells nothing about its secret."""
    return content_id("key", "id of", secret_digest(secret))
