"""Two-factor login: a TOTP code or a single-use recovery code, after the password."""

import base64
import hashlib
import hmac
import secrets
from dataclasses import replace
from typing import Final
from urllib.parse import quote, urlencode

from productrecs.core.clock import MINUTE_MS
from productrecs.core.errors import ProductRecsError
from productrecs.storage.sql.database import Database
from productrecs.tenancy.users.dashboard_user import DashboardUser
from productrecs.tenancy.users.logins.repository import CrossStoreLoginRepository
from productrecs.tenancy.users.random_tokens import hash_token, new_token, store_id_of_token
from productrecs.tenancy.users.second_factors.repository import (
    SecondFactor,
    SecondFactorRepository,
)
from productrecs.tenancy.users.stored_secret_cipher import (
    StoredSecretCipher,
    UnreadableSecretError,
    is_encrypted,
)

STEP_MS: Final = 30_000
_DIGITS: Final = 6
_SECRET_BYTES: Final = 20
_DRIFT: Final = 1  # time steps of clock drift that are accepted


def new_totp_secret() -> str:
    """Return a fresh secret (160 bits) in base32, the format of authenticator apps."""
    return base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def totp_code(secret: str, step: int, digits: int = _DIGITS) -> str:
    """Return the code of a time step: the count of 30-second periods since 1970."""
    key = base64.b32decode(secret)
    digest = hmac.new(key, step.to_bytes(8, "big"), hashlib.sha1).digest()
    start = digest[-1] & 0x0F
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFF_FFFF
    return str(number % 10**digits).zfill(digits)


def find_totp_step(secret: str, code: str, now_ms: int, after_step: int) -> int | None:
    """Return the time step of a code: the current or an adjacent one, after `after_step`.

    None for a wrong code, and for a replay: a step that was already used.
    """
    now = now_ms // STEP_MS
    found = None
    for step in range(now - _DRIFT, now + _DRIFT + 1):
        is_code = hmac.compare_digest(totp_code(secret, step).encode(), code.encode())
        if is_code and step > after_step:
            found = step
    return found


def provisioning_uri(secret: str, account: str, issuer: str) -> str:
    """Return the URI for an app's QR code."""
    label = quote(f"{issuer}:{account}")
    return f"otpauth://totp/{label}?{urlencode({'secret': secret, 'issuer': issuer})}"


CHALLENGE_MS: Final = 5 * MINUTE_MS
RECOVERY_CODES: Final = 10
_ALPHABET: Final = "abcdefghjkmnpqrstuvwxyz23456789"  # without similar-looking letters


class WrongCodeError(ProductRecsError):
    """The code is wrong, too old, or was used before."""


class UncheckableCodeError(ProductRecsError):
    """The key that encrypts the secret of the code is missing, or is another one."""


class SecondFactorEnabledError(ProductRecsError):
    """The user has an enabled second factor already."""


_WRONG: Final = "this code is wrong, too old, or was used before; wait for the next one"
_UNREADABLE: Final = (
    "codes of authenticator apps cannot be checked, because the key that encrypts their "
    "secrets is missing or is another one. Use a recovery code, or ask the operator of "
    "this service to restore the key or to turn two-factor login off"
)


def has_second_factor(database: Database, user: DashboardUser) -> bool:
    """Return whether a user has an enabled second factor."""
    with database.reading() as connection:
        return CrossStoreLoginRepository(connection).has_factor(user)


def begin_second_factor(
    database: Database, cipher: StoredSecretCipher, user: DashboardUser
) -> str:
    """Return a new secret, which a code must confirm.

    Raises:
        SecondFactorEnabledError: there is a second factor already.
    """
    secret = new_totp_secret()
    with database.transaction() as transaction:
        logins = CrossStoreLoginRepository(transaction)
        found = logins.lock_and_find_factor(user)
        if found is not None and found.enabled_at is not None:
            message = "turn off the second factor that you have first"
            raise SecondFactorEnabledError(message)
        stored = cipher.encrypt_if_keyed(secret)
        logins.put_factor(user, SecondFactor(user.user_id, stored, None, 0, ()))
    return secret


def pending_secret(
    database: Database, cipher: StoredSecretCipher, user: DashboardUser
) -> str | None:
    """Return the secret that waits for its first code; None if it cannot be decrypted."""
    with database.reading() as connection:
        factor = SecondFactorRepository(connection, user.store_id).find(user.user_id)
    if factor is None or factor.enabled_at is not None:
        return None
    try:
        return cipher.decrypt(factor.secret)
    except UnreadableSecretError:
        return None  # a new one is made


