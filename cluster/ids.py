"""Content -> id: the same content gets the same id, anywhere, any time.

An id is a prefix that tells the kind, and 128 bits of SHA-256 in base32 (lower case, 26
letters). Parts are length-prefixed, so ("ab", "c") and ("a", "bc") differ.
"""

from __future__ import annotations

import base64
import hashlib


def digest(*parts: str | bytes | int) -> bytes:
    """SHA-256 over length-prefixed parts. A lone surrogate in a text is kept distinct."""
    state = hashlib.sha256()
    for part in parts:
        raw = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "big"))
        state.update(raw)
    return state.digest()


def content_id(prefix: str, *parts: str | bytes | int) -> str:
    return f"{prefix}_{base64.b32encode(digest(*parts)[:16]).decode().rstrip('=').lower()}"


def sha256_hex(data: str | bytes) -> str:
    """The plain SHA-256 of the UTF-8 bytes, as anyone can compute it."""
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()


def document_id(
    *, tenant: str, source: str, path: str, language: str, owner: str | None = None
) -> str:
    """One logical page, whatever its edition and revision. Two owners never share one."""
    return content_id("doc", tenant, source, path, language, *([owner] if owner else []))


def revision_id(*, document: str, edition: str, content: str, metadata: str, recipe: str) -> str:
    """One content of one edition. `content` and `metadata` are digests; `recipe` names what
    else shaped the chunks (chunker and its limits, encoder fingerprint)."""
    return content_id("rev", document, edition, content, metadata, recipe)


def chunk_id(*, revision: str, start: int, end: int, text: str) -> str:
    return content_id("chk", revision, start, end, text)


def vector_key(language: str, indexed_text: str) -> str:
    """Under which a chunk's vector is kept, beside the encoder's fingerprint (64 hex digits).

    `indexed_text` is `Chunk.indexed_text`; `language` is the one given to the encoder
    (`Metadata.language`), because the mean that is taken off the vector depends on it.
    """
    return digest(language, indexed_text).hex()
