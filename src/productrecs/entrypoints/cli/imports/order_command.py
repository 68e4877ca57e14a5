"""`productrecs import-orders`: imports a history of orders from a file."""

from pathlib import Path

import click

from productrecs.entrypoints.cli.command_context import (
    data_option,
    json_option,
    open_services,
)
from productrecs.entrypoints.cli.feeds.column_mapping import read_mapping
from productrecs.entrypoints.cli.imports.import_result import print_import_result
from productrecs.entrypoints.cli.imports.import_source import (
    open_import_source,
    table_format_options,
)
from productrecs.entrypoints.cli.imports.order_file_reader import (
    OrderFileFormat,
    open_orders,
)
from productrecs.entrypoints.cli.imports.order_import import (
    OrderDryRun,
    OrderImport,
)
from productrecs.entrypoints.cli.terminal_output import counted, progress
from productrecs.records.orders.row_report import HistoryReport
from productrecs.tenancy.accounts.store_management import find_store


@click.command()
@click.argument("domain")
@click.argument("file")
@table_format_options(OrderFileFormat, "orders")
@click.option(
    "--dry-run", is_flag=True, help=("Show what the file contains; change nothing.")
)
@click.option(
    "--timestamp-format",
    "pattern",
    help="The format of times, if it is not detected, such as %d/%m/%Y.",
)
@json_option
@data_option
def import_orders(  # noqa: PLR0913 - one argument for each option
    domain: str,
    file: str,
    *,
    kind: str | None,
    mapping: Path | None,
    dry_run: bool,
    pattern: str | None,
    as_json: bool,
    data: Path | None,
) -> None:
    """Import the order history FILE (a CSV, or - for standard input).

    Header: order_id,item_id[,customer_id][,timestamp][,quantity][,price]; or an order
    export of Shopify or WooCommerce. A line that was imported before is overwritten.

    Example: productrecs import-orders shop.example.com orders.csv
    """
    columns = read_mapping(mapping, "orders") if mapping else None
    with open_services(data) as services:
        store = find_store(services.database, domain)
        with open_import_source(file, services.settings.data) as source:
            chosen = OrderFileFormat(kind) if kind else None
            orders = open_orders(services, store, source.file, chosen, columns, pattern)
            with progress("orders", orders.written.size) as on_bytes:
                importing = OrderImport(services, store, orders, on_bytes, _note)
                take = importing.dry_run if dry_run else importing.run
                report = take(source.file)
    if orders.written.encoding == "cp1252":
        click.echo("This file is not UTF-8; it was read as Windows-1252.", err=True)
    _tell_times(report, dry_run=dry_run)
    if report.not_bought:
        left_out = ", ".join(f"{n:,} {why}" for why, n in report.not_bought.items())
        click.echo(
            (f"Rows of orders that are not purchases were skipped: {left_out}."), err=True
        )
    print_import_result(report, _summary(report), as_json=as_json)


def _note(text: str) -> None:
    click.echo(text, err=True)


def _tell_times(report: HistoryReport, *, dry_run: bool) -> None:
    """Print the rows whose time cannot be read, and how to set the format."""
    if not report.rows_undated:
        return
    undated = counted(report.rows_undated, "row")
    placed = "would be placed" if dry_run else "placed"
    click.echo(f"{undated} without a readable time: {placed} on today.", err=True)
    for one in report.undated:
        click.echo(f"row {one.row}: {one.message}", err=True)
    if report.undated:
        click.echo(
            "Set the format of times: --timestamp-format %d/%m/%Y for days first, "
            "%m/%d/%Y for months first, with %H:%M:%S for the time.",
            err=True,
        )


def _summary(report: HistoryReport) -> str:
    if isinstance(report, OrderDryRun):
        lines = counted(report.lines, "line")
        between = f", {report.first} to {report.last}," if report.first else ""
        return (
            f"{counted(report.rows, 'row')}: {lines} of {counted(report.orders, 'order')}"
            f"{between} would be imported, {report.rows_skipped:,} rows skipped; "
            f"{report.unknown_items:,} of {counted(report.items, 'product')} are not in "
            "the catalog."
        )
    return (
        f"{counted(report.rows, 'row')}: {report.lines_imported:,} lines imported, "
        f"{report.lines_updated:,} changed, {report.rows_skipped:,} rows skipped."
    )
