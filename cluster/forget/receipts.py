"""A receipt: what was forgotten, told without saying it, signed with the instance's key.

Each section has its SHA-256 in `digests`, and the Ed25519 signature is over those, so that a
receipt that was changed can say where.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
)

from cluster.errors import InvalidRequest

SCHEMA = "palimpsest.receipt/1"
SECTIONS = ("subject", "counts", "search", "stays")
"""What, how many, what was searched for afterwards, and what stays and why."""


@dataclass(frozen=True, slots=True)
class Signer:
    """`seed`: the 32 bytes of the key file."""

    seed: bytes

    @property
    def public_key(self) -> bytes:
        return self._private().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @property
    def pem(self) -> str:
        key = self._private().public_key()
        return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    def sign(self, sections: Mapping[str, Any]) -> str:
        """The receipt's text, byte for byte what `verify` wants."""
        head = {
            "schema": SCHEMA,
            "key_id": key_id(self.public_key),
            "digests": {name: _digest(sections[name]) for name in SECTIONS},
        }
        signature = base64.b64encode(self._private().sign(_canonical(head).encode())).decode()
        body = {**head, **{name: sections[name] for name in SECTIONS}, "signature": signature}
        return _canonical(body)

    def _private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.seed)


def key_id(public_key: bytes) -> str:
    return hashlib.sha256(public_key).hexdigest()[:16]


def verify(text: str, public_key: bytes) -> list[str]:
    """What is wrong with it, part by part; nothing: it is as it was signed."""
    try:
        body = json.loads(text)
    except ValueError as error:
        return [f"form: no JSON ({error})"]
    if not isinstance(body, dict) or set(body) != {
        "schema", "key_id", "digests", "signature", *SECTIONS,
    }:  # fmt: skip
        return ["form: its parts are not those of a receipt"]
    wrong = []
    if body["schema"] != SCHEMA:
        wrong.append(f"schema: {body['schema']!r} instead of {SCHEMA!r}")
    if body["key_id"] != key_id(public_key):
        wrong.append(f"key: signed by {body['key_id']!r}, checked with {key_id(public_key)!r}")
    digests = body["digests"] if isinstance(body["digests"], dict) else {}
    wrong += [
        f"{name}: changed since it was signed"
        for name in SECTIONS
        if digests.get(name) != _digest(body[name])
    ]
    if not _signed(body, public_key):
        wrong.append("signature: it is not of this key over this schema, key and digests")
    if not wrong and _canonical(body) != text:
        wrong.append("form: written in another way than it was signed")
    return wrong


def read_public_key(text: str) -> bytes:
    """PEM, or 64 hex digits. `InvalidRequest` for anything else."""
    try:
        if text.lstrip().startswith("-----"):
            key = load_pem_public_key(text.encode())
            if isinstance(key, Ed25519PublicKey):
                return key.public_bytes(Encoding.Raw, PublicFormat.Raw)
        else:
            raw = bytes.fromhex(text.strip())
            return Ed25519PublicKey.from_public_bytes(raw).public_bytes_raw()
    except ValueError as error:
        raise InvalidRequest(f"this is no Ed25519 public key: {error}") from error
    raise InvalidRequest("this is no Ed25519 public key")


def _signed(body: Mapping[str, Any], public_key: bytes) -> bool:
    head = {name: body[name] for name in ("schema", "key_id", "digests")}
    try:
        signature = base64.b64decode(str(body["signature"]), validate=True)
        key = Ed25519PublicKey.from_public_bytes(public_key)
        key.verify(signature, _canonical(head).encode("utf-8", "surrogatepass"))
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    return True


def _digest(value: Any) -> str:
    return hashlib.sha256(_canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
