"""API keys: generates publishable and secret keys; stores secrets only as hashes."""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final, NewType

from productrecs.core.clock import MINUTE_MS
from productrecs.core.ids import StoreId, random_text

PublishableKey = NewType("PublishableKey", str)
SecretKey = NewType("SecretKey", str)

PUBLISHABLE_PREFIX: Final = "pk_"
SECRET_PREFIX: Final = "sk_"  # noqa: S105 - the prefix that all secrets share
TEST_KEY_PREFIX: Final = "test_"  # after the prefix of a test store's keys
_LENGTH: Final = 43  # 62 letters and digits: 256 bits
_END: Final = 4  # last letters that are stored, so that merchants can recognise a key
_KEY_ID: Final = 16
_USE_MS: Final = 10 * MINUTE_MS
PAGES_KEY_ID: Final = "pages"
"""In place of a secret key's id: the shop's pages, whose host is the address."""


@dataclass(frozen=True, slots=True)
class ActiveSecretKey:
    """An accepted secret key, as shown to users."""

    key_id: str
    end: str  # its last four letters; "" if unknown
    made_at: int | None
    expires_at: int | None  # set for the replaced key


@dataclass(frozen=True, slots=True)
class SecretKeyHashes:
    """The hashes of a store's secret key, and of the replaced one during overlap."""

    secret_hash: str | None = None
    end: str | None = None  # its last four letters; None: made before they were stored
    made_at: int | None = None
    old_hash: str | None = None
    old_end: str | None = None
    old_made_at: int | None = None
    old_expires_at: int | None = None

    def replaced_by(
        self, secret: SecretKey, now_ms: int, overlap_ms: int
    ) -> "SecretKeyHashes":
        """Return the keys with a new one; the current one works for `overlap_ms` more."""
        new = SecretKeyHashes(hash_secret(secret), secret[-_END:], now_ms)
        if overlap_ms <= 0 or self.secret_hash is None:
            return new
        return SecretKeyHashes(
            new.secret_hash,
            new.end,
            new.made_at,
            old_hash=self.secret_hash,
            old_end=self.end,
            old_made_at=self.made_at,
            old_expires_at=now_ms + overlap_ms,
        )

    def accepted_hashes(self, now_ms: int) -> list[str]:
        """Return the hashes of the keys that are accepted: the current one first."""
        old_hash = self.old_hash if self.is_old_active(now_ms) else None
        return [known for known in (self.secret_hash, old_hash) if known is not None]

    def accepts_signature(
        self, subject: str, signature: str, now_ms: int, digits: int = 64
    ) -> bool:
        """Return whether an accepted key makes this signature, cut at `digits`."""
        sent = signature.encode("utf-8", "surrogatepass")
        return any(
            hmac.compare_digest(sign_address(known, subject)[:digits].encode(), sent)
            for known in self.accepted_hashes(now_ms)
        )

    def is_old_active(self, now_ms: int) -> bool:
        """Return whether the replaced key is still accepted."""
        return self.old_expires_at is not None and now_ms < self.old_expires_at

    def active_keys(self, now_ms: int) -> "list[ActiveSecretKey]":
        """Return the currently accepted keys, newest first."""
        found = []
        if self.secret_hash is not None:
            key_id = key_id_of(self.secret_hash)
            found.append(ActiveSecretKey(key_id, self.end or "", self.made_at, None))
        if self.old_hash is not None and self.is_old_active(now_ms):
            key_id = key_id_of(self.old_hash)
            end = self.old_end or ""
            found.append(
                ActiveSecretKey(key_id, end, self.old_made_at, self.old_expires_at)
            )
        return found

    def accepts(self, secret_hash: str, now_ms: int) -> bool:
        """Return whether a key with this hash is accepted."""
        if secret_hash == self.secret_hash:
            return True
        return secret_hash == self.old_hash and self.is_old_active(now_ms)


def first_secret(secret: SecretKey, now_ms: int) -> SecretKeyHashes:
    """Return the stored form of a store's first secret key."""
    return SecretKeyHashes().replaced_by(secret, now_ms, 0)


@dataclass(frozen=True, slots=True)
class KeyUse:
    """A use of a secret key, once in ten minutes; or an event of a page, once a minute."""

    store_id: StoreId
    key_id: str
    used_at: int
    address: str = ""  # the client's, or the page's host

    @property
    def key(self) -> tuple[StoreId, str, int]:
        """The deduplication key."""
        period_ms = MINUTE_MS if self.key_id == PAGES_KEY_ID else _USE_MS
        return self.store_id, self.key_id, self.used_at // period_ms


def key_id_of(secret_hash: str) -> str:
    """Return the id for recording the uses of a secret key."""
    return secret_hash[:_KEY_ID]


def new_publishable_key(*, for_tests: bool = False) -> PublishableKey:
    """Return a fresh publishable key (256 bits); public by design."""
    kind = TEST_KEY_PREFIX if for_tests else ""
    return PublishableKey(PUBLISHABLE_PREFIX + kind + random_text(_LENGTH))


def new_secret_key(*, for_tests: bool = False) -> SecretKey:
    """Return a fresh secret key (256 bits); show it once, store only its hash."""
    kind = TEST_KEY_PREFIX if for_tests else ""
    return SecretKey(SECRET_PREFIX + kind + random_text(_LENGTH))


def sign_address(secret_hash: str, subject: str) -> str:
    """Return the signature of an address, which only the secret key makes: 64 digits."""
    message = subject.encode("utf-8", "surrogatepass")
    return hmac.digest(secret_hash.encode("ascii"), message, "sha256").hex()


def hash_secret(secret: str) -> str:
    """Return the stored digest of a secret: SHA-256 in hex.

    A random 256-bit key needs no slow hash, and a look-up by hash takes the same time for
    every guess.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
