"""`productrecs import-orders`: a file of past orders."""

from dataclasses import replace
from pathlib import Path

import click

from productrecs.cli.commands.import_options_and_result import (
    print_import_result_or_fail,
    table_format_options,
)
from productrecs.cli.commands.record_import import record_import
from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import progress_bar
from productrecs.core.plural import counted
from productrecs.features.imports.feeds.column_mapping import read_mapping_file
from productrecs.features.imports.import_source import ImportSource, open_import_source
from productrecs.features.imports.order_file_reader import (
    OrderFileFormat,
    inspect_order_file,
)
from productrecs.features.imports.order_import import OrderDryRunReport, OrderImport
from productrecs.records.orders.order_history_import import OrderHistoryImportReport


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
@click.option(
    "--ordered-today",
    is_flag=True,
    help="Import new lines without a readable time as orders of today.",
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
    ordered_today: bool,
    as_json: bool,
    data: Path | None,
) -> None:
    """Import the order history FILE (a CSV, or - for standard input).

    Header: order_id,item_id,timestamp[,customer_id][,quantity][,price][,currency], or
    their names in shop systems and other languages; or an order export of Shopify or
    WooCommerce. A line that was imported before is overwritten.

    Example: productrecs import-orders shop.example.com orders.csv
    """
    columns = read_mapping_file(mapping, "orders") if mapping else None
    with (
        open_store(data, domain) as (services, store),
        open_import_source(file, services.imports.folder) as source,
    ):
        file_format = OrderFileFormat(kind) if kind else None
        orders = inspect_order_file(
            services.imports, store, source.file, file_format, columns, pattern
        )
        with progress_bar("orders", orders.csv_format.size) as on_bytes:
            order_import = OrderImport(
                services.imports,
                store,
                orders,
                on_bytes,
                _print_note,
                ordered_today=ordered_today,
            )
            report = _run_recorded_or_dry_run(order_import, source, "" if dry_run else file)
    if orders.csv_format.encoding == "cp1252":
        click.echo("This file is not UTF-8; it was read as Windows-1252.", err=True)
    if ordered_today:
        _print_undated_rows(report, dry_run=dry_run)
    if report.not_bought:
        omitted = ", ".join(f"{n:,} {reason}" for reason, n in report.not_bought.items())
        click.echo(
            (f"Rows of orders that are not purchases were skipped: {omitted}."), err=True
        )
    print_import_result_or_fail(report, _import_summary(report), as_json=as_json)


def _run_recorded_or_dry_run(
    order_import: OrderImport, source: ImportSource, recorded_name: str
) -> OrderHistoryImportReport:
    """Run an import, recorded as `recorded_name`; without a name a dry run."""
    if not recorded_name:
        return order_import.dry_run(source.file)
    services, store = order_import.services, order_import.store
    with record_import(services, store, recorded_name, source.size, "orders") as recorded:
        report = replace(order_import, changes=recorded.changes).run(source.file)
        recorded.set_result(report)
    return report


def _print_note(text: str) -> None:
    click.echo(text, err=True)


def _print_undated_rows(report: OrderHistoryImportReport, *, dry_run: bool) -> None:
    """Print the rows whose time cannot be read, and how to set the format."""
    if not report.rows_undated:
        return
    undated_text = counted(report.rows_undated, "row")
    placed_text = "would be placed" if dry_run else "placed"
    click.echo(f"{undated_text} without a readable time: {placed_text} on today.", err=True)
    for row_error in report.undated:
        click.echo(f"row {row_error.row}: {row_error.message}", err=True)
    if report.undated:
        click.echo(
            "Set the format of times: --timestamp-format %d/%m/%Y for days first, "
            "%m/%d/%Y for months first, with %H:%M:%S for the time.",
            err=True,
        )


def _import_summary(report: OrderHistoryImportReport) -> str:
    if isinstance(report, OrderDryRunReport):
        lines = counted(report.lines, "line")
        period = f", {report.first} to {report.last}," if report.first else ""
        repeated_text = f" ({report.lines_repeated:,} of them repeated in the file)"
        return (
            f"{counted(report.rows, 'row')}: {lines} of {counted(report.orders, 'order')}"
            f"{period} would be imported{repeated_text if report.lines_repeated else ''}, "
            f"{report.rows_skipped:,} rows skipped; "
            f"{report.unknown_items:,} of {counted(report.items, 'product')} are not in "
            "the catalog."
        )
    return (
        f"{counted(report.rows, 'row')}: {report.lines_imported:,} lines imported, "
        f"{report.lines_updated:,} changed, {report.rows_skipped:,} rows skipped."
    )
