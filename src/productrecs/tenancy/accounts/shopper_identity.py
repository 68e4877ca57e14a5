"""Shopper identity: a customer's id, signed by the shop, so that nobody else can claim it.

A signed identity is `<expires>.<signature>`: Unix seconds, and the hexadecimal HMAC-SHA-256
of `identity:<expires>:<id>`. Its key is the hash of the store's secret key, so a shop can
sign without asking the service, and the service can check without knowing the secret key.
"""

import hmac
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from productrecs.core.clock import DAY_MS
from productrecs.tenancy.accounts.api_keys import SecretKeyHashes

MAX_DAYS_AHEAD: Final = 400
"""An identity may not be valid for longer."""

_FORM: Final = re.compile(r"([0-9]{1,12})\.([0-9a-f]{64})", re.ASCII)
_SECOND_MS: Final = 1_000


class IdentityVerdict(StrEnum):
    """What a signed identity proves; the value of a refused one says why."""

    @property
    def is_refused(self) -> bool:
        """Whether an identity was sent, and proves nothing."""
        return self not in _FINE

    ABSENT = "no identity was sent"
    VALID = "the identity is valid"
    MALFORMED = "it is not of the form <expires>.<signature>"
    WRONG = "its signature is not that of this id and this store's secret key"
    EXPIRED = "it has expired"
    TOO_LONG = f"it expires more than {MAX_DAYS_AHEAD} days from now"
    WITHOUT_ID = "there is no user_id beside it"


_FINE: Final = frozenset({IdentityVerdict.ABSENT, IdentityVerdict.VALID})


def sign_identity(secret_hash: str, customer_id: str, expires: int) -> str:
    """Return the signed identity of a customer until `expires`, in Unix seconds."""
    message = f"identity:{expires}:{customer_id}".encode("utf-8", "surrogatepass")
    signature = hmac.digest(secret_hash.encode("ascii"), message, "sha256")
    return f"{expires}.{signature.hex()}"


def check_identity(
    secrets: SecretKeyHashes, identity: str | None, customer_id: str | None, now_ms: int
) -> IdentityVerdict:
    """Return what an identity proves about an id; a replaced key counts while accepted."""
    if not identity:
        return IdentityVerdict.ABSENT
    if not customer_id:
        return IdentityVerdict.WITHOUT_ID
    found = _FORM.fullmatch(identity)
    if found is None:
        return IdentityVerdict.MALFORMED
    expires = int(found[1])
    if not any(
        hmac.compare_digest(sign_identity(secret_hash, customer_id, expires), identity)
        for secret_hash in secrets.accepted_hashes(now_ms)
    ):
        return IdentityVerdict.WRONG
    return _check_expiry(expires * _SECOND_MS, now_ms)


def _check_expiry(expires_ms: int, now_ms: int) -> IdentityVerdict:
    if expires_ms <= now_ms:
        return IdentityVerdict.EXPIRED
    is_too_long = expires_ms > now_ms + MAX_DAYS_AHEAD * DAY_MS
    return IdentityVerdict.TOO_LONG if is_too_long else IdentityVerdict.VALID


def identity_warnings(checks: Iterable[tuple[str | None, IdentityVerdict]]) -> list[str]:
    """Return what is wrong with the identities of some ids."""
    return [
        f"the identity of customer {customer_id!r} counts as none: {check}"
        for customer_id, check in checks
        if check.is_refused
    ]