def confirm_second_factor(
    database: Database,
    cipher: StoredSecretCipher,
    user: DashboardUser,
    code: str,
    now_ms: int,
) -> list[str]:
    """Enable the second factor; return its recovery codes, which are shown only once.

    Raises:
        WrongCodeError: the code does not match the pending secret.
        UncheckableCodeError: the secret cannot be decrypted.
    """
    codes = [_new_recovery_code() for _ in range(RECOVERY_CODES)]
    with database.transaction() as transaction:
        logins = CrossStoreLoginRepository(transaction)
        factor = logins.lock_and_find_factor(user)
        if factor is None or factor.enabled_at is not None:
            raise WrongCodeError(_WRONG)
        secret = _decrypt_secret(cipher, factor)
        step = find_totp_step(secret, _normalise_code(code), now_ms, factor.last_step)
        if step is None:
            raise WrongCodeError(_WRONG)
        hashes = tuple(
            hash_token(_normalise_code(recovery_code)) for recovery_code in codes
        )
        enabled = SecondFactor(user.user_id, factor.secret, now_ms, step, hashes)
        logins.put_factor(user, enabled)
    return codes


def use_second_factor_code(
    database: Database,
    cipher: StoredSecretCipher,
    user: DashboardUser,
    code: str,
    now_ms: int,
) -> None:
    """Use up a TOTP or recovery code.

    Raises:
        WrongCodeError: it is wrong or already used.
        UncheckableCodeError: the secret cannot be decrypted.
    """
    with database.transaction() as transaction:
        logins = CrossStoreLoginRepository(transaction)
        factor = logins.lock_and_find_factor(user)
        if factor is None or factor.enabled_at is None:
            raise WrongCodeError(_WRONG)
        hashed = hash_token(_normalise_code(code))
        if hashed in factor.recovery:
            logins.put_factor(user, factor.without_recovery_code(hashed))
            return
        secret = _decrypt_secret(cipher, factor)
        step = find_totp_step(secret, _normalise_code(code), now_ms, factor.last_step)
        if step is None:
            raise WrongCodeError(_WRONG)
        if not is_encrypted(factor.secret):  # an earlier release stored it
            factor = replace(factor, secret=cipher.encrypt_if_keyed(secret))
        logins.put_factor(user, factor.used_at(step))


def disable_second_factor(database: Database, user: DashboardUser) -> None:
    """Disable the second factor: the password is sufficient."""
    with database.transaction() as transaction:
        CrossStoreLoginRepository(transaction).remove_factor_and_challenges(user)


def create_challenge(database: Database, user: DashboardUser, now_ms: int) -> str:
    """Return a token for a login with a correct password; a code completes it."""
    token = new_token(user.store_id)
    with database.transaction() as transaction:
        factors = SecondFactorRepository(transaction, user.store_id)
        factors.add_challenge(hash_token(token), user, now_ms + CHALLENGE_MS)
        factors.purge_challenges(now_ms)
    return token


def challenged_user(database: Database, token: str, now_ms: int) -> DashboardUser | None:
    """Return the user of a challenge token; None if unknown, completed or expired."""
    store_id = store_id_of_token(token)
    if store_id is None:
        return None
    with database.reading() as connection:
        factors = SecondFactorRepository(connection, store_id)
        return factors.find_challenge(hash_token(token), now_ms)


def complete_challenge(database: Database, user: DashboardUser, token: str) -> bool:
    """Use up a challenge; return whether it existed."""
    with database.transaction() as transaction:
        factors = SecondFactorRepository(transaction, user.store_id)
        return factors.remove_challenge(hash_token(token))


def _decrypt_secret(cipher: StoredSecretCipher, factor: SecondFactor) -> str:
    try:
        return cipher.decrypt(factor.secret)
    except UnreadableSecretError as error:
        raise UncheckableCodeError(_UNREADABLE) from error


def _new_recovery_code() -> str:
    letters = "".join(secrets.choice(_ALPHABET) for _ in range(10))
    return f"{letters[:5]}-{letters[5:]}"


def _normalise_code(code: str) -> str:
    return "".join(letter for letter in code.lower() if letter.isalnum())
