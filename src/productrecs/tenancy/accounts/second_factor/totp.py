"""Time-based one-time passwords (TOTP): the codes of authenticator apps.

Source: RFC 6238 with HMAC-SHA-1, six digits and steps of 30 seconds, over RFC 4226.
"""

import base64
import hashlib
import hmac
import secrets
from typing import Final
from urllib.parse import quote, urlencode

STEP_MS: Final = 30_000
_DIGITS: Final = 6
_SECRET_BYTES: Final = 20
_DRIFT: Final = 1  # steps that a phone's clock may be off


def new_totp_secret() -> str:
    """Return a fresh secret (160 bits) in base32, as apps take it."""
    return base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def totp_code(secret: str, step: int, digits: int = _DIGITS) -> str:
    """Return the code of a step: the number of 30 seconds since 1970."""
    key = base64.b32decode(secret)
    digest = hmac.new(key, step.to_bytes(8, "big"), hashlib.sha1).digest()
    start = digest[-1] & 0x0F
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFF_FFFF
    return str(number % 10**digits).zfill(digits)


def find_step(secret: str, code: str, now_ms: int, after: int) -> int | None:
    """Return the step that a code is of: now or one beside it, and later than `after`.

    None for a wrong code, and for one of a step that was used before: a replay.
    """
    now = now_ms // STEP_MS
    found = None
    for step in range(now - _DRIFT, now + _DRIFT + 1):
        is_code = hmac.compare_digest(totp_code(secret, step).encode(), code.encode())
        if is_code and step > after:
            found = step
    return found


def provisioning_uri(secret: str, account: str, issuer: str) -> str:
    """Return the address that a QR code gives to an app."""
    label = quote(f"{issuer}:{account}")
    return f"otpauth://totp/{label}?{urlencode({'secret': secret, 'issuer': issuer})}"
