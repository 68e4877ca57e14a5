"""Order uploads: stored durably before the 202, then imported."""

import socket
import time
from typing import Final

import pytest

from tests.support.service import HOST, Merchant, Service, eventually, raw_request
from tests.support.uploads import BOUNDARY, ended, files, form, headers, part, state, upload

HISTORY: Final = (
    "order_id,item_id,customer_id,timestamp,quantity,price\n"
    "A-1,tent,c-1,2026-01-05,2,99.50\n"
    "A-1,pegs,c-1,2026-01-05,1,4\n"
    "A-2,tent,,2026-01-06T10:00:00Z,-1,99.50\n"
    "A-3,,c-2,2026-01-07,1,5\n"
    "A-3,möbel,c-2,never,1,5\n"
)
TOLD: Final = {
    "status": "done",
    "rows": 5,
    "lines_imported": 4,
    "lines_updated": 0,
    "rows_skipped": 1,
    "errors": [{"row": 5, "message": "item_id is empty; every row needs one"}],
    "rows_undated": 1,
    "undated": [{"row": 6, "message": "'never' is not a readable date or time"}],
}


def head_of(merchant: Merchant, length: int) -> bytes:
    """Return the head of a request with a form of so many bytes."""
    named = headers(merchant) | {"host": "a", "content-length": str(length)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"POST /orders/upload HTTP/1.1\r\n{lines}\r\n".encode()


def test_a_history_is_accepted_imported_and_its_status_reported(merchant: Merchant) -> None:
    reply = upload(merchant, HISTORY)

    assert reply.status == 202
    assert set(reply.json) == {"upload_id", "status"}
    assert reply.json["status"] == "queued"
    upload_id = reply.json["upload_id"]
    assert ended(merchant, upload_id) == {"upload_id": upload_id, **TOLD}

    again = upload(merchant, HISTORY).json["upload_id"]
    updated = TOLD | {"lines_imported": 0, "lines_updated": 0}
    assert ended(merchant, again) == {"upload_id": again, **updated}


def test_what_was_bought_together_is_recommended_together(merchant: Merchant) -> None:
    rows = "".join(f"A-{n},tent\nA-{n},pegs\n" for n in range(5))
    assert merchant.push({"id": "tent"}, {"id": "pegs"}).status == 200

    upload(merchant, "order_id,item_id\n" + rows)

    eventually(lambda: merchant.recommend(source="buy", item_id="tent").ids == ["pegs"], 60)


@pytest.mark.parametrize(("encoding", "separator"), [("utf-16", ";"), ("cp1252", "\t")])
def test_a_file_is_read_however_it_is_written(
    merchant: Merchant, encoding: str, separator: str
) -> None:
    content = HISTORY.replace(",", separator).encode(encoding)

    upload_id = upload(merchant, content).json["upload_id"]

    assert ended(merchant, upload_id) == {"upload_id": upload_id, **TOLD}


@pytest.mark.parametrize("content", ["", "item_id;quantity\na;1\n", "x" * 100_000])
def test_a_header_that_lacks_a_column_is_refused_at_once(
    service: Service, merchant: Merchant, content: str
) -> None:
    reply = upload(merchant, content)

    assert (reply.status, reply.json["code"]) == (400, "missing_columns")
    assert "order_id" in reply.json["detail"]
    eventually(lambda: files(service) == [], 20)


def test_a_header_is_refused_before_the_rest_has_come(
    service: Service, merchant: Merchant
) -> None:
    head = head_of(merchant, 1000000000)
    sent = [head, part(b"sku,name\n" + b"a,b\n" * 500_000)]

    came = raw_request(service.port, sent, until=b"}")

    assert came.startswith(b"HTTP/1.1 400 "), came
    assert b'"missing_columns"' in came


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (form(HISTORY.encode(), "orders"), "too_many_files"),
        (part(HISTORY.encode()) + form(HISTORY.encode()), "too_many_files"),
        (part(b"1", "a", None) + f"--{BOUNDARY}--\r\n".encode(), "missing"),
        (form(HISTORY.encode())[:-8], "multipart_invalid"),
        (HISTORY.encode(), "multipart_invalid"),
        (b"", "multipart_invalid"),
    ],
)
def test_what_is_no_form_with_one_file_is_refused_in_place(
    service: Service, merchant: Merchant, body: bytes, kind: str
) -> None:
    reply = merchant.client.ask("POST", "/orders/upload", body, headers(merchant))

    assert reply.status == 422, reply
    (problem,) = reply.json["detail"]
    assert (problem["loc"][0], problem["type"]) == ("body", kind)
    eventually(lambda: files(service) == [], 20)


