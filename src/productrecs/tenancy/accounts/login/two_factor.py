"""Second factor: a TOTP code, or a recovery code that works once, after the password."""

import base64
import hashlib
import hmac
import secrets
from typing import Final
from urllib.parse import quote, urlencode

from productrecs.core.clock import MINUTE_MS
from productrecs.core.errors import ProductRecsError
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.login.dashboard_user import DashboardUser
from productrecs.tenancy.accounts.login.passwords_and_tokens import (
    hash_token,
    new_token,
    store_of,
)
from productrecs.tenancy.accounts.login.repository import FactorRepository, SecondFactor

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


CHALLENGE_MS: Final = 5 * MINUTE_MS
RECOVERY_CODES: Final = 10
_ALPHABET: Final = "abcdefghjkmnpqrstuvwxyz23456789"  # without letters that look alike


class WrongCodeError(ProductRecsError):
    """The code is wrong, too old, or was used before."""


class FactorError(ProductRecsError):
    """The second factor cannot be changed like this."""


_WRONG: Final = "this code is wrong, too old, or was used before; wait for the next one"


def has_second_factor(database: Database, user: DashboardUser) -> bool:
    """Return whether a user logs in with a second factor."""
    with database.reading() as connection:
        factor = FactorRepository(connection, user.store_id).find(user.user_id)
    return factor is not None and factor.enabled_at is not None


def begin_factor(database: Database, user: DashboardUser) -> str:
    """Return a new secret; it counts once a code confirms it.

    Raises:
        FactorError: there is a second factor already.
    """
    secret = new_totp_secret()
    with database.transaction() as transaction:
        factors = FactorRepository(transaction, user.store_id)
        found = factors.hold(user.user_id)
        if found is not None and found.enabled_at is not None:
            message = "turn off the second factor that you have first"
            raise FactorError(message)
        factors.put(SecondFactor(user.user_id, secret, None, 0, ()))
    return secret


def pending_secret(database: Database, user: DashboardUser) -> str | None:
    """Return the secret that waits for its first code."""
    with database.reading() as connection:
        factor = FactorRepository(connection, user.store_id).find(user.user_id)
    return None if factor is None or factor.enabled_at is not None else factor.secret


def confirm_factor(
    database: Database, user: DashboardUser, code: str, now_ms: int
) -> list[str]:
    """Turn the second factor on; return its recovery codes, never shown again.

    Raises:
        WrongCodeError: the code is not of the secret that waits.
    """
    codes = [_recovery_code() for _ in range(RECOVERY_CODES)]
    with database.transaction() as transaction:
        factors = FactorRepository(transaction, user.store_id)
        factor = factors.hold(user.user_id)
        if factor is None or factor.enabled_at is not None:
            raise WrongCodeError(_WRONG)
        step = find_step(factor.secret, _plain(code), now_ms, factor.last_step)
        if step is None:
            raise WrongCodeError(_WRONG)
        hashes = tuple(hash_token(_plain(one)) for one in codes)
        factors.put(SecondFactor(user.user_id, factor.secret, now_ms, step, hashes))
    return codes


def use_code(database: Database, user: DashboardUser, code: str, now_ms: int) -> None:
    """Use up a code of the app, or a recovery code.

    Raises:
        WrongCodeError: it is wrong, or was used before.
    """
    with database.transaction() as transaction:
        factors = FactorRepository(transaction, user.store_id)
        factor = factors.hold(user.user_id)
        if factor is None or factor.enabled_at is None:
            raise WrongCodeError(_WRONG)
        step = find_step(factor.secret, _plain(code), now_ms, factor.last_step)
        hashed = hash_token(_plain(code))
        if step is not None:
            factors.put(factor.used_at(step))
        elif hashed in factor.recovery:
            factors.put(factor.without(hashed))
        else:
            raise WrongCodeError(_WRONG)


def remove_factor(database: Database, user: DashboardUser) -> None:
    """Turn the second factor off: the password alone is enough."""
    with database.transaction() as transaction:
        FactorRepository(transaction, user.store_id).remove(user.user_id)


def new_challenge(database: Database, user: DashboardUser, now_ms: int) -> str:
    """Return a token of a login whose password was right; a code completes it."""
    token = new_token(user.store_id)
    with database.transaction() as transaction:
        factors = FactorRepository(transaction, user.store_id)
        factors.add_challenge(hash_token(token), user.user_id, now_ms + CHALLENGE_MS)
        factors.purge_challenges(now_ms)
    return token


def challenged_user(database: Database, token: str, now_ms: int) -> DashboardUser | None:
    """Return whose login a token is; None when it is unknown, completed or expired."""
    store_id = store_of(token)
    if store_id is None:
        return None
    with database.reading() as connection:
        factors = FactorRepository(connection, store_id)
        return factors.find_challenge(hash_token(token), now_ms)


def complete_challenge(database: Database, user: DashboardUser, token: str) -> bool:
    """Use up a challenge; return whether it was there."""
    with database.transaction() as transaction:
        factors = FactorRepository(transaction, user.store_id)
        return factors.remove_challenge(hash_token(token))


def _recovery_code() -> str:
    letters = "".join(secrets.choice(_ALPHABET) for _ in range(10))
    return f"{letters[:5]}-{letters[5:]}"


def _plain(code: str) -> str:
    return "".join(letter for letter in code.lower() if letter.isalnum())
