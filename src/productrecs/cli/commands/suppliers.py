"""`productrecs suppliers`: from whom products are ordered, and on which terms."""

from pathlib import Path
from typing import TextIO

import click

from productrecs.cli.open_services import database_with_audit_entry, open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.records.suppliers.repository import SupplierRepository
from productrecs.records.suppliers.supplier import parse_product_terms, parse_supplier


@click.group()
def suppliers() -> None:
    """Manage suppliers, for the order sheets of the demand forecast."""


@suppliers.command("list")
@click.argument("domain")
@json_option
@data_option
def list_suppliers(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List a store's suppliers with their terms."""
    with (
        open_store(data, domain) as (services, store),
        services.database.reading() as connection,
    ):
        repository = SupplierRepository(connection, store.store_id)
        found, counts = repository.suppliers(), repository.product_counts()
    rows = [
        {
            "name": one.name,
            "products": counts.get(one.name, 0),
            "lead_time_days": one.lead_time_days,
            "order_every_days": one.order_every_days,
            "minimum_order": one.minimum_order,
            "budget": one.budget,
        }
        for one in found
    ]
    if as_json:
        print_json(rows)
        return
    if not rows:
        click.echo(f'No suppliers yet: productrecs suppliers set {domain} "Tents Ltd"')
    for row in rows:
        click.echo("  ".join(f"{name}={value}" for name, value in row.items()))


@suppliers.command("set")
@click.argument("domain")
@click.argument("name")
@click.option("--lead-time", default="", help="Days until the goods can be sold.")
@click.option("--order-every", default="", help="Days between two orders.")
@click.option("--minimum-order", default="", help="The least money of an order.")
@click.option("--budget", default="", help="The most money of an order.")
@data_option
def set_supplier(
    domain: str,
    name: str,
    *,
    lead_time: str,
    order_every: str,
    minimum_order: str,
    budget: str,
    data: Path | None,
) -> None:
    """Add or change a supplier; without an option, the store's settings count.

    Example: productrecs suppliers set shop.example.com "Tents Ltd" --lead-time 21
    """
    supplier = parse_supplier(name, lead_time, order_every, minimum_order, budget)
    with open_store(data, domain) as (services, store):
        database = database_with_audit_entry(
            services, store, "Saved a supplier", supplier.name
        )
        with database.transaction() as transaction:
            SupplierRepository(transaction, store.store_id).save(supplier)
    click.echo(f"Saved {supplier.name}.")


@suppliers.command("remove")
@click.argument("domain")
@click.argument("name")
@data_option
def remove_supplier(domain: str, name: str, *, data: Path | None) -> None:
    """Remove a supplier with the terms of its products."""
    with open_store(data, domain) as (services, store):
        database = database_with_audit_entry(services, store, "Removed a supplier", name)
        with database.transaction() as transaction:
            SupplierRepository(transaction, store.store_id).remove(name)
    click.echo(f"Removed {name}.")


@suppliers.command("assign")
@click.argument("domain")
@click.argument("file", type=click.File(encoding="utf-8"))
@data_option
def assign(domain: str, file: TextIO, *, data: Path | None) -> None:
    """Say who supplies which product, from a CSV file; - reads standard input.

    Its columns are product (an id or SKU), supplier, pack_size and minimum_quantity.

    Example: productrecs suppliers assign shop.example.com terms.csv
    """
    terms = parse_product_terms(file.read())
    with open_store(data, domain) as (services, store):
        action = "Uploaded who supplies which product"
        database = database_with_audit_entry(
            services, store, action, f"{len(terms)} products"
        )
        with database.transaction() as transaction:
            missing, new = SupplierRepository(transaction, store.store_id).assign_terms(
                terms
            )
    click.echo(f"Stored the terms of {len(terms) - len(missing)} products.")
    for name in new:
        click.echo(f"new supplier: {name}")
    for name in missing:
        click.echo(f"not in the catalog: {name}")
