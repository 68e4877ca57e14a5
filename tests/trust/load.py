"""Load generator: keeps a service busy and records what was acknowledged.

A `Crowd` is some shoppers, each a thread with a connection of its own that sends events,
arrays of events and orders one after the other, and notes what became of each. Every event
and order has a key that nothing else has: an event's session, an order's id.
"""

import contextlib
import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa

from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import (
    event_session,
    events,
    order_receipts,
    purchase_lines,
)
from tests.support.service import Merchant, Service
from tests.trust.history import History, Operation, Outcome

ITEMS: Final = 40
LINES: Final = 3  # of each order: two of the same item, and one of everybody's
REFUSED: Final = 503
UNSURE: Final = b"it may be stored"  # who writes died a moment before who answers
_PATIENCE: Final = 10  # times that what was cut off is sent again
Body = dict[str, object]


@dataclass(frozen=True)
class Sending:
    """One request: its body, and the keys of what it tells."""

    path: str
    body: Body | list[Body]
    keys: tuple[str, ...]
    rows: int = 1

    @property
    def may_be_sent_again(self) -> bool:
        """Whether a repeat is harmless: it carries an id of its own."""
        return isinstance(self.body, dict) and bool(
            {"order_id", "event_id"} & set(self.body)
        )


@dataclass
class Shopper:
    """One thread's doings, by chance of its own."""

    merchant: Merchant
    name: str
    chance: random.Random
    history: History = field(default_factory=History)
    unanswered: list[Sending] = field(default_factory=list)
    duplicates: dict[str, bool] = field(default_factory=dict)
    count: int = 0
    last_trouble: str = ""
    refused: list[str] = field(default_factory=list)  # of what was sent again

    def go_on(self, until: threading.Event) -> None:
        """Send until told to stop, or nobody answers."""
        while not until.is_set():
            sending = self._think()
            outcome = self.send(sending)
            if outcome is Outcome.INFO:
                self.unanswered.append(sending)
                return

    def send(self, sending: Sending) -> Outcome:
        """Send one request; note and return what became of it."""
        outcome = self._outcome(sending)
        self.history.note(Operation(key, outcome, sending.rows) for key in sending.keys)
        return outcome

    def insist(self, sending: Sending) -> None:
        """Send one request until it is acknowledged, as often as honest refusals allow.

        One that breaks off is sent once more, too: a shop cannot tell why it did, and what
        carries an id of its own counts once.
        """
        for _ in range(_PATIENCE):
            outcome = self.send(sending)
            if outcome is Outcome.OK:
                break
            self.refused.append(self.last_trouble)
            time.sleep(1)
        assert outcome is Outcome.OK, self.last_trouble

    def _outcome(self, sending: Sending) -> Outcome:
        target = f"{sending.path}?key={self.merchant.account.publishable}"
        try:
            reply = self.merchant.client.ask(
                "POST",
                target,
                json.dumps(sending.body).encode(),
                {"content-type": "text/plain"},
            )
        except ConnectionRefusedError:  # nobody listened: it was never sent
            time.sleep(0.01)
            return Outcome.FAILED
        except (OSError, http.client.HTTPException) as error:
            self.last_trouble = repr(error)
            return Outcome.INFO
        if reply.status == REFUSED:
            self.last_trouble = repr(reply.body)
            assert reply.header("retry-after"), reply.headers
            return Outcome.INFO if UNSURE in reply.body else Outcome.FAILED
        assert reply.status == http.HTTPStatus.OK, (reply.status, reply.body)
        if sending.rows == LINES:
            self.duplicates[sending.keys[0]] = reply.json["duplicate"]
        return Outcome.OK

    def _think(self) -> Sending:
        choice = self.chance.random()
        if choice < 0.3:
            return self._order()
        many = [self._event() for _ in range(3 if choice < 0.5 else 1)]
        keys = tuple(str(event["session_id"]) for event in many)
        return Sending("/v1/events", many if len(many) > 1 else many[0], keys)

    def _event(self) -> Body:
        key = self._key("e")
        event: Body = {
            "event": self.chance.choice(["detail-page-view", "add-to-cart"]),
            "item_id": self._item(),
            "session_id": key,
        }
        return event | ({"event_id": key} if self.chance.random() < 0.5 else {})

    def _order(self) -> Sending:
        key, item = self._key("o"), self._item()
        lines = [{"item_id": item}, {"item_id": item}, {"item_id": "wrapping"}]
        body: Body = {"order_id": key, "session_id": self.name, "items": lines}
        return Sending("/v1/orders", body, (key,), LINES)

    def _item(self) -> str:
        return f"item-{self.chance.randrange(ITEMS)}"

    def _key(self, kind: str) -> str:
        self.count += 1
        return f"{kind}-{self.name}-{self.count}"


@contextlib.contextmanager
def at_once(*works: Callable[[threading.Event], object]) -> Iterator[None]:
    """Let all work, each in a thread, until the event that they are given is set.

    It is at the end of the block, which waits for them.
    """
    until = threading.Event()
    threads = [threading.Thread(target=work, args=(until,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        until.set()
        for thread in threads:
            thread.join()


class Crowd:
    """Some shoppers of one store, through as many connections."""

    def __init__(self, service: Service, merchant: Merchant, size: int, seed: int) -> None:
        """Prepare `size` shoppers; the same seed does the same things."""
        self.shoppers = [
            Shopper(merchant.through(service.client()), f"s{n}", random.Random(seed + n))  # noqa: S311 - the load, not a key
            for n in range(size)
        ]

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Send from all at once while the block runs; then wait until each has stopped."""
        with at_once(*(shopper.go_on for shopper in self.shoppers)):
            yield

    def send_again(self) -> dict[str, bool]:
        """Repeat what was cut off and may be repeated; return each order's `duplicate`.

        Who is refused honestly waits and asks once more, as a shop does: on a busy machine
        those that were killed may hold the database's lock for seconds after a start.
        """
        duplicates: dict[str, bool] = {}
        for shopper in self.shoppers:
            for sending in shopper.unanswered:
                if sending.may_be_sent_again:
                    shopper.insist(sending)
            duplicates |= {
                key: shopper.duplicates[key]
                for sending in shopper.unanswered
                for key in sending.keys
                if sending.rows == LINES
            }
            shopper.unanswered = []
        return duplicates

    @property
    def count(self) -> int:
        """How many events and orders were thought of so far."""
        return sum(shopper.count for shopper in self.shoppers)

    @property
    def history(self) -> History:
        """What all of them sent."""
        combined = History()
        for shopper in self.shoppers:
            combined.note(list(shopper.history.operations.values()))  # it may be busy
        return combined


def stored(database: Database, store_id: str) -> Counter[str]:
    """Return how many rows each key has: events by session, standing lines by order."""
    lines = purchase_lines.c
    session = sa.literal_column(event_session(), sa.Text)
    queries = (
        sa.select(session, sa.func.count())
        .where(events.c.store_id == store_id)
        .group_by(session),
        sa.select(lines.order_id, sa.func.count())
        .where(lines.store_id == store_id, lines.void.is_(False))
        .group_by(lines.order_id),
    )
    with database.reading() as connection:
        return Counter(
            {row[0]: row[1] for query in queries for row in connection.execute(query)}
        )


def receipts(database: Database, store_id: str) -> set[str]:
    """Return the orders that have a receipt."""
    query = sa.select(order_receipts.c.order_id).where(
        order_receipts.c.store_id == store_id
    )
    with database.reading() as connection:
        return set(connection.execute(query).scalars())
