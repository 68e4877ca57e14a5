"""Idempotency: a call with an `Idempotency-Key` is carried out once."""

import hashlib
from collections.abc import Callable
from typing import Annotated, Final, TypeVar

import msgspec
from fastapi import Header

from productrecs.storage.sql.idempotency_keys import IdempotencyRepository, IdempotentCall
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction

MAX_KEY_LENGTH: Final = 255
REPLAYED_HEADERS: Final = {"idempotent-replayed": "true"}
"""The header of a replayed reply."""

IdempotencyKeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_KEY_LENGTH,
        description=(
            "A key that you choose for this call, valid for a day: a retry with "
            "the same key and body changes nothing and gets the first reply."
        ),
        examples=["push-2026-11-22-0001"],
    ),
]
_Result = TypeVar("_Result")


def identify_call(operation: str, key: str | None, body: bytes) -> IdempotentCall | None:
    """Return the identity of a call; None without an idempotency key."""
    if key is None:
        return None
    return IdempotentCall(operation, key, hashlib.sha256(body).hexdigest())


def run_once_or_replay(
    log: StoreLogTransaction,
    call: IdempotentCall | None,
    now_ms: int,
    action: Callable[[], _Result],
    result_type: type[_Result],
) -> tuple[_Result, bool]:
    """Return the result of a call, and whether it is a replay.

    Raises:
        IdempotencyConflictError: when the key was used with another body.
    """
    if call is None:
        return action(), False
    log.take_seqs(0)  # locks the store's row: concurrent retries wait for each other
    repository = IdempotencyRepository(log.transaction, log.store_id)
    reply = repository.stored_reply(call, now_ms)
    if reply is not None:
        return msgspec.json.decode(reply, type=result_type), True
    result = action()
    repository.store_reply(call, msgspec.json.encode(result).decode(), now_ms)
    return result, False
