"""Photo fairness: one store's photo searches do not delay another's.

Eighty clients of one store send photos without a pause. A shopper of another store sends
some, one after the other, and each must be answered. The control puts all photos into one
queue.
"""

import base64
import contextlib
import http.client
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.support.pictures import drawn, encoded, see
from tests.support.service import Merchant, Service, eventually
from tests.trust.load import at_once

BROKEN: Final = Path(__file__).parent / "broken" / "first_come"
CLIENTS: Final = 80
ASKED: Final = 11
PATIENCE: Final = 60.0
PHOTO: Final = b'{"image":"%b"}' % base64.b64encode(encoded(drawn("red", "ball", 3)))


def opened(service: Service) -> Merchant:
    """Return a store that knows a picture, so that photos are looked at to the end."""
    merchant = service.register()
    merchant.push({"id": "red-ball", "image_url": "https://i.example/1.jpg"})
    picture = {"red-ball": drawn("red", "ball")}
    with service.database() as database:
        see(database, service.folder / "pictures", merchant.account.store_id, picture)
    eventually(lambda: show(merchant, service) == 200 and _finds(merchant), PATIENCE)
    return merchant


def _finds(merchant: Merchant) -> bool:
    target, headers = merchant.target("/v1/search/image"), {"content-type": "text/plain"}
    return merchant.client.ask("POST", target, PHOTO, headers).ids == ["red-ball"]


def show(merchant: Merchant, service: Service) -> int:
    """Send a photo on a connection of its own; return the reply's status, 0 for none."""
    target, headers = merchant.target("/v1/search/image"), {"content-type": "text/plain"}
    client = service.client(PATIENCE)
    with contextlib.closing(client), contextlib.suppress(TimeoutError):
        return client.ask("POST", target, PHOTO, headers).status
    return 0


def check_photos(service: Service) -> None:
    """Every photo of a quiet store is answered beside a crowd of another store's."""
    loud, quiet = opened(service), opened(service)
    loud_statuses: Counter[int] = Counter()

    def crowd(until: threading.Event) -> None:
        while not until.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                loud_statuses[show(loud, service)] += 1

    with at_once(*[crowd] * CLIENTS):
        eventually(lambda: loud_statuses[503] > CLIENTS, PATIENCE)  # the queue is full
        statuses, taken = Counter[int](), []
        for _ in range(ASKED):
            began = time.monotonic()
            statuses[show(quiet, service)] += 1
            taken.append(time.monotonic() - began)
    print(  # noqa: T201 - the figures
        f"quiet: {dict(statuses)}, at most {max(taken):.1f} s; loud: {dict(loud_statuses)}"
    )
    assert statuses == {200: ASKED}


@pytest.mark.trust
def test_a_crowd_of_one_store_leaves_room_for_photos_of_another(data_folder: Path) -> None:
    with Service(data_folder, command="api").prepare() as service:
        check_photos(service)


@pytest.mark.trust
def test_control_one_queue_for_all_stores_is_seen(data_folder: Path) -> None:
    with (
        Service(data_folder, command="api", broken=BROKEN).prepare() as service,
        pytest.raises(AssertionError, match=r"\b(503|0): "),
    ):
        check_photos(service)
