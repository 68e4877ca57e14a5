"""Orders come in from a shop's export or a mapped table, or are only looked at."""

from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from productrecs.core.clock import parse_moment
from productrecs.entrypoints.services import Services
from productrecs.storage.tables import items, purchase_lines
from tests.entrypoints.cli.conftest import BOTH, CommandLine

Write = Callable[[str, str | bytes], str]
SAMPLES = Path(__file__).parent / "feeds" / "samples"
PRODUCTS, SHOPIFY = str(SAMPLES / "shopify.csv"), str(SAMPLES / "shopify-orders.csv")
TABLE, TABLE_ORDERS = str(SAMPLES / "table.csv"), str(SAMPLES / "table-orders.csv")
MAPPING = str(SAMPLES / "table.toml")
OWN = "order_id,item_id,timestamp\nA,mug,2026-10-01\n"


def lines(services: Services) -> set[tuple[object, ...]]:
    """Return what was stored: order, item, person, time, units, price."""
    query = sa.select(
        purchase_lines.c.order_id,
        items.c.item_id,
        purchase_lines.c.person,
        purchase_lines.c.ts,
        purchase_lines.c.quantity,
        purchase_lines.c.price,
    ).join(
        items,
        (items.c.store_id == purchase_lines.c.store_id)
        & (items.c.number == purchase_lines.c.item),
    )
    with services.database.reading() as connection:
        return {tuple(row) for row in connection.execute(query)}


@BOTH
def test_a_shopify_export_comes_in_by_the_ids_of_the_catalog(
    shell: CommandLine, shop: str, services: Services
) -> None:
    shell.run("import-items", shop, PRODUCTS)

    result = shell.run("import-orders", shop, SHOPIFY)
    again = shell.told("import-orders", shop, SHOPIFY)

    assert "8 rows: 4 lines imported, 1 updated, 3 rows skipped." in result.stdout
    assert "was cancelled, voided or refunded" in result.stderr
    assert "1 line of products that the catalog does not hold" in result.stderr
    assert (again["lines_imported"], again["lines_updated"]) == (0, 5)
    first = parse_moment("2026-10-03T14:20:11+02:00")
    second = parse_moment("2026-10-04T09:00:00+02:00")
    # Two variants are one product of the catalog, and both were bought.
    assert lines(services) == {
        ("#1001", "trail-shirt", None, first, 2, 29.0),
        ("#1001", "mug", None, first, 2, 12.5),
        ("#1002", "tent", None, second, 1, 199.0),
        ("#1002", "OLD-1", None, second, 1, 5.0),
    }


def test_orders_of_a_shop_without_its_products_are_refused(
    shell: CommandLine, shop: str
) -> None:
    told = shell.refused("import-orders", shop, SHOPIFY)

    assert f"first: productrecs import-items {shop} PRODUCTS" in told


def test_a_dry_run_tells_what_a_file_holds_and_stores_nothing(
    shell: CommandLine, shop: str, services: Services
) -> None:
    shell.run("import-items", shop, PRODUCTS)

    said = shell("import-orders", shop, SHOPIFY, "--dry-run")
    told = shell.told("import-orders", shop, SHOPIFY, "--dry-run")

    assert "8 rows: 5 lines of 2 orders, 2026-10-03T12:20:11.000Z to" in said
    assert "would be imported, 3 rows skipped; 1 of 4 products are not in the" in said
    assert (told["orders"], told["items"], told["unknown_items"]) == (2, 4, 1)
    assert told["would"][0] == {
        "row": 2,
        "order_id": "#1001",
        "item_id": "trail-shirt",
        "quantity": 1,
        "price": 29.0,
        "timestamp": "2026-10-03T12:20:11.000Z",
    }
    assert lines(services) == set()


@BOTH
def test_any_table_comes_in_by_a_mapping(
    shell: CommandLine, shop: str, services: Services
) -> None:
    products = shell.told_in_part("import-items", shop, TABLE, "--mapping", MAPPING)
    orders = shell.told_in_part("import-orders", shop, TABLE_ORDERS, "--mapping", MAPPING)

    assert (products["created"], products["rows_skipped"]) == (2, 1)
    assert (orders["lines_imported"], orders["rows_skipped"]) == (3, 1)
    assert orders["errors"] == [{"row": 5, "message": "item_id is empty"}]
    first = parse_moment("2026-10-03T14:20:00+02:00")  # in the store's zone
    second = parse_moment("2026-10-04T09:00:00+02:00")
    assert lines(services) == {
        ("R-1", "4711", "K-7", first, 1, 149.0),
        ("R-1", "4712", "K-7", first, 2, 39.5),
        ("R-2", "4712", None, second, 1, 39.5),
    }
    with services.database.reading() as connection:
        query = sa.select(items.c.item_id, items.c.price, items.c.availability)
        held = {tuple(row) for row in connection.execute(query)}
    assert held == {("4711", 149.0, "in_stock"), ("4712", 39.5, "out_of_stock")}


def test_a_dry_run_of_our_own_layout_and_a_table_that_is_none(
    shell: CommandLine, shop: str, write: Write
) -> None:
    own = shell.told("import-orders", shop, write("own.csv", OWN), "--dry-run")
    strange = shell.refused("import-orders", shop, TABLE_ORDERS)

    assert (own["orders"], own["unknown_items"]) == (1, 1)
    assert "no column order_id" in strange
    assert "--mapping" in strange
