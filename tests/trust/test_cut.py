"""Cut connections: an order is stored whole or not at all."""

import json
import random
import socket
import struct
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.support.service import HOST, Merchant, Service
from tests.trust.load import receipts, stored

BROKEN: Final = Path(__file__).parent / "broken"
LINES: Final = 7
QUIET: Final = 2.0  # seconds after which nothing is under way any more
_RESET: Final = struct.pack("ii", 1, 0)  # closing sends RST instead of FIN


def order_bytes(merchant: Merchant, order_id: str) -> bytes:
    """Return a whole request for one order."""
    lines = [{"item_id": f"i{n}"} for n in range(LINES)]
    body = json.dumps({"order_id": order_id, "items": lines}).encode()
    head = (
        f"POST /v1/orders?key={merchant.account.publishable} HTTP/1.1\r\n"
        f"host: {HOST}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def send_and_leave(port: int, sent: Sequence[bytes], chance: random.Random) -> None:
    """Send parts with pauses, then close in one of three ways, without reading."""
    connection = socket.create_connection((HOST, port), timeout=5)
    for part in sent:
        connection.sendall(part)
        time.sleep(chance.choice([0, 0, 0.001, 0.004]))
    way = chance.randrange(3)
    if way == 0:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    elif way == 1:
        connection.shutdown(socket.SHUT_WR)
        time.sleep(chance.choice([0, 0.002]))
    connection.close()


def settled(service: Service, merchant: Merchant) -> Counter[str]:
    """Return what is stored once nothing more arrives."""
    kept, since = Counter[str](), time.monotonic()
    with service.database() as database:
        while time.monotonic() - since < QUIET:
            now = stored(database, merchant.account.store_id)
            if now != kept:
                kept, since = now, time.monotonic()
            time.sleep(0.05)
    return kept


def check_cuts(service: Service, merchant: Merchant, cuts: int, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - where to cut, not a key
    whole: set[str] = set()
    for number in range(cuts):
        order_id = f"o-{number}"
        request = order_bytes(merchant, order_id)
        end = chance.choice([len(request), chance.randrange(1, len(request))])
        middle = chance.randrange(end)
        send_and_leave(service.port, [request[:middle], request[middle:end]], chance)
        if end == len(request):
            whole.add(order_id)
    rows = settled(service, merchant)

    with service.database() as database:
        assert receipts(database, merchant.account.store_id) == set(rows)
    assert set(rows.values()) <= {LINES}
    assert set(rows) <= whole  # nothing that was not sent whole
    assert rows  # and something that was
    lines = [f"i{n}" for n in range(LINES)]
    for number in range(cuts):
        order_id = f"o-{number}"
        again = merchant.order(order_id, *lines)
        assert again.json["duplicate"] == (order_id in rows), order_id
    with service.database() as database:
        rows = stored(database, merchant.account.store_id)
    assert set(rows.values()) == {LINES}
    assert len(rows) == cuts


def test_orders_cut_off_anywhere_are_whole_or_absent_and_the_retry_reports_which(
    service: Service, merchant: Merchant
) -> None:
    check_cuts(service, merchant, cuts=250, seed=1)


@pytest.mark.trust
def test_five_thousand_orders_cut_off_are_whole_or_absent(
    service: Service, merchant: Merchant
) -> None:
    check_cuts(service, merchant, cuts=5_000, seed=2)


def test_control_a_service_that_keeps_half_an_order_is_seen(data_folder: Path) -> None:
    half = Service(data_folder, broken=BROKEN / "half_orders").prepare()

    with half as service, pytest.raises(AssertionError):
        check_cuts(service, service.register(), cuts=40, seed=1)
