"""How does a merchant's past come in? Items, orders and events from files.

Each of these may be repeated or broken off: what came in stays, nothing comes in twice.
"""

from pathlib import Path

import click

from productrecs.entrypoints.cli.event_import import import_events as store_events
from productrecs.entrypoints.cli.import_report import counted, show
from productrecs.entrypoints.cli.item_import import import_items as push_items
from productrecs.entrypoints.cli.session import data_option, json_option, opened
from productrecs.entrypoints.cli.source import opened_source, progress
from productrecs.records.orders.csv_format import inspect
from productrecs.records.orders.order_history import OrderHistory
from productrecs.tenancy.accounts.registration import find_store


@click.command()
@click.argument("domain")
@click.argument("file")
@json_option
@data_option
def import_items(domain: str, file: str, *, as_json: bool, data: Path | None) -> None:
    """Push the items of FILE (.csv, .json, .jsonl, or - for standard input).

    A CSV has the item's field names as headers and | between categories. Fields that
    are not there keep their stored values.
    """
    with opened(data) as services:
        store = find_store(services.database, domain)
        with (
            opened_source(file, services.settings.data) as source,
            progress("items", source.size) as on_bytes,
        ):
            report = push_items(services, store, source, on_bytes)
    summary = (
        f"{counted(report.rows, 'item')}: {report.created:,} created, "
        f"{report.updated:,} updated, {report.rows_skipped:,} skipped; "
        f"the catalog holds {report.total:,}."
    )
    show(report, summary, as_json=as_json)


@click.command()
@click.argument("domain")
@click.argument("file")
@json_option
@data_option
def import_orders(domain: str, file: str, *, as_json: bool, data: Path | None) -> None:
    """Import the order history FILE (a CSV, or - for standard input).

    Header: order_id,item_id[,customer_id][,timestamp][,quantity][,price]. A line that was
    imported before is overwritten with what the file carries.
    """
    with opened(data) as services:
        store = find_store(services.database, domain)
        with opened_source(file, services.settings.data) as source:
            written = inspect(source.file)
            history = OrderHistory(
                services.database,
                services.numbers,
                store.store_id,
                store.settings.zone,
                services.clock(),
            )
            with progress("orders", written.size) as on_bytes:
                report = history.run(source.file, written, on_bytes)
    summary = (
        f"{counted(report.rows, 'row')}: {report.lines_imported:,} lines imported, "
        f"{report.lines_updated:,} updated, {report.rows_skipped:,} rows skipped."
    )
    if written.encoding == "cp1252":
        click.echo("This file is not UTF-8; it was read as Windows-1252.", err=True)
    if report.rows_undated:
        undated = counted(report.rows_undated, "row")
        click.echo(f"{undated} without a readable time: placed on today.", err=True)
    show(report, summary, as_json=as_json)


@click.command()
@click.argument("domain")
@click.argument("file")
@json_option
@data_option
def import_events(domain: str, file: str, *, as_json: bool, data: Path | None) -> None:
    """Import past events from FILE (JSON lines, or - for standard input).

    Each line is an event as POST /v1/events takes it, with its own ISO "timestamp".
    """
    with opened(data) as services:
        store = find_store(services.database, domain)
        with (
            opened_source(file, services.settings.data) as source,
            progress("events", source.size) as on_bytes,
        ):
            report = store_events(services, store, source, on_bytes)
    summary = (
        f"{counted(report.rows, 'line')}: {counted(report.events_stored, 'event')} stored, "
        f"{report.rows_skipped:,} lines skipped"
        + (f"; {report.rows_known:,} were imported before." if report.rows_known else ".")
    )
    show(report, summary, as_json=as_json)
