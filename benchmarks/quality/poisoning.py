"""Poisoning: which place does an attacker with some addresses reach in others' lists?

The honest store is the last 30 days of Online Retail: each order is one, and also a visit
that views its first products. The attacker has products of their own, knows the publishable
key, and sends 100 records a day from each address, each under a new shopper, a day for each
goal: orders of a product (trending), orders of it with the bestseller (bought together),
and visits that view the bestseller and it (its page). Nothing was tuned on these figures.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import numpy as np

from benchmarks.quality.datasets import DAY_MS, online_retail
from benchmarks.report import Figure
from productrecs.core.clock import fixed_clock
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.features.recommendations.trending import trending_list
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.catalog_view import CardFields, CatalogView
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.events.daily_network_caps import DailyNetworkCounts
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import ingest_events, ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations.schema_upgrade import migrate
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store_management import Registration, register_store
from productrecs.training.trained_models import TrainedModels, models_folder
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import TrainingDeps, train_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.report import Report
    from productrecs.features.recommendations.recommendation_request import Pick

VIEW: Final = EventKind.DETAIL_PAGE_VIEW
_DAYS: Final = 30
_RECORDS: Final = 100  # of each address, for each goal
_VIEWS: Final = 3  # products of an order that its visit views
_LIST: Final = 20
_GOALS: Final = ("trending", "bought together", "product page")


@dataclass(frozen=True, slots=True)
class _Case:
    """One attack: from how many addresses, and what the store does about it."""

    addresses: int
    share: int = 60
    confirmed: bool = False

    def __str__(self) -> str:
        limit = "" if self.share else ", without a limit"
        orders = ", the server sends orders" if self.confirmed else ""
        noun = "address" if self.addresses == 1 else "addresses"
        return f"{self.addresses} {noun}{limit}{orders}"


_CASES: Final = (
    _Case(1, 0),
    *(_Case(addresses) for addresses in (1, 10, 100)),
    _Case(100, confirmed=True),
)


def measure(report: Report) -> None:
    """Add the place of the attacker's product in each list, in each case."""
    data = online_retail()
    newest = np.flatnonzero(data.times > data.times.max() - _DAYS * DAY_MS)
    contents, now_ms = data.contents(newest), int(data.times.max())
    honest = [
        (int(data.times[order]), [str(item) for item in items.tolist()])
        for order, items in zip(newest, contents, strict=True)
        if len(items) <= 100
    ]
    for case in _CASES:
        with tempfile.TemporaryDirectory() as folder:
            places = _Attack(Path(folder), case, now_ms).run(honest)
        for goal, place in zip(_GOALS, places, strict=True):
            note = f"{_LIST + 1}: not among the first {_LIST}; {len(honest)} honest orders"
            report.add(Figure(f"poisoning, {case}: {goal}", place, "place", note=note))


class _Attack:
    """One store, attacked."""

    def __init__(self, folder: Path, case: _Case, now_ms: int) -> None:
        self._folder, self._case, self._now = folder, case, now_ms
        self._database = Database.open(None, folder)
        migrate(self._database)
        wanted = Registration("shop.example", settings={"network_share": str(case.share)})
        self._store, _ = register_store(self._database, wanted, fixed_clock(now_ms))
        self._counts = DailyNetworkCounts()

    def run(self, honest: Sequence[tuple[int, list[str]]]) -> list[int]:
        """Return the places of the attacker's products."""
        sold = [item for _, items in honest for item in items]
        items, counts = np.unique(sold, return_counts=True)
        best = str(items[counts.argmax()])
        self._push([*items.tolist(), *_GOALS])
        orders = [
            NewOrder(
                f"A-{number}",
                tuple(map(NewOrderLine, bought)),
                session_id=f"s_{number}",
                ordered_ms=time_ms,
                confirmed=self._case.confirmed,
            )
            for number, (time_ms, bought) in enumerate(honest)
        ]
        self._receive(orders)
        self._receive(
            [
                NewEvent(
                    EventKind.DETAIL_PAGE_VIEW, item, session_id=f"s_{number}", ts_ms=at
                )
                for number, (at, bought) in enumerate(honest)
                for item in bought[:_VIEWS]
            ]
        )
        trending, together, page = _GOALS
        self._attack_orders(trending)
        self._attack_orders(together, best)
        self._now += DAY_MS
        self._receive(
            [
                NewEvent(
                    VIEW,
                    item,
                    session_id=f"s_{address}x{number}",
                    network=address,
                )
                for address in self._addresses()
                for number in range(_RECORDS)
                for item in (best, page)
            ]
        )
        return self._places(best)

    def _addresses(self) -> list[str]:
        return [
            f"203.0.{number // 200}.{number % 200}"
            for number in range(self._case.addresses)
        ]

    def _attack_orders(self, *items: str) -> None:
        self._now += DAY_MS
        lines = tuple(map(NewOrderLine, items))
        self._receive(
            [
                NewOrder(
                    f"{items[0]} {address} {number}",
                    lines,
                    session_id=f"s_{items[0]}{address}o{number}",
                    confirmed=False,
                    network=address,
                )
                for address in self._addresses()
                for number in range(_RECORDS)
            ]
        )

    def _receive(self, facts: Sequence[NewOrder] | Sequence[NewEvent]) -> None:
        with self._database.transaction() as transaction:
            log = StoreLogTransaction(self._database, transaction, self._store.store_id)
            events = [[fact] for fact in facts if isinstance(fact, NewEvent)]
            if events:
                ingest_events(log, events, self._now, counts=self._counts)
            for fact in facts:
                if isinstance(fact, NewOrder):
                    ingest_order(log, fact, self._now, self._counts)

    def _push(self, item_ids: Sequence[str]) -> None:
        patches = [ItemPatch(one, {"title": one}) for one in item_ids]
        with self._database.transaction() as transaction:
            log = StoreLogTransaction(self._database, transaction, self._store.store_id)
            upsert_items(log, patches, self._now, None)

    def _places(self, best: str) -> list[int]:
        models = self._folder / "models"
        deps = TrainingDeps(self._database, models, fixed_clock(self._now))
        model = train_store(deps, self._store, TrainingInputs(), lambda _share: None)
        catalog = CatalogView(self._store.store_id, ZoneInfo("UTC"), _card)
        reader = self._database.raw_reader()
        catalog.refresh(reader, model.catalog_seq)
        reader.close()
        folder = models_folder(models, self._store.store_id)
        trained = TrainedModels.load(folder, model.model_id)
        shop = StoreState(catalog, trained, self._store.settings)
        lists: list[list[Pick]] = [trending_list(shop, _LIST, self._now)]
        for source in (Source.BUY, Source.BROWSE):
            request = RecommendationRequest(source, _LIST, best)
            lists.append(recommend(shop, request, [], self._now))
        self._database.close()
        return [
            _place(picks, catalog.numbers[goal], {catalog.numbers[one] for one in _GOALS})
            for picks, goal in zip(lists, _GOALS, strict=True)
        ]


def _place(picks: Sequence[Pick], item: int, attackers: set[int]) -> int:
    """Return an item's place among honest ones, from 1; one more than the list for none."""
    shown = [one.item for one in picks if one.item == item or one.item not in attackers]
    return shown.index(item) + 1 if item in shown else _LIST + 1


def _card(fields: CardFields) -> bytes:
    return fields.item_id.encode()
