"""Incremental training: equal to training on the whole log.

Events, orders sent once and twice, orders that replace what pages reported, returns, files
of the past that overwrite lines: whatever came between two trainings, and however often it
was trained, the arrays are the same to the last bit, and so is every list made of them.
"""

import random
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest

from productrecs.core.ids import StoreId
from productrecs.engines.engine_protocol import FitFingerprint
from productrecs.engines.registry import BROWSE
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.events.event_log.repository import EventLogRepository
from productrecs.records.orders.ingest_events_and_orders import ingest_events, ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training import training_inputs as inputs_module
from productrecs.training.fit_models import fit_all_models
from productrecs.training.repository import TrainingRepository
from productrecs.training.trained_models import TrainedModels
from productrecs.training.training_inputs import OrderLineArrays, TrainingInputs
from tests.records.orders.import_support import NOON, import_text, new_store_id

SHOWN: Final = 20
DAY: Final = 86_400_000
PAIRS, VISITS = "copurchase.companions", "browse.items"
KINDS: Final = (
    EventKind.DETAIL_PAGE_VIEW,
    EventKind.DETAIL_PAGE_VIEW,
    EventKind.ADD_TO_CART,
    EventKind.BUY,
    EventKind.CATEGORY_VIEW,
    EventKind.METADATA_PREF,
    EventKind.SEARCH_PREF,
    EventKind.SEARCH_CLICK,
)
NAMED: Final = (EventKind.CATEGORY_VIEW, EventKind.METADATA_PREF, EventKind.SEARCH_PREF)


