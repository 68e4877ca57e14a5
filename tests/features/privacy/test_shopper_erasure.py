"""Erasure: an erased shopper is gone, and everybody else is unchanged."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from productrecs.core.clock import DAY_MS, fixed_clock
from productrecs.core.errors import StorageBusyError
from productrecs.core.ids import StoreId, visitor_hash
from productrecs.core.report import ReportQuery
from productrecs.features.attribution.attributor import Attributor
from productrecs.features.privacy import shopper_erasure
from productrecs.features.privacy.repository import ErasureRepository
from productrecs.features.privacy.shopper_erasure import ShopperEraser, replay_erasures
from productrecs.features.privacy.shopper_export import shopper_names, shopper_records
from productrecs.features.reports.customer_segments_report import (
    compute_and_store_segments,
    customer_list_report,
    stores_due_for_segments,
)
from productrecs.records.erasures.repository import ERASURE_GRACE_MS
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.experiments.arm_assignment import Exposure, HoldoutArm
from productrecs.records.experiments.exposures.repository import store_exposures
from productrecs.records.orders.order_and_purchase_ledger import NewOrderLine
from productrecs.records.search_counts.repository import SearchCount, SearchCountRepository
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import (
    erased_names,
    erasures,
    events,
    exposures,
    metadata,
    outcomes,
    purchase_lines,
    search_counts,
    shopper_links,
    store_heads,
)
from productrecs.tenancy.accounts.store_management import delete_store
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import TrainingDeps, train_store
from tests.features.reports.shop import NOON, ReportedStore, buy, cart, click

LATER = NOON + 1_000
ME, MY_SESSION, MY_PHONE = "me-zq71", "s_zq72", "s_zq73"
MINE = (ME, MY_SESSION, MY_PHONE)
OTHER = "other-customer"


def view(item: str, **facts: object) -> NewEvent:
    return NewEvent(EventKind.DETAIL_PAGE_VIEW, item_id=item, **facts)  # type: ignore[arg-type]  # a test's shorthand


def searched(query: str, **facts: object) -> NewEvent:
    return NewEvent(EventKind.SEARCH_PREF, term=query, **facts)  # type: ignore[arg-type]  # a test's shorthand


@dataclass
class Installation:
    """One store and who erases in it."""

    shop: ReportedStore
    eraser: ShopperEraser

    @property
    def store_id(self) -> StoreId:
        """Whose shoppers are erased."""
        return self.shop.store.store_id

    def erase(self, name: str = ME) -> None:
        """Forget a shopper, as far as that can be done at once."""
        self.eraser.request_erasure(self.store_id, name)
        self.eraser.continue_erasures(self.store_id)

    def train(self, inputs: TrainingInputs | None = None) -> None:
        """Learn what the log says by now."""
        workshop = TrainingDeps(self.shop.database, self.eraser.models, lambda: LATER)
        train_store(workshop, self.shop.store, inputs or TrainingInputs(), lambda _: None)


@pytest.fixture
def place(database: Database, tmp_path: Path) -> Installation:
    shop = ReportedStore(database, tmp_path / "trails")
    data = tmp_path / "place"
    data.mkdir()
    eraser = ShopperEraser(
        database, data, tmp_path / "models", tmp_path / "trails", fixed_clock(LATER)
    )
    return Installation(shop, eraser)


def live(shop: ReportedStore) -> None:
    """Let the shopper and another one use the shop in every way."""
    store_id = shop.store.store_id
    shop.send(
        click("tent", MY_SESSION),  # before anybody knew who it was
        view("tent", user_id=ME, session_id=MY_SESSION),
        view("lamp", user_id=ME, session_id=MY_PHONE),
        searched("Bed in the Oak street 7", user_id=ME),
        searched("tent", user_id=ME),
        cart("tent", MY_SESSION),
        buy("tent", MY_SESSION, order_id="o-1"),
        view("tent", user_id=OTHER, session_id=MY_PHONE),  # on my phone
        view("lamp", user_id=OTHER, session_id="s_other"),
        click("lamp", "s_other"),
        cart("lamp", "s_other"),
        view("mug", session_id="s_nobody"),
        view("mug", session_id=MY_PHONE, bot="a program on my phone"),
        view("mug", user_id=OTHER, session_id=MY_PHONE, bot="a program on my phone"),
    )
    shop.order("o-2", NewOrderLine("tent", 2, 10.0), user=ME, session=MY_SESSION)
    shop.order("o-3", NewOrderLine("lamp", 1, 5.0), user=OTHER)
    shop.history(f"order_id,item_id,customer_id,timestamp\nold,mug,{ME},2025-02-01\n")
    with shop.database.transaction() as transaction:
        store_exposures(
            transaction,
            [
                Exposure(store_id, name, "a-test", HoldoutArm.SHOWN, MY_SESSION, NOON)
                for name in (*MINE, OTHER)
            ],
        )
        counts = {
            "bed oak": SearchCount("bed in the oak street 7", 1, 1),
            "tent": SearchCount("tent", 40, 0),
            # Typed into a call of the search, which leaves no event.
            "anna elm": SearchCount("anna of elm", 1, 1, 0, frozenset([visitor_hash(ME)])),
            "mug": SearchCount("mug", 1, 0, 0, frozenset([visitor_hash("s_nobody")])),
        }
        SearchCountRepository(transaction, store_id).add("2026-03-01", counts)


def everything(database: Database, *, but: frozenset[str] = frozenset()) -> str:
    """Return every row of every table as text."""
    with database.reading() as connection:
        return "\n".join(
            f"{table.name} {row}"
            for table in metadata.sorted_tables
            if table.name not in but
            for row in connection.execute(sa.select(table))
        )


def column(shop: ReportedStore, chosen: sa.Column[Any]) -> list[Any]:
    with shop.database.reading() as connection:
        return sorted(connection.execute(sa.select(chosen)).scalars(), key=str)


def test_no_name_of_an_erased_shopper_is_left_in_any_table(place: Installation) -> None:
    live(place.shop)
    before = everything(place.shop.database)

    place.erase(MY_PHONE)  # of OTHER by now: it was they who used it last
    place.erase(ME)

    assert all(name in before for name in MINE)
    after = everything(place.shop.database)
    for name in (*MINE, OTHER, "s_other", "oak", "elm"):
        assert name not in after, name
    assert "s_nobody" in after


def test_what_they_bought_stays_without_them_and_others_stay_as_they_were(
    place: Installation,
) -> None:
    live(place.shop)

    place.erase()

    assert column(place.shop, purchase_lines.c.order_id) == ["o-1", "o-2", "o-3", "old"]
    assert column(place.shop, purchase_lines.c.person) == [None, None, None, OTHER]
    assert set(column(place.shop, events.c.person)) == {OTHER, "s_nobody"}
    assert column(place.shop, exposures.c.identity) == sorted([MY_PHONE, OTHER])
    assert column(place.shop, exposures.c.unit) == sorted([MY_PHONE, OTHER])
    # Many searched for a tent, and somebody else for a mug.
    assert column(place.shop, search_counts.c.text) == ["mug", "tent"]
    assert column(place.shop, shopper_links.c.customer) == [OTHER, OTHER]


def test_the_other_customers_stay_listed_until_segments_are_computed_again(
    place: Installation,
) -> None:
    shop = place.shop
    live(shop)
    compute_and_store_segments(shop.database, shop.store, NOON)

    def names() -> list[str]:
        query = ReportQuery("2026-03-01", "2026-03-31")
        report = customer_list_report(shop.database, shop.store, query)
        return sorted(str(row[0]) for row in report.rows)

    assert names() == sorted([ME, OTHER])
    place.erase(ME)
    assert names() == [OTHER]
    assert ME not in everything(shop.database)
    due = stores_due_for_segments(shop.database, [shop.store], NOON)
    assert due == [shop.store.store_id]


def test_another_store_is_untouched(place: Installation) -> None:
    other = ReportedStore(place.shop.database, place.shop.folder, "other.example")
    live(other)
    before = sorted(everything(place.shop.database).splitlines())
    live(place.shop)

    place.erase()

    kept = [
        row
        for row in everything(place.shop.database).splitlines()
        if other.store.store_id in row
    ]
    mine = [row for row in before if other.store.store_id in row]
    assert sorted(kept) == mine


def test_what_comes_late_or_again_does_not_bring_them_back(place: Installation) -> None:
    shop = place.shop
    live(shop)
    place.erase()
    rows = len(column(shop, purchase_lines.c.order_id))

    soon = LATER + ERASURE_GRACE_MS - 1
    shop.send(view("tent", user_id=ME), at=soon)
    shop.send(view("tent", user_id=ME, ts_ms=NOON - DAY_MS), at=soon, imported=True)
    shop.send(buy("tent", MY_SESSION, order_id="o-9"), at=soon)
    shop.send(view("tent", user_id=OTHER, session_id=MY_SESSION), at=soon)
    shop.order("o-4", NewOrderLine("tent"), user=ME, session=MY_SESSION, at=soon)
    shop.order(*("o-5", NewOrderLine("tent")), user=ME, at=soon + DAY_MS, ordered_ms=NOON)
    shop.history(f"order_id,item_id,customer_id\nold,mug,{ME}\n", at=soon)
    with shop.database.transaction() as transaction:
        late = Exposure(place.store_id, ME, "a-test", HoldoutArm.SHOWN, MY_SESSION, soon)
        store_exposures(transaction, [late])

    content = everything(shop.database)
    assert ME not in content
    assert MY_SESSION not in content
    assert len(column(shop, purchase_lines.c.order_id)) == rows + 2  # their new orders


def test_a_week_later_they_are_a_new_acquaintance_whose_past_stays_away(
    place: Installation,
) -> None:
    shop = place.shop
    live(shop)
    place.erase()

    again = LATER + ERASURE_GRACE_MS
    shop.send(view("tent", user_id=ME), at=again)
    shop.send(view("lamp", user_id=ME, ts_ms=NOON), at=again, imported=True)
    shop.order(
        "o-2", NewOrderLine("tent"), user=ME, at=again + 7 * DAY_MS
    )  # sent once more

    assert column(shop, events.c.person).count(ME) == 1
    assert ME not in column(shop, purchase_lines.c.person)


def test_it_goes_on_wherever_it_broke_off(
    place: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(place.shop)
    steps = 0

    def breaks(self: ErasureRepository, *given: Any, **more: Any) -> None:
        nonlocal steps
        steps += 1
        if steps % 2:
            raise StorageBusyError("as if the process had died here")
        count(self, *given, **more)

    count = ErasureRepository.add_counts
    monkeypatch.setattr("productrecs.features.privacy.shopper_erasure.BATCH", 2)
    monkeypatch.setattr(ErasureRepository, "add_counts", breaks)
    place.eraser.request_erasure(place.store_id, ME)
    for _ in range(20):
        try:
            place.eraser.continue_erasures(place.store_id)
        except StorageBusyError:
            continue

    assert steps > 6
    content = everything(place.shop.database)
    assert ME not in content
    assert MY_SESSION not in content
    [erased] = place.eraser.all(place.store_id)
    assert (erased.events, erased.lines, erased.names) == (6, 3, ())


def test_asked_twice_it_is_done_once(place: Installation) -> None:
    live(place.shop)
    place.erase()
    before = everything(place.shop.database, but=frozenset({"erasures", "store_heads"}))

    place.erase()

    after = everything(place.shop.database, but=frozenset({"erasures", "store_heads"}))
    assert after == before
    assert [one.events for one in place.eraser.all(place.store_id)] == [6, 0]


def test_engines_learn_anew_without_them_and_only_then_it_is_done(
    place: Installation,
) -> None:
    shop, inputs = place.shop, TrainingInputs()
    live(shop)
    place.train(inputs)
    attributor = Attributor(shop.database, shop.folder)
    assert attributor.catch_up(shop.store)
    known = len(inputs.behaviour.items)
    old = {path.name for path in (place.eraser.models / place.store_id).iterdir()}

    place.erase()
    assert [one.done_at for one in place.eraser.all(place.store_id)] == [None]
    place.train(inputs)  # as a learner does, who remembers the log
    assert [one.done_at for one in place.eraser.continue_erasures(place.store_id)] == [None]
    assert attributor.catch_up(shop.store)
    assert place.eraser.continue_erasures(place.store_id) == []

    assert len(inputs.behaviour.items) < known
    fresh = TrainingInputs()
    place.train(fresh)
    assert (fresh.behaviour.items == inputs.behaviour.items).all()
    left = {path.name for path in (place.eraser.models / place.store_id).iterdir()}
    assert not old & left


def test_attribution_is_worked_out_without_them(place: Installation) -> None:
    shop = place.shop
    live(shop)
    attributor = Attributor(shop.database, shop.folder)
    assert attributor.catch_up(shop.store)
    before = column(shop, outcomes.c.touch)

    place.erase()
    assert attributor.catch_up(shop.store)

    assert len([touch for touch in before if touch is not None]) == 3
    assert len([touch for touch in column(shop, outcomes.c.touch) if touch]) == 1
    assert len(column(shop, outcomes.c.fact)) == len(before) - 1  # their cart


def test_a_restored_backup_is_cleared_again(place: Installation) -> None:
    live(place.shop)
    place.erase()
    shop = place.shop
    with shop.database.transaction() as transaction:  # as a backup from before has it
        for table in (erasures, erased_names):
            transaction.execute(table.delete())
        transaction.execute(store_heads.update().values(erasures=0))
    live(shop)
    assert ME in everything(shop.database)

    assert replay_erasures(place.eraser) > 0

    content = everything(shop.database)
    assert ME not in content
    assert MY_SESSION not in content
    assert replay_erasures(place.eraser) == 0


def test_the_ledger_survives_a_cut_off_line(tmp_path: Path) -> None:
    shopper_erasure.append_to_erasure_ledgers(tmp_path, "st_1", {"a" * 32: 5})  # type: ignore[arg-type]  # a store's id
    with (tmp_path / shopper_erasure.LEDGER_FILE).open("a") as file:
        file.write('{"store_id": "st_')

    assert shopper_erasure.read_erasure_ledgers(tmp_path) == {"st_1": {"a" * 32: 5}}


def test_all_that_is_kept_of_a_shopper_is_written_out(place: Installation) -> None:
    live(place.shop)
    database = place.shop.database

    names = shopper_names(database, place.store_id, MY_SESSION)
    records = list(shopper_records(database, place.store_id, names))

    assert names == (ME, MY_SESSION)
    kinds = [record.kind for record in records]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "name": 1,
        "event": 6,
        "purchase": 3,
        "test": 2,
    }
    exported = str(records)
    assert "tent" in exported
    assert OTHER not in exported


def test_a_deleted_store_has_no_shopper_left_to_erase(place: Installation) -> None:
    live(place.shop)
    store = place.shop.store
    place.erase()

    delete_store(place.shop.database, store)

    assert store.store_id not in everything(place.shop.database)
