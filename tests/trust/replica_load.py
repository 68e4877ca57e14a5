"""Load on replicas: shoppers, readers and a merchant, and which replies they got when.

A shopper sends an order or event through HAProxy again and again until it is acknowledged,
as a shop's queue does. A merchant raises a price about twice a second. Readers ask for
lists with that price through HAProxy, and watchers ask each API machine itself.
"""

import http.client
import json
import random
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

from productrecs.core.clock import system_ms
from productrecs.tenancy.accounts.store_management import Registration, register_store
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS
from tests.support.service import Account
from tests.trust.history import History, Operation, Outcome, Verdict
from tests.trust.load import LINES, UNSURE, at_once, stored
from tests.trust.replicas import APIS, NetworkClient, ReplicaCluster, Response

_Work = Callable[[threading.Event], None]

BOUND_SECONDS: Final = 5.0
"""How old the state that a list shows may be."""

PROBE: Final = "probe"
_SHOPPERS, _READERS = 4, 2
_REST_SECONDS: Final = 0.04
_AGAIN_SECONDS: Final = 0.3
_FAULT: Final = 500
_Body = dict[str, object]


@dataclass(frozen=True, slots=True)
class TimedReply:
    """One request: when it was sent and answered (monotonic), and with which status."""

    sent: float
    replied_at: float
    status: int  # 0: nobody answered
    price: float = 0.0  # of the probe, in a list

    @property
    def is_failure(self) -> bool:
        """Whether nobody answered, or with an error of the service."""
        return not self.status or self.status >= _FAULT


