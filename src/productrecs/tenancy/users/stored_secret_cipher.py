"""Encryption of stored secrets (TOTP, webhooks, feeds) with a key outside the database."""

import base64
import hmac
import os
import secrets
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from productrecs.core.errors import ProductRecsError
from productrecs.core.private_folders import sync_folder

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

KEY_FILE: Final = "dashboard.key"
"""The key's file in the data folder, where no setting gives the key."""

_ENCRYPTED: Final = "fernet:"
_PURPOSE: Final = b"productrecs: secrets of two-factor login"


class UnreadableSecretError(ProductRecsError):
    """The key that encrypted a secret is missing, or is another one."""


def is_encrypted(stored: str) -> bool:
    """Return whether a stored secret is encrypted; those of earlier releases are not."""
    return stored.startswith(_ENCRYPTED)


@dataclass(frozen=True, slots=True)
class StoredSecretCipher:
    """Encrypts secrets with the operator's key, else with the key of a file.

    Without either, as on replicas that share no key, secrets stay as they are: another
    machine could not decrypt them.
    """

    key: str | None = field(repr=False)
    key_file: Path | None  # created by the first secret

    @property
    def has_key(self) -> bool:
        """Whether new secrets are encrypted."""
        return self.key is not None or self.key_file is not None

    def encrypt_if_keyed(self, secret: str) -> str:
        """Return a secret as it is stored: encrypted, or in plain text without a key.

        Raises:
            OSError: when the key's file cannot be written or read.
        """
        if self.key is None and self.key_file is not None:
            _create_key_file_if_missing(self.key_file)
        key = self._read_key()
        if key is None:
            return secret
        return _ENCRYPTED + _fernet(key).encrypt(secret.encode()).decode()

    def decrypt(self, stored: str) -> str:
        """Return a stored secret as the app has it.

        Raises:
            UnreadableSecretError: when this process has not the key that encrypted it.
        """
        if not is_encrypted(stored):
            return stored
        from cryptography.fernet import InvalidToken  # noqa: PLC0415 - as in `_fernet`

        try:
            key = self._read_key()
            if key is None:
                message = "no key is set"
                raise UnreadableSecretError(message)
            return _fernet(key).decrypt(stored.removeprefix(_ENCRYPTED)).decode()
        except (OSError, UnicodeDecodeError) as error:
            message = f"{self.key_file} cannot be read: {error}"
            raise UnreadableSecretError(message) from error
        except InvalidToken as error:
            message = "another key encrypted it"
            raise UnreadableSecretError(message) from error

    def _read_key(self) -> str | None:
        if self.key is not None or self.key_file is None:
            return self.key
        return self.key_file.read_text("ascii")


def _fernet(key: str) -> "Fernet":
    """Return the cipher of a key, which may be any text that is hard to guess."""
    # Loaded by the first code of a login: it takes 9 MB.
    from cryptography.fernet import Fernet  # noqa: PLC0415

    derived = hmac.digest(key.strip().encode(), _PURPOSE, "sha256")
    return Fernet(base64.urlsafe_b64encode(derived))


def _create_key_file_if_missing(path: Path) -> None:
    """Store a new key, complete and on the disk, unless there is one."""
    if path.exists():
        return
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(f"{secrets.token_urlsafe(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)  # one of several processes wins
        sync_folder(path.parent)
    except FileExistsError:
        pass
    finally:
        Path(draft).unlink()
