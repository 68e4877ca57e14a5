"""`productrecs purchase-orders`: goods that were ordered and have not arrived."""

from pathlib import Path
from typing import TextIO

import click

from productrecs.cli.open_services import database_with_audit_entry, open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.records.purchase_orders.purchase_order_line import (
    PurchaseOrderLine,
    parse_purchase_order_line,
    parse_purchase_orders,
)
from productrecs.records.purchase_orders.repository import (
    PurchaseOrderRepository,
)


@click.group("purchase-orders")
def purchase_orders() -> None:
    """Manage goods on order, which the order sheets subtract."""


@purchase_orders.command("list")
@click.argument("domain")
@json_option
@data_option
def list_lines(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List the goods on order, the earliest expected day first."""
    with (
        open_store(data, domain) as (services, store),
        services.database.reading() as connection,
    ):
        lines = PurchaseOrderRepository(connection, store.store_id).lines()
    if as_json:
        print_json([_order_line_fields(number, line) for number, line in lines.items()])
        return
    if not lines:
        add = f"productrecs purchase-orders add {domain} tent 24 2027-03-01"
        click.echo(f"Nothing is on order: {add}")
    for number, line in lines.items():
        supplier = f"  {line.supplier}" if line.supplier else ""
        click.echo(
            f"{number:>4}  {line.expected_day}  {line.quantity} x {line.product}{supplier}"
        )


@purchase_orders.command("add")
@click.argument("domain")
@click.argument("product")
@click.argument("quantity")
@click.argument("expected_day")
@click.option("--supplier", default="", help="Who delivers it.")
@data_option
def add_line(
    domain: str,
    product: str,
    quantity: str,
    expected_day: str,
    *,
    supplier: str,
    data: Path | None,
) -> None:
    """Add a product, by its id or SKU, that was ordered.

    Example: productrecs purchase-orders add shop.example.com tent 24 2027-03-01
    """
    line = parse_purchase_order_line(
        {
            "product": product,
            "quantity": quantity,
            "expected_day": expected_day,
            "supplier": supplier,
        }
    )
    with open_store(data, domain) as (services, store):
        database = database_with_audit_entry(
            services, store, "Added goods on order", product
        )
        with database.transaction() as transaction:
            orders = PurchaseOrderRepository(transaction, store.store_id)
            orders.add_line(line, services.clock())
    click.echo("Stored 1 line.")


@purchase_orders.command("replace")
@click.argument("domain")
@click.argument("file", type=click.File(encoding="utf-8"))
@data_option
def replace_lines(domain: str, file: TextIO, *, data: Path | None) -> None:
    """Replace all goods on order by those of a CSV file; - reads standard input.

    Its columns are product (an id or SKU), quantity, expected_day and supplier.

    Example: productrecs purchase-orders replace shop.example.com ordered.csv
    """
    lines = parse_purchase_orders(file.read())
    with open_store(data, domain) as (services, store):
        action = "Uploaded the goods on order"
        database = database_with_audit_entry(services, store, action, f"{len(lines)} lines")
        with database.transaction() as transaction:
            orders = PurchaseOrderRepository(transaction, store.store_id)
            missing = orders.replace(lines, services.clock())
    _print_stored_and_missing_lines(len(lines), missing)


@purchase_orders.command("remove")
@click.argument("domain")
@click.argument("numbers", metavar="ID...", type=int, nargs=-1, required=True)
@data_option
def remove_lines(domain: str, numbers: tuple[int, ...], *, data: Path | None) -> None:
    """Remove lines: their goods arrived, or will not."""
    with open_store(data, domain) as (services, store):
        detail = ", ".join(map(str, numbers))
        database = database_with_audit_entry(
            services, store, "Removed goods on order", detail
        )
        with database.transaction() as transaction:
            PurchaseOrderRepository(transaction, store.store_id).remove(numbers)
    click.echo(f"Removed {detail}.")


def _print_stored_and_missing_lines(line_count: int, missing_products: list[str]) -> None:
    click.echo(f"Stored {line_count - len(missing_products)} lines.")
    for product in missing_products:
        click.echo(f"not in the catalog: {product}")


def _order_line_fields(number: int, line: PurchaseOrderLine) -> dict[str, object]:
    return {
        "id": number,
        "item_id": line.product,
        "quantity": line.quantity,
        "expected_day": line.expected_day,
        "supplier": line.supplier or None,
    }
