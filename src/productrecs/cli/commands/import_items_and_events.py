"""`productrecs import-items` and `productrecs import-events`: items and events from files.

Both are idempotent and may be interrupted: stored rows stay, and none is stored twice.
"""

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

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
from productrecs.features.imports.event_import import import_event_file
from productrecs.features.imports.feeds.column_mapping import read_mapping_file
from productrecs.features.imports.feeds.format_detection import ItemFileFormat
from productrecs.features.imports.import_report import DryRunSample, ItemImportReport
from productrecs.features.imports.import_source import open_import_source
from productrecs.features.imports.item_import import ItemImportOptions
from productrecs.features.imports.item_import import import_items as push_items
from productrecs.records.catalog.price_lists import PriceListNameError, parse_list_name


@click.command()
@click.argument("domain")
@click.argument("file")
@table_format_options(ItemFileFormat, "items")
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.option(
    "--base-url",
    help=(
        "The start of product addresses, for exports that have none (default: https:// "
        "and the store's domain)."
    ),
)
@click.option(
    "--each-variant",
    is_flag=True,
    help="Keep every variant of a Google feed as an item of its own.",
)
@click.option(
    "--price-list",
    callback=lambda _context, _option, name: _parse_price_list(name),
    help=(
        "Store only the prices, in this list (such as USD or group:trade), of products "
        "that are in the catalog."
    ),
)
@json_option
@data_option
def import_items(  # noqa: PLR0913 - one argument for each option
    domain: str,
    file: str,
    *,
    kind: str | None,
    mapping: Path | None,
    dry_run: bool,
    base_url: str | None,
    each_variant: bool,
    price_list: str,
    as_json: bool,
    data: Path | None,
) -> None:
    r"""Import the items of FILE (- for standard input), whatever program wrote it.

    CSV with the item's field names as headers and | between categories, JSON, JSON
    lines; product exports of WooCommerce, Shopify and Magento; Google Merchant feeds
    (XML or a table); any other table with a --mapping.

    Example: productrecs import-items shop.example.com products.csv --dry-run
    """
    options = ItemImportOptions(
        kind=ItemFileFormat(kind) if kind else None,
        address=_parse_base_url(base_url),
        each_variant=each_variant,
        mapping=read_mapping_file(mapping, "items") if mapping else None,
        price_list=price_list,
        dry_run=dry_run,
    )
    with (
        open_store(data, domain) as (services, store),
        open_import_source(file, services.imports.folder) as source,
    ):
        if dry_run:
            report = push_items(services.imports, store, source, options, progress_bar)
        else:
            with record_import(
                services.imports, store, file, source.size, "items"
            ) as recorded:
                recorded_options = replace(options, changes=recorded.changes)
                report = push_items(
                    services.imports, store, source, recorded_options, progress_bar
                )
                recorded.set_result(report)
    _print_items_result_or_fail(report, dry_run=dry_run, as_json=as_json)


def _parse_base_url(base_url: str | None) -> str | None:
    """Return the base address without its last slash, or None.

    Raises:
        click.BadParameter: when it is not a web address.
    """
    if base_url is None:
        return None
    parts = urlsplit(base_url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        message = "a web address such as https://shop.example.com"
        raise click.BadParameter(message, param_hint="--base-url")
    return base_url.rstrip("/")


def _parse_price_list(name: str | None) -> str:
    """Return the name of a price list; empty without one.

    Raises:
        click.BadParameter: when it has an invalid form.
    """
    try:
        return str(parse_list_name(name)) if name else ""
    except PriceListNameError as error:
        raise click.BadParameter(str(error), param_hint="--price-list") from error


def _print_items_result_or_fail(
    report: ItemImportReport, *, dry_run: bool, as_json: bool
) -> None:
    would_be = "would be " if dry_run else ""
    row_noun = "row" if report.folded else "item"
    parts = [
        f"{report.created:,} {would_be}created",
        f"{report.updated:,} {would_be}updated",
        f"{report.rows_skipped:,} skipped",
    ]
    if report.folded:
        parts.append(f"{report.folded:,} merged into these as variants or pictures")
    if report.hidden:
        parts.append(f"{report.hidden:,} not published and left out")
    verb = "would have" if dry_run else "has"
    for note in report.notes:
        click.echo(note, err=True)
    if dry_run and not as_json:
        for sample in report.would:
            click.echo(f"row {sample.row} would {sample.change} {_sample_line(sample)}")
    summary = (
        f"{counted(report.rows, row_noun)}: {', '.join(parts)}; "
        f"the catalog {verb} {report.total:,}."
    )
    print_import_result_or_fail(report, summary, as_json=as_json)


def _sample_line(sample: DryRunSample) -> str:
    """Return an item on one line: its id and its short fields."""
    fields = {
        name: value
        for name, value in sample.fields.items()
        if value not in (None, "", ()) and name != "description"
    }
    return f"{sample.id}: {json.dumps(fields, ensure_ascii=False)}"


@click.command()
@click.argument("domain")
@click.argument("file")
@json_option
@data_option
def import_events(domain: str, file: str, *, as_json: bool, data: Path | None) -> None:
    """Import past events from FILE (JSON lines, or - for standard input).

    Each line is an event as POST /v1/events takes it, with its own ISO "timestamp".

    Example: productrecs import-events shop.example.com events.jsonl
    """
    with (
        open_store(data, domain) as (services, store),
        open_import_source(file, services.imports.folder, may_be_empty=True) as source,
        progress_bar("events", source.size) as on_bytes,
    ):
        report = import_event_file(services.imports, store, source, on_bytes)
    summary = (
        f"{counted(report.rows, 'line')}: {counted(report.events_stored, 'event')} stored, "
        f"{report.rows_skipped:,} lines skipped"
        + (f"; {report.rows_known:,} were imported before." if report.rows_known else ".")
    )
    print_import_result_or_fail(report, summary, as_json=as_json)
