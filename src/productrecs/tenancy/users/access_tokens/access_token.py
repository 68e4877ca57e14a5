"""Access tokens: create one, and find the one that a client sent.

A token is shown once. Only its hash is stored, which takes the same time for every guess.
"""

import hmac
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId, random_text
from productrecs.storage.sql.database import Database
from productrecs.tenancy.users.access_tokens.repository import (
    AccessToken,
    AccessTokenRepository,
)
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.tenancy.users.random_tokens import hash_token, new_token, store_id_of_token

TOKEN_PREFIX: Final = "at_"  # noqa: S105 - the prefix that all tokens share
MAX_TOKENS: Final = 20
MAX_NAME_LENGTH: Final = 60
_TOKEN_ID: Final = 16
_KEY_LENGTH: Final = 43  # 256 bits


class AccessTokenCreationError(ProductRecsError):
    """No token was made: its name is invalid or taken, or there are too many tokens."""


def create_access_token(
    database: Database, store_id: StoreId, name: str, role: Role, creator: str, now_ms: int
) -> tuple[AccessToken, str]:
    """Store a new token; return it, and the text to send.

    Raises:
        AccessTokenCreationError: for a name that is empty, too long or taken, or too
            many tokens.
    """
    clean = " ".join(name.split())
    if not clean or len(clean) > MAX_NAME_LENGTH or not clean.isprintable():
        message = f"give it a name of 1 to {MAX_NAME_LENGTH} characters"
        raise AccessTokenCreationError(message)
    text = TOKEN_PREFIX + new_token(store_id)
    token = AccessToken(
        token_id=random_text(_TOKEN_ID),
        name=clean,
        role=role,
        token_hash=hash_token(text),
        confirmation_key=random_text(_KEY_LENGTH),
        creator=creator,
        created_at=now_ms,
    )
    with database.transaction() as transaction:
        repository = AccessTokenRepository(transaction, store_id)
        stored = repository.all()
        if len(stored) >= MAX_TOKENS:
            message = f"a store has at most {MAX_TOKENS} tokens; revoke one first"
            raise AccessTokenCreationError(message)
        if clean.casefold() in {other.name.casefold() for other in stored}:
            message = "another token has this name; the audit log names changes by it"
            raise AccessTokenCreationError(message)
        repository.add(token)
    return token, text


def authenticate_access_token(
    database: Database, sent_token: str, now_ms: int
) -> tuple[StoreId, AccessToken] | None:
    """Return a sent token with its store, and record its use; None if it is unknown."""
    store_id = store_id_of_token(sent_token.removeprefix(TOKEN_PREFIX))
    if store_id is None or not sent_token.startswith(TOKEN_PREFIX):
        return None
    sent_hash = hash_token(sent_token)
    with database.reading() as connection:
        stored = AccessTokenRepository(connection, store_id).all()
    for token in stored:
        if hmac.compare_digest(token.token_hash, sent_hash):
            with database.transaction(synced=False) as transaction:
                repository = AccessTokenRepository(transaction, store_id)
                repository.record_use(token.token_id, now_ms)
            return store_id, token
    return None
