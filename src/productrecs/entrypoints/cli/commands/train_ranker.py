"""`productrecs learn-order`: trains a store's ranking on clicks, and evaluates it."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from productrecs.entrypoints.cli.options_services_and_output import (
    data_option,
    json_option,
    open_services,
    parent_option,
    print_json,
)
from productrecs.entrypoints.http.caches.store_cache import load_store
from productrecs.entrypoints.services import Services
from productrecs.processes.process_messages import ParentConnection
from productrecs.storage.job_queue import NewJob
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.training.repository import TrainingRepository
from productrecs.training.stores_due_for_ranker import MINIMUM_DATA
from productrecs.training.training_inputs import read_log
from productrecs.training.tuning.repository import HyperparameterRepository


@click.command()
@click.argument("domain")
@parent_option
@json_option
@data_option
def learn_order(
    domain: str, *, parent: ParentConnection | None, as_json: bool, data: Path | None
) -> None:
    """Learn the best order of a store's mix lists from impressions and clicks.

    The learned order is tested on the most recent lists and used only if it is better
    there. A store with 20,000 impressions and 2,000 clicks does this daily by itself.

    Example: productrecs learn-order shop.example.com
    """
    with open_services(data) as services:
        store = find_store(services.database, domain)
        found = _train(services, store)
    if parent is not None:
        return
    if as_json:
        print_json({"domain": domain, **found})
        return
    for line in ranking_result_lines(found):
        click.echo(line)


def ranking_result_lines(found: dict[str, Any]) -> Iterator[str]:
    """Return the result of ranker training, line by line."""
    counts = f"{found['shown']:,} products shown and {found['clicks']:,} clicks in 60 days"
    gain = found["gain"]
    if gain is None:
        needed = f"{MINIMUM_DATA.shown:,} and {MINIMUM_DATA.clicks:,} are needed"
        yield f"  not enough data: {counts}; {needed}"
        return
    yield f"  learned from {counts}; tested on the last {found['asked']:,} lists"
    interval = f"{gain['mean']:+.1%} [{gain['low']:+.1%}, {gain['high']:+.1%}]"
    verdict = (
        "better: it orders the lists" if found["serves"] else "the blend's order stays"
    )
    yield f"  clicked products ranked higher: {interval}: {verdict}"


def _train(services: Services, store: Store) -> dict[str, Any]:
    # The training libraries take half a second to import: load them only here.
    from productrecs.features.recommendations.ranker_training import (  # noqa: PLC0415
        RankerTrainingData,
        train_ranker,
    )

    with services.database.reading() as connection:
        inputs, _ = read_log(TrainingRepository(connection, store.store_id))
        constants = HyperparameterRepository(connection, store.store_id).constants()
    training_data = RankerTrainingData(
        store, load_store(services, store).shop.catalog, inputs, constants
    )
    found = train_ranker(services.database, training_data, services.clock())
    with services.database.transaction() as transaction:
        services.queue.enqueue(transaction, NewJob(store.store_id, "train"))
    return asdict(found)