def test_another_content_type_or_encoding_is_refused(merchant: Merchant) -> None:
    body, sent = form(HISTORY.encode()), headers(merchant)

    for change, code in (
        ({"content-type": "text/csv"}, "not_a_form"),
        ({"content-type": "application/json"}, "not_a_form"),
        ({"content-encoding": "gzip"}, "body_encoded"),
    ):
        reply = merchant.client.ask("POST", "/orders/upload", body, sent | change)

        assert (reply.status, reply.json["code"]) == (415, code)


def test_more_than_two_gigabytes_are_refused_unread(
    service: Service, merchant: Merchant
) -> None:
    head = head_of(merchant, (2 << 30) + (1 << 20))

    came = raw_request(service.port, [head], until=b"}")

    assert came.startswith(b"HTTP/1.1 413 "), came
    assert b'"body_too_large"' in came


def test_a_client_that_closes_early_leaves_nothing_behind(
    service: Service, merchant: Merchant
) -> None:
    body = form(HISTORY.encode() + b"A-9,tent,,,1,1\n" * 400_000)
    head = head_of(merchant, len(body))
    for cut in (0, 50, 200, 70_000, len(body) // 2, len(body) - 1):
        with socket.create_connection((HOST, service.port), timeout=10) as connection:
            connection.sendall(head + body[:cut])

    eventually(lambda: files(service) == [], 10)
    upload_id = upload(merchant, HISTORY).json["upload_id"]  # its places are free again
    assert ended(merchant, upload_id)["lines_imported"] == TOLD["lines_imported"]


def test_a_third_file_at_a_time_must_wait(service: Service, merchant: Merchant) -> None:
    head = head_of(merchant, 1000000)
    held = [socket.create_connection((HOST, service.port), timeout=10) for _ in range(2)]
    for connection in held:
        connection.sendall(head + part(HISTORY.encode())[:-2])
    eventually(lambda: len(files(service)) == 2, 10)

    third = upload(merchant, HISTORY)

    assert (third.status, third.json["code"]) == (429, "too_many_uploads")
    assert int(third.header("retry-after") or 0) > 0
    for connection in held:
        connection.close()
    eventually(lambda: upload(merchant, HISTORY).status == 202, 10)


def test_only_its_own_store_sees_the_status_of_an_upload(
    merchant: Merchant, other: Merchant
) -> None:
    upload_id = upload(merchant, HISTORY).json["upload_id"]

    for store, asked_id in (
        (other, upload_id),
        (merchant, upload_id[:-1]),
        (merchant, "up_" + "a" * 24),
        (merchant, "%00"),
        (merchant, "..%5C..%5Cx"),
    ):
        reply = store.client.ask(
            "GET", f"/orders/upload/{asked_id}", None, {"x-api-key": store.account.secret}
        )
        assert (reply.status, reply.json["code"]) == (404, "upload_unknown"), asked_id
    assert state(merchant, upload_id)["upload_id"] == upload_id


def test_a_slow_client_that_goes_on_sending_is_not_cut_off(
    service: Service, merchant: Merchant
) -> None:
    body = form(HISTORY.encode())
    head = head_of(merchant, len(body))
    with socket.create_connection((HOST, service.port), timeout=30) as connection:
        connection.sendall(head)
        for start in range(0, len(body), 100):
            connection.sendall(body[start : start + 100])
            time.sleep(0.5)
        came = connection.recv(65_536)

    assert came.startswith(b"HTTP/1.1 202 "), came
