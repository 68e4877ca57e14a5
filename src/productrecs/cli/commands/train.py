"""`productrecs train`: trains a store's models now."""

import time
from pathlib import Path

import click

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json, share_progress_bar
from productrecs.engines.registry import TRAINING_CHOICES
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import TrainingDeps, train_store


@click.command()
@click.argument("domain")
@click.option(
    "--engine",
    type=click.Choice(TRAINING_CHOICES),
    default="both",
    show_default=True,
    help="The engine that must be current; one training updates all engines.",
)
@json_option
@data_option
def train(domain: str, engine: str, *, as_json: bool, data: Path | None) -> None:
    """Train a store's models now; a running server serves them within a second.

    Usually unnecessary: the worker trains by itself, at most a minute behind.

    Example: productrecs train shop.example.com --engine buy
    """
    with open_store(data, domain) as (services, store):
        dependencies = TrainingDeps(
            services.database, services.models, services.clock, services.snapshots
        )
        began = time.monotonic()
        with share_progress_bar("training") as show_share:
            inputs = TrainingInputs(services.models)
            model = train_store(dependencies, store, inputs, show_share)
        seconds = time.monotonic() - began
    if as_json:
        print_json(
            {"engine": engine, "model": model.model_id, "seconds": round(seconds, 3)}
        )
    else:
        click.echo(f"Trained {store.domain} in {seconds:.1f} s: model {model.model_id}.")