@dataclass
class Load:
    """The traffic of one store."""

    cluster: ReplicaCluster
    account: Account
    history: History = field(default_factory=History)
    writes: list[TimedReply] = field(default_factory=list)
    lists: list[TimedReply] = field(default_factory=list)  # through HAProxy
    watched: dict[str, list[TimedReply]] = field(
        default_factory=dict
    )  # of each API machine
    raised: list[tuple[float, float]] = field(default_factory=list)  # acknowledged, price
    _price: float = 1.0

    @classmethod
    def begin(cls, cluster: ReplicaCluster, domain: str) -> "Load":
        """Register a store with one product."""
        wanted = Registration(domain=domain, plan=DEFAULT_PLANS["unlimited"])
        with cluster.database() as database:
            store, secret = register_store(database, wanted, system_ms)
        keys = (store.publishable_key, secret)
        load = cls(cluster, Account(store.store_id, store.domain, *keys))
        until = time.monotonic() + 10
        while not load.raised and time.monotonic() < until:
            load._raise_price(load._proxy(), 0)
        assert load.raised
        time.sleep(1)  # every machine knows the store's keys
        return load

    def busy(self) -> AbstractContextManager[None]:
        """Send from all while the block runs; then wait until each has stopped."""
        self.watched = {name: [] for name in self.cluster.machines if name in APIS}
        shoppers = [self._shop(number) for number in range(_SHOPPERS)]
        watchers = [self._watch(name) for name in self.watched]
        readers = [self._read] * _READERS
        return at_once(*shoppers, *readers, *watchers, self._manage)

    def sell(self, order_id: str, *items: str) -> None:
        """Push items and send an order of them, through HAProxy."""
        client = self._proxy()
        pushed = [{"id": item, "title": item, "price": self._price} for item in items]
        assert self._push(client, pushed) == http.HTTPStatus.OK
        lines = [{"item_id": item} for item in items]
        order: _Body = {"order_id": order_id, "session_id": order_id, "items": lines}
        assert self._send(client, "/v1/orders", order) is Outcome.OK

    def judge(self) -> Verdict:
        """Compare what was acknowledged with what is stored."""
        with self.cluster.database() as database:
            return self.history.judge(stored(database, self.account.store_id))

    def stale(
        self, answers: list[TimedReply], seconds: float = BOUND_SECONDS
    ) -> list[tuple[TimedReply, float]]:
        """Return the lists that showed less than was acknowledged `seconds` before."""
        found, raised, known = [], sorted(self.raised), 0.0
        place = 0
        for answer in sorted(answers, key=lambda one: one.sent):
            while place < len(raised) and raised[place][0] <= answer.sent - seconds:
                known = max(known, raised[place][1])
                place += 1
            if answer.status == http.HTTPStatus.OK and answer.price < known:
                found.append((answer, known))
        return found

    def oldest(self, answers: list[TimedReply]) -> float:
        """Return by how many seconds the stalest list was behind an acknowledgement."""
        worst = 0.0
        for answer in answers:
            if answer.status != http.HTTPStatus.OK:
                continue
            later = [at for at, price in self.raised if price > answer.price]
            worst = max(worst, answer.sent - min(later, default=answer.sent))
        return worst

    def _proxy(self) -> NetworkClient:
        return NetworkClient(self.cluster.hosts["proxy"].address)

    def _shop(self, number: int) -> _Work:
        def work(until: threading.Event) -> None:
            client = self._proxy()
            chance = random.Random(number)  # noqa: S311 - the load, not a key
            count = 0
            while not until.is_set():
                count += 1
                key = f"{number}-{count}"
                if chance.random() < 0.4:
                    self._insist(client, f"o-{key}", _order(f"o-{key}"), until)
                elif chance.random() < 0.7:
                    self._insist(client, f"e-{key}", _event(f"e-{key}"), until)
                else:  # without an id: sent once
                    event = _event(f"x-{key}")
                    del event["event_id"]
                    operation = self._send(client, "/v1/events", event)
                    self.history.note([Operation(f"x-{key}", operation)])
                until.wait(_REST_SECONDS)

        return work

    def _insist(
        self, client: NetworkClient, key: str, body: _Body, until: threading.Event
    ) -> None:
        is_order = "order_id" in body
        path, rows = ("/v1/orders", LINES) if is_order else ("/v1/events", 1)
        is_unsure = False
        while True:
            outcome = self._send(client, path, body)
            is_unsure |= outcome is Outcome.INFO
            if outcome is Outcome.FAILED and is_unsure:
                outcome = Outcome.INFO  # an earlier attempt may be stored
            self.history.note([Operation(key, outcome, rows)])
            if outcome is Outcome.OK or until.wait(_AGAIN_SECONDS):
                return

    def _send(self, client: NetworkClient, path: str, body: _Body) -> Outcome:
        target = f"{path}?key={self.account.publishable}"
        began = time.monotonic()
        try:
            reply = client.ask("POST", target, body, {"content-type": "text/plain"})
        except (OSError, http.client.HTTPException):
            self.writes.append(TimedReply(began, time.monotonic(), 0))
            return Outcome.INFO
        self.writes.append(TimedReply(began, time.monotonic(), reply.status))
        if reply.status == http.HTTPStatus.OK:
            return Outcome.OK
        # What HAProxy says itself has no Retry-After, and leaves open what was stored.
        is_unsure = UNSURE in reply.body or not reply.has_retry_after
        return Outcome.INFO if is_unsure else Outcome.FAILED

    def _read(self, until: threading.Event) -> None:
        client, count = self._proxy(), 0
        while not until.wait(_REST_SECONDS):
            count += 1
            self.lists.append(self._list(client, f"&user_id=s_{count % 50}"))

    def _watch(self, name: str) -> _Work:
        def work(until: threading.Event) -> None:
            client = self.cluster.machines[name].client
            while not until.wait(0.15):
                self.watched[name].append(self._list(client, ""))

        return work

    def _list(self, client: NetworkClient, more: str) -> TimedReply:
        target = f"/v1/trending?key={self.account.publishable}{more}"
        began = time.monotonic()
        try:
            reply = client.ask("GET", target)
        except (OSError, http.client.HTTPException):
            return TimedReply(began, time.monotonic(), 0)
        return TimedReply(began, time.monotonic(), reply.status, _price_in(reply))

    def _manage(self, until: threading.Event) -> None:
        client = self._proxy()
        while not until.wait(0.4):
            self._raise_price(client, 0.1)

    def _raise_price(self, client: NetworkClient, rest: float) -> None:
        self._price += 1
        item = {"id": PROBE, "title": "Probe", "price": self._price}
        if self._push(client, [item]) == http.HTTPStatus.OK:
            self.raised.append((time.monotonic(), self._price))
        else:
            time.sleep(rest)

    def _push(self, client: NetworkClient, items: list[dict[str, object]]) -> int:
        secret = {"x-api-key": self.account.secret, "content-type": "application/json"}
        try:
            return client.ask("POST", "/v1/items", {"items": items}, secret).status
        except (OSError, http.client.HTTPException):
            return 0


def _price_in(reply: Response) -> float:
    if reply.status != http.HTTPStatus.OK:
        return 0.0
    products = json.loads(reply.body)["recommendations"]
    return next((float(one["price"]) for one in products if one["id"] == PROBE), 0.0)


def _order(key: str) -> _Body:
    lines = [{"item_id": PROBE}, {"item_id": PROBE}, {"item_id": "wrapping"}]
    return {"order_id": key, "session_id": f"s-{key}", "items": lines}


def _event(key: str) -> _Body:
    return {
        "event": "detail-page-view",
        "item_id": PROBE,
        "session_id": key,
        "event_id": key,
    }
