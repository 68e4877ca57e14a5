"""`productrecs calendar`: campaigns and closed days that the demand forecast knows."""

from pathlib import Path
from typing import TypedDict, Unpack

import click

from productrecs.cli.open_services import database_with_audit_entry, open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.records.sales_calendar.calendar_entry import (
    CalendarEntry,
    CalendarEntryKind,
    parse_calendar_entry,
)
from productrecs.records.sales_calendar.repository import SalesCalendarRepository


class _CalendarEntryOptions(TypedDict):
    """The days of an entry, and what it changes."""

    first_day: str
    last_day: str
    category: str
    expected_change: str
    price_change: str


@click.group()
def calendar() -> None:
    """Manage campaigns and closed days, which the demand forecast knows ahead."""


@calendar.command("list")
@click.argument("domain")
@json_option
@data_option
def list_entries(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List a store's campaigns and closed days, the last ones first."""
    with (
        open_store(data, domain) as (services, store),
        services.database.reading() as connection,
    ):
        entries = SalesCalendarRepository(connection, store.store_id).entries()
    if as_json:
        print_json([_entry_fields(number, one) for number, one in entries.items()])
        return
    if not entries:
        add = f'productrecs calendar add {domain} campaign "Spring sale" 2027-03-01'
        click.echo(f"No entries yet: {add}")
    for number, one in entries.items():
        click.echo(f"{number:>4}  {_entry_line(one)}")


@calendar.command("add")
@click.argument("domain")
@click.argument("kind", type=click.Choice([kind.value for kind in CalendarEntryKind]))
@click.argument("name")
@click.argument("first_day")
@click.argument("last_day", default="")
@click.option("--category", default="", help="A category; default: all products.")
@click.option(
    "--change",
    "expected_change",
    default="",
    help="The expected change in per cent, such as 30; default: as past campaigns.",
)
@click.option(
    "--price-change",
    default="",
    help="The change of prices in per cent, such as -20; default: none.",
)
@json_option
@data_option
def add_entry(
    domain: str,
    kind: str,
    name: str,
    *,
    as_json: bool,
    data: Path | None,
    **days_and_scope: Unpack[_CalendarEntryOptions],
) -> None:
    """Add a campaign or days on which the store is closed; past ones count too.

    The next forecast knows it.

    Example: productrecs calendar add shop.example.com campaign "Spring sale" 2027-03-01 2027-03-07
    """  # noqa: E501 - an example is one line
    entry = parse_calendar_entry(kind, name, **days_and_scope)
    with open_store(data, domain) as (services, store):
        action = "Added to the sales calendar"
        database = database_with_audit_entry(services, store, action, _entry_line(entry))
        with database.transaction() as transaction:
            calendar_of_store = SalesCalendarRepository(transaction, store.store_id)
            number = calendar_of_store.add(entry, services.clock())
    if as_json:
        print_json(_entry_fields(number, entry))
    else:
        click.echo(f"Added {number}: {_entry_line(entry)}")


@calendar.command("remove")
@click.argument("domain")
@click.argument("number", metavar="ID", type=int)
@data_option
def remove_entry(domain: str, number: int, *, data: Path | None) -> None:
    """Remove an entry."""
    with open_store(data, domain) as (services, store):
        with services.database.reading() as connection:
            stored = SalesCalendarRepository(connection, store.store_id).entries()
        action = "Removed from the sales calendar"
        detail = _entry_line(stored[number]) if number in stored else ""
        database = database_with_audit_entry(services, store, action, detail)
        with database.transaction() as transaction:
            SalesCalendarRepository(transaction, store.store_id).remove(number)
    click.echo(f"Removed {number}.")


def _entry_line(entry: CalendarEntry) -> str:
    last = "" if entry.last_day == entry.first_day else f" to {entry.last_day}"
    category = f", {entry.category}" if entry.category else ""
    change = "" if entry.expected_change is None else f", {entry.expected_change:+g} %"
    price = "" if entry.price_change is None else f", prices {entry.price_change:+g} %"
    days, kind = f"{entry.first_day}{last}", entry.kind.value
    return f"{days}  {kind}: {entry.name}{category}{change}{price}"


def _entry_fields(number: int, entry: CalendarEntry) -> dict[str, object]:
    return {
        "id": number,
        "kind": entry.kind.value,
        "name": entry.name,
        "first_day": entry.first_day,
        "last_day": entry.last_day,
        "category": entry.category or None,
        "expected_change": entry.expected_change,
        "price_change": entry.price_change,
    }
