"""Can what shoppers click order a store's lists, and is that better?"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from productrecs.entrypoints.cli.parent import end_with_parent
from productrecs.entrypoints.cli.session import (
    data_option,
    json_option,
    opened,
    print_json,
)
from productrecs.entrypoints.http.shops import read_shop
from productrecs.entrypoints.services import Services
from productrecs.storage.job_queue import NewJob
from productrecs.tenancy.accounts.registration import find_store
from productrecs.tenancy.accounts.store import Store
from productrecs.training.constants.repository import ConstantsRepository
from productrecs.training.inputs import whole_log
from productrecs.training.ranking.due import ENOUGH
from productrecs.training.repository import TrainingRepository


@click.command()
@click.argument("domain")
@click.option("--lines", is_flag=True, hidden=True)
@json_option
@data_option
def learn_order(domain: str, *, lines: bool, as_json: bool, data: Path | None) -> None:
    """Learn from a store's impressions and clicks in which order its mix lists do best.

    It is tried on the lists that came last, and serves only where it was better there. A
    store with 20,000 impressions and 2,000 clicks does this once a day by itself.

    Example: productrecs learn-order shop.example.com
    """
    if lines:
        end_with_parent()
    with opened(data) as services:
        store = find_store(services.database, domain)
        found = _learned(services, store)
    if as_json:
        print_json({"domain": domain, **found})
        return
    for line in told_lines(found):
        click.echo(line)


def told_lines(found: dict[str, Any]) -> Iterator[str]:
    """Give what was found of an order, line by line."""
    there = f"{found['shown']:,} products shown and {found['clicks']:,} clicks in 60 days"
    gain = found["gain"]
    if gain is None:
        needed = f"{ENOUGH.shown:,} and {ENOUGH.clicks:,} are needed"
        yield f"  too little data to tell: {there}; {needed}"
        return
    yield f"  learned from {there}; tried on the last {found['asked']:,} lists"
    interval = f"{gain['mean']:+.1%} [{gain['low']:+.1%}, {gain['high']:+.1%}]"
    verdict = (
        "better: it orders the lists" if found["serves"] else "the blend's order stays"
    )
    yield f"  what was taken up stood further up: {interval}: {verdict}"


def _learned(services: Services, store: Store) -> dict[str, Any]:
    # Half a second and what it learns with: only for who learns.
    from productrecs.features.recommendations.learning import (  # noqa: PLC0415
        Past,
        learn_order,
    )

    with services.database.reading() as connection:
        inputs, _ = whole_log(TrainingRepository(connection, store.store_id))
        constants = ConstantsRepository(connection, store.store_id).constants()
    past = Past(store, read_shop(services, store).shop.catalog, inputs, constants)
    found = learn_order(services.database, past, services.clock())
    with services.database.transaction() as transaction:
        services.queue.enqueue(transaction, NewJob(store.store_id, "train"))
    return asdict(found)
