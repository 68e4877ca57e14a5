"""Idempotency-Key: a repeated call is carried out once."""

import json
import threading

import pytest
import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.http.pipeline.idempotency import identify_call, run_once_or_replay
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.idempotency_keys import (
    IdempotencyConflictError,
    IdempotencyRepository,
)
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import named_calls
from tests.support.service import Merchant, Reply
from tests.support.stores import new_store


def push(merchant: Merchant, *ids: str, name: str | None = "push-1") -> Reply:
    body = json.dumps({"items": [{"id": one} for one in ids]}).encode()
    headers = merchant.server | ({"idempotency-key": name} if name is not None else {})
    return merchant.client.ask("POST", "/v1/items", body, headers)


def upload(merchant: Merchant, rows: str, name: str) -> Reply:
    head = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    body = f"{head}order_id,item_id\n{rows}\r\n--x--\r\n".encode()
    headers = merchant.server | {
        "idempotency-key": name,
        "content-type": "multipart/form-data; boundary=x",
    }
    return merchant.client.ask("POST", "/orders/upload", body, headers)


def test_a_push_that_comes_again_gets_its_first_reply(merchant: Merchant) -> None:
    first, again = push(merchant, "a", "b"), push(merchant, "a", "b")
    without = push(merchant, "a", "b", name=None)

    assert first.json == {"ok": True, "created": 2, "updated": 0, "total": 2}
    assert (again.json, again.header("idempotent-replayed")) == (first.json, "true")
    assert first.header("idempotent-replayed") is None
    assert without.json == {"ok": True, "created": 0, "updated": 2, "total": 2}


def test_a_name_with_another_body_is_refused_and_nothing_done(merchant: Merchant) -> None:
    push(merchant, "a")

    refused = push(merchant, "b")

    assert (refused.status, refused.json["code"]) == (409, "idempotency_key_reused")
    assert push(merchant, "c", name=None).json["total"] == 2  # a and c


def test_a_refused_push_may_be_mended_under_its_name(merchant: Merchant) -> None:
    assert push(merchant, "a" * 256).status == 422
    assert push(merchant, "a").status == 200


@pytest.mark.parametrize("name", ["", "n" * 256])
def test_a_name_has_its_length(merchant: Merchant, name: str) -> None:
    refused = push(merchant, "a", name=name)

    assert refused.status == 422
    assert refused.json["detail"][0]["loc"] == ["header", "Idempotency-Key"]


def test_an_upload_that_comes_again_is_the_same(merchant: Merchant) -> None:
    first, again = upload(merchant, "A,a\n", "u-1"), upload(merchant, "A,a\n", "u-1")
    other = upload(merchant, "B,b\n", "u-1")
    further = upload(merchant, "A,a\n", "u-2")

    assert (first.status, again.status, other.status) == (202, 202, 409)
    assert again.json["upload_id"] == first.json["upload_id"]
    assert again.header("idempotent-replayed") == "true"
    assert further.json["upload_id"] != first.json["upload_id"]


def test_of_retries_at_once_one_is_carried_out(database: Database) -> None:
    store = new_store(database)
    call = identify_call("items", "n", b"body")
    done = list[int]()
    results = list[tuple[int, bool]]()

    def carry_out() -> int:
        done.append(1)
        return len(done)

    def retry() -> None:
        with database.transaction() as transaction:
            log = StoreLogTransaction(database, transaction, store.store_id)
            results.append(run_once_or_replay(log, call, 5, carry_out, int))

    retries = [threading.Thread(target=retry) for _ in range(6)]
    for thread in retries:
        thread.start()
    for thread in retries:
        thread.join()

    assert done == [1]
    assert sorted(results) == [(1, False), *[(1, True)] * 5]


def test_a_name_is_good_for_a_day_and_one_store(database: Database) -> None:
    store = new_store(database)
    other = new_store(database, "other.example")
    call = identify_call("items", "n", b"body")
    changed = identify_call("items", "n", b"other")
    assert call is not None
    assert changed is not None

    def repository(transaction: sa.Connection, store_id: StoreId) -> IdempotencyRepository:
        return IdempotencyRepository(transaction, store_id)

    with database.transaction() as transaction:
        own = repository(transaction, store.store_id)
        own.store_reply(call, "1", 10)
        assert own.stored_reply(call, 9 + DAY_MS) == "1"
        assert own.stored_reply(call, 10 + DAY_MS) is None
        assert repository(transaction, other.store_id).stored_reply(changed, 11) is None
        with pytest.raises(IdempotencyConflictError):
            own.stored_reply(changed, 11)
        own.store_reply(changed, "2", 10 + DAY_MS)
        assert own.stored_reply(changed, 11 + DAY_MS) == "2"
        own.delete_expired(10 + 2 * DAY_MS)
        query = sa.select(sa.func.count()).select_from(named_calls)
        assert transaction.execute(query).scalar() == 0
