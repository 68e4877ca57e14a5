"""`productrecs tune`: shows a store's hyperparameters, or tunes them on its own history."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import click

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option, parent_option
from productrecs.cli.output import print_json, share_progress_bar
from productrecs.core.timestamps import iso
from productrecs.engines.copurchase import CopurchaseOptions
from productrecs.processes.process_messages import ParentConnection
from productrecs.training.tuning.repository import (
    HyperparameterRepository,
    TunedParameters,
    changes_from_defaults,
)
from productrecs.training.tuning.tune_store import tune_store

_POLITE: Final = 10


@click.command()
@click.argument("domain")
@click.option("--show", is_flag=True, help="Only show the store's hyperparameters.")
@parent_option
@json_option
@data_option
def tune(
    domain: str,
    *,
    show: bool,
    parent: ParentConnection | None,
    as_json: bool,
    data: Path | None,
) -> None:
    """Choose how `buy` ranks for one product, on a store's own orders.

    Usually unnecessary: the worker does it once a week in stores with enough history. A
    hyperparameter leaves its default only when past weeks show a clear gain.

    Example: productrecs tune shop.example.com
    """
    if parent is not None:
        os.nice(_POLITE)
    with open_store(data, domain) as (services, store):
        if show:
            with services.database.reading() as connection:
                tuned = HyperparameterRepository(connection, store.store_id).last_tuned()
        elif parent is not None:
            tune_store(services.database, store, services.clock, parent.report_progress)
            return
        else:
            with share_progress_bar("backtesting") as show_share:
                tuned = tune_store(services.database, store, services.clock, show_share)
    if as_json:
        print_json(_parameter_fields(tuned))
        return
    for line in _parameter_lines(tuned):
        click.echo(line)


def _parameter_fields(tuned: TunedParameters | None) -> Mapping[str, object]:
    options = None if tuned is None else tuned.options
    return {
        "chosen_at": None if tuned is None else iso(tuned.chosen_at),
        "engines": [] if options is None else ["companions"],
        "changes": {"companions": changes_from_defaults(options or CopurchaseOptions())},
    }


def _parameter_lines(tuned: TunedParameters | None) -> Iterator[str]:
    if tuned is None:
        yield "Nothing was tuned yet: the store uses the defaults."
        return
    yield f"Tuned at {iso(tuned.chosen_at)}; used from the next training on."
    reason = "the defaults: not enough history"
    if tuned.options is not None:
        changes = changes_from_defaults(tuned.options)
        reason = ", ".join(f"{name}={value:g}" for name, value in changes.items())
        reason = reason or "the defaults: nothing else was clearly better"
    yield f"  what is bought together: {reason}"
