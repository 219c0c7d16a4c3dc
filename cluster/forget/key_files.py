"""The two keys of forgetting: files of this user alone, made once."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from cluster.errors import InvalidSettings
from cluster.settings import Settings

KEY_BYTES = 32


class KeyFile:
    """Thirty-two random bytes as hex digits. Read when first needed, made when first used."""

    def __init__(self, path: Path, *, setting: str) -> None:
        self.path = path
        self._setting = setting
        self._held: bytes | None = None

    def read(self) -> bytes | None:
        """`None` when there is no file. `InvalidSettings` when others may read it, or it holds
        something else."""
        if self._held is None:
            try:
                mode = stat.S_IMODE(self.path.stat().st_mode)
                text = self.path.read_text(encoding="ascii").strip()
            except FileNotFoundError:
                return None
            except (OSError, UnicodeDecodeError) as error:
                raise InvalidSettings(f"{self.path} cannot be read: {error}") from error
            if mode & 0o077:
                raise InvalidSettings(f"{self.path} is open to others; run chmod 600 {self.path}")
            self._held = self._parsed(text)
        return self._held

    def make(self) -> bytes:
        """What is there, else a new one. Two processes at once get the same."""
        held = self.read()
        if held is not None:
            return held
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        trial = self.path.with_suffix(f".{os.getpid()}-{secrets.token_hex(4)}")
        descriptor = os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(trial, self.path)  # fails, other than a rename, when somebody was faster
        except FileExistsError:
            pass
        finally:
            trial.unlink()
        return self.make()

    def _parsed(self, text: str) -> bytes:
        try:
            key = bytes.fromhex(text)
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            raise InvalidSettings(
                f"{self.path} holds no key of {KEY_BYTES * 2} hex digits; put the right file "
                f"there, or name it with {self._setting}"
            )
        return key


def tombstone_key_file(settings: Settings) -> KeyFile:
    """The key of the keyed hashes. Whoever writes to one ledger needs the same."""
    named = settings.forget.tombstone_key_file
    path = named.expanduser() if named else settings.data_dir / "keys" / "tombstone.key"
    return KeyFile(path, setting="forget.tombstone_key_file")


def receipt_key_file(settings: Settings) -> KeyFile:
    """The key that signs receipts."""
    named = settings.forget.receipt_key_file
    path = named.expanduser() if named else settings.data_dir / "keys" / "receipt.key"
    return KeyFile(path, setting="forget.receipt_key_file")
