"""`productrecs pictures`: a store's pictures, failed fetches and their retry."""

from dataclasses import asdict
from pathlib import Path

import click

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.core.clock import system_ms
from productrecs.records.pictures.repository import PictureRepository


@click.group()
def pictures() -> None:
    """Show and control how the service fetches and indexes the items' pictures."""


@pictures.command()
@click.argument("domain")
@click.option(
    "--limit", type=click.IntRange(0), default=20, help=("The most failures to show.")
)
@json_option
@data_option
def status(domain: str, *, limit: int, as_json: bool, data: Path | None) -> None:
    """Show how many pictures are indexed and waiting, and which failed and why.

    Example: productrecs pictures status shop.example.com
    """
    with (
        open_store(data, domain) as (services, store),
        services.database.reading() as connection,
    ):
        repository = PictureRepository(connection, store.store_id)
        counts, failures = repository.counts(), repository.failures(limit)
    if as_json:
        print_json(
            {**asdict(counts), "failures": [asdict(failure) for failure in failures]}
        )
        return
    summary = f"{counts.indexed:,} indexed, {counts.pending:,} waiting"
    click.echo(f"{summary}, {counts.failed:,} failed")
    for failure in failures:
        retry_note = "" if failure.is_final else " (will be retried)"
        click.echo(f"{failure.item_id}: {failure.reason}{retry_note}: {failure.url}")


@pictures.command()
@click.argument("domain")
@data_option
def retry(domain: str, *, data: Path | None) -> None:
    """Fetch every failed picture again now."""
    with (
        open_store(data, domain) as (services, store),
        services.database.transaction() as transaction,
    ):
        repository = PictureRepository(transaction, store.store_id)
        count = repository.retry_failed(system_ms())
    click.echo(f"{count:,} pictures will be fetched again.")