class Life:
    """What happens to a store: ever something else, by chance, the same for one seed."""

    def __init__(self, database: Database, store: StoreId, seed: int, n_items: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - a test's dice
        self.showing = random.Random(seed)  # noqa: S311 - a test's dice
        self.database, self.store, self.n_items = database, store, n_items
        self.now = NOON
        self.sent: list[tuple[str, str]] = []  # orders and items that a file may overwrite

    def go_on(self, events: int) -> None:
        """Let so many events happen, and an order or a file now and then."""
        self.now += self.rng.randrange(1, 5) * 3_600_000
        with self.database.transaction() as transaction:
            log = StoreLogTransaction(self.database, transaction, self.store)
            received = [self._event() for _ in range(events)]
            received += [self._shown() for _ in range(events // 4)]
            ingest_events(log, [received], self.now)
            for _ in range(max(1, events // 10)):
                ingest_order(log, self._order(), self.now)
        if self.rng.random() < 0.5:
            import_text(self.database, self.store, self._file(), at=self.now)
        self._push()

    def look_on(self, views: int) -> None:
        """Let people look at products and buy nothing, a day later."""
        self.now += DAY
        seen = [
            NewEvent(
                EventKind.DETAIL_PAGE_VIEW, self._item(), session_id="s2", ts_ms=self.now
            )
            for _ in range(views)
        ]
        with self.database.transaction() as transaction:
            ingest_events(
                StoreLogTransaction(self.database, transaction, self.store),
                [seen],
                self.now,
            )

    def _push(self) -> None:
        """Name and rename some products: sizes of one, of one category or of none."""
        named = [self.showing.randrange(self.n_items) for _ in range(self.n_items // 4)]
        patches = [
            ItemPatch(
                f"i{one}",
                {
                    "title": f"Shirt {one // 8} {self.showing.choice(['S', 'red', 'new'])}",
                    "categories": self.showing.choice([("Shirts", "All"), ("Sale",), ()]),
                },
            )
            for one in named
        ]
        with self.database.transaction() as transaction:
            upsert_items(
                StoreLogTransaction(self.database, transaction, self.store),
                patches,
                self.now,
            )

    def _item(self) -> str:
        family = self.rng.randrange(max(1, self.n_items // 8))
        return f"i{8 * family + self.rng.randrange(8)}"

    def _event(self) -> NewEvent:
        kind = self.rng.choice(KINDS)
        late = self.rng.choice([0, 0, 0, 40 * 60_000, 3 * 86_400_000])
        term = self.rng.choice(["red", "Blue ", "tents"])
        searched = kind is EventKind.SEARCH_CLICK
        return NewEvent(
            kind,
            item_id=None if kind in NAMED else self._item(),
            term=term if kind in NAMED or searched else None,
            user_id=self.rng.choice([None, f"c{self.rng.randrange(30)}"]),
            session_id=f"s{self.rng.randrange(60)}",
            order_id=f"o{self.rng.randrange(200)}" if kind is EventKind.BUY else None,
            quantity=self.rng.choice([None, 1, 2]) if kind is EventKind.BUY else None,
            ts_ms=self.now - late + self.rng.randrange(3_600_000),
        )

    def _shown(self) -> NewEvent:
        kinds = (EventKind.REC_IMPRESSION, EventKind.REC_CLICK)
        return NewEvent(
            self.showing.choice(kinds),
            item_id=f"i{self.showing.randrange(self.n_items)}",
            session_id="s1",
            position=self.showing.choice([None, 1, 4]),
        )

    def _order(self) -> NewOrder:
        first = self.rng.randrange(max(1, self.n_items // 8)) * 8
        lines = [
            NewOrderLine(f"i{first + self.rng.randrange(8)}", quantity=1, price=5.0)
            for _ in range(self.rng.randrange(1, 5))
        ]
        # Sometimes one of which a page sent, sometimes one that came before.
        order_id = f"o{self.rng.randrange(200)}"
        self.sent += [(order_id, line.item_id) for line in lines]
        return NewOrder(order_id, tuple(lines), user_id=f"c{self.rng.randrange(30)}")

    def _file(self) -> str:
        about = [(f"o{self.rng.randrange(200)}", self._item()) for _ in range(6)]
        about += self.rng.sample(self.sent, min(6, len(self.sent)))
        rows = [
            f"{order_id},{item_id},{self.rng.choice([1, 2, -1])},7.5"
            for order_id, item_id in about
        ]
        return "\n".join(["order_id,item_id,quantity,price", *rows]) + "\n"


def read_on(database: Database, store: StoreId, inputs: TrainingInputs) -> int:
    """Read on to the log's end; return how many item numbers there are."""
    with database.reading() as connection:
        repository = TrainingRepository(connection, store)
        head = repository.head()
        assert head is not None
        searches = EventLogRepository(connection, store)
        inputs.read_log_up_to(repository, head.seq, searches=searches)
    return head.n_items


def trained(
    inputs: TrainingInputs, n_items: int, now_ms: int
) -> Mapping[str, npt.NDArray[Any]]:
    return fit_all_models(inputs, n_items, StoreSettings(trending_days=365), now_ms)


def lists(arrays: Mapping[str, npt.NDArray[Any]], n_items: int, now_ms: int) -> list[Any]:
    """Return the first twenty of every engine for every item."""
    models = TrainedModels.from_arrays("", arrays)
    found: list[Any] = [models.trending[:SHOWN].tolist()]
    for item in range(n_items):
        found += [
            models.copurchase.complete([item], SHOWN).items.tolist(),
            models.of(BROWSE).next_items([item], now_ms, SHOWN).items.tolist(),
        ]
    return found


@pytest.mark.parametrize(
    ("n_items", "events", "seed"),
    [(64, 40, 1), (64, 40, 2), pytest.param(1_000, 2_000, 3, marks=pytest.mark.trust)],
)
def test_reading_on_gives_the_model_of_the_whole_log(
    database: Database, n_items: int, events: int, seed: int
) -> None:
    store = new_store_id(database)
    life, inputs = Life(database, store, seed, n_items), TrainingInputs()

    for _ in range(8):
        life.go_on(events)
        numbers = read_on(database, store, inputs)
        if life.rng.random() < 0.5:
            trained(inputs, numbers, life.now)  # a training leaves no trace
    before = trained(inputs, numbers, life.now + DAY)  # no purchase is still to come
    life.look_on(events)
    numbers = read_on(database, store, inputs)
    rebuilt = TrainingInputs()
    read_on(database, store, rebuilt)

    step_by_step = trained(inputs, numbers, life.now)
    at_once = trained(rebuilt, numbers, life.now)
    is_kept = [before[name] is step_by_step[name] for name in (PAIRS, VISITS)]
    assert is_kept == [True, False]  # views are learned from, and nothing else is
    assert at_once["pooled.shared"].any()  # variants share baskets
    assert step_by_step.keys() == at_once.keys()
    for name, array in at_once.items():
        np.testing.assert_array_equal(step_by_step[name], array, err_msg=name)
    made = lists(at_once, numbers, life.now)
    assert lists(step_by_step, numbers, life.now) == made
    assert sum(map(bool, made)) > numbers // 2  # there was something to learn


def test_control_lines_that_are_not_replaced_are_found(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never_replaced(old: OrderLineArrays, fresh: OrderLineArrays) -> OrderLineArrays:
        return OrderLineArrays(
            **{
                name: np.concatenate((getattr(old, name), getattr(fresh, name)))
                for name in OrderLineArrays.__dataclass_fields__
            }
        )

    monkeypatch.setattr(inputs_module, "_replace_lines", never_replaced)

    with pytest.raises(AssertionError):
        test_reading_on_gives_the_model_of_the_whole_log(sqlite_database, 64, 40, 1)


def test_control_what_was_bought_meanwhile_is_not_kept_from_before(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FitFingerprint, "is_same", lambda _one, _other: True)

    with pytest.raises((AssertionError, ValueError)):  # of another size, or wrong
        test_reading_on_gives_the_model_of_the_whole_log(sqlite_database, 64, 40, 2)
