"""`productrecs report`: figures as a table, CSV and JSON."""

import csv
import json

import pytest

from productrecs.core.timestamps import parse_timestamp
from productrecs.records.orders.ingest_events_and_orders import ingest_events, ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.report_registry import REPORT_TYPES
from productrecs.services import Services
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store_management import find_store
from tests.cli.conftest import BOTH, CommandLine
from tests.features.reports.shop import cart, click, impression

NOON = "2026-03-05T12:00:00Z"


@pytest.fixture
def busy(shop: str, services: Services) -> str:
    """Return the domain of a store that showed, put into carts and sold a tent."""
    now = parse_timestamp(NOON)
    fields = {"widget": "=cmd", "source": "browse"}
    with services.database.transaction() as transaction:
        store = find_store(services.database, shop)
        log = StoreLogTransaction(services.database, transaction, store.store_id)
        facts = [impression("tent"), click("tent"), impression("rope", **fields)]
        ingest_events(log, [[one] for one in (*facts, cart("tent"))], now)
        order = NewOrder(
            "A-1", (NewOrderLine("tent", 2, 20.0), NewOrderLine("mug", 1, 10.0)), "s_1"
        )
        ingest_order(log, order, now)
    return shop


@BOTH
def test_what_followed_recommendations_is_reported(shell: CommandLine, busy: str) -> None:
    report = shell.json("report", busy, "attribution", PRODUCTRECS_NOW=NOON)

    figures = {one["name"]: one["value"] for one in report["figures"]}
    assert figures["revenue"] == 40.0
    assert figures["revenue_share"] == 0.8
    assert figures["orders"] == figures["carts"] == 1
    assert all(one["meaning"] for one in (*report["figures"], *report["columns"]))
    assert report["rows"][0] == {
        "widget": "recs",
        "source": "buy",
        "currency": "EUR",
        "shown": 1,
        "clicked": 1,
        "click_rate": 1.0,
        "carts": 1,
        "carts_clicked": 1,
        "carts_seen": 0,
        "cart_value": 10.0,
        "sales": 1,
        "sales_clicked": 1,
        "units": 2,
        "revenue": 40.0,
        "revenue_clicked": 40.0,
        "revenue_seen": 0.0,
        "sales_seen": 0,
    }


@BOTH
def test_a_report_lists_the_orders_behind_a_number(shell: CommandLine, busy: str) -> None:
    report = shell.json("report", busy, "credited-sales", PRODUCTRECS_NOW=NOON)

    (sale,) = report["rows"]
    assert (sale["order_id"], sale["item_id"], sale["revenue"]) == ("A-1", "tent", 40.0)
    assert (sale["touch"], sale["position"]) == ("click", 1)


@BOTH
def test_a_report_lists_the_products_behind_a_number(shell: CommandLine, busy: str) -> None:
    report = shell.json("report", busy, "credited-items", PRODUCTRECS_NOW=NOON)

    (item,) = report["rows"]
    assert (item["item_id"], item["carts"], item["sales"]) == ("tent", 1, 1)
    assert (item["units"], item["revenue"], item["currency"]) == (2, 40.0, "EUR")


def test_every_report_is_made_of_an_empty_store_too(shell: CommandLine, shop: str) -> None:
    for name in REPORT_TYPES:
        made = shell.json("report", shop, name)
        assert made["report"] == name
        assert all(column["meaning"] for column in made["columns"])


def test_a_table_is_for_people_and_csv_for_sheets(shell: CommandLine, busy: str) -> None:
    table = shell("report", busy, "attribution", PRODUCTRECS_NOW=NOON)
    words = shell("report", busy, "attribution", "--csv", PRODUCTRECS_NOW=NOON)

    assert "40.00" in table
    assert "click_rate: clicked / shown" in table
    rows = list(csv.DictReader(words.splitlines()))
    assert [row["widget"] for row in rows] == ["recs", "'=cmd"]  # no formula


def test_days_and_groups_are_chosen(shell: CommandLine, busy: str) -> None:
    words = ("report", "attribution", busy, "--from", "2026-03-01", "--by", "day,position")

    before = shell.json(*words, "--until", "2026-03-04")
    after = shell.json(*words, "--until", "2026-03-05")

    assert before["rows"] == []
    assert [(row["day"], row["position"]) for row in after["rows"]] == [("2026-03-05", 1)]


@pytest.mark.parametrize(
    "words",
    [
        ("sales",),
        ("attribution", "--by", "colour"),
        ("attribution", "--by", "day,day"),
        ("attribution", "--from", "yesterday"),
        ("attribution", "--from", "2026-03-05", "--until", "2026-03-01"),
        ("attribution", "--from", "1990-01-01"),
        ("attribution", "--limit", "0"),
    ],
)
def test_what_cannot_be_reported_is_said(
    shell: CommandLine, shop: str, words: tuple[str, ...]
) -> None:
    assert shell.refused("report", shop, *words)


def test_a_store_without_a_past_has_an_empty_report(shell: CommandLine, shop: str) -> None:
    report = json.loads(shell("report", shop, "attribution", "--json"))

    assert report["rows"] == []
    assert {one["value"] for one in report["figures"]} == {0, None}
    assert "(nothing)" in shell("report", shop, "attribution")
