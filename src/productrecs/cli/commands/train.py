"""`productrecs train`: trains a store's models now, here or on a cluster."""

import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import click

from productrecs.cli.open_services import open_services
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json, progress
from productrecs.engines.partition_jobs import HERE, JobRunner
from productrecs.engines.registry import TRAINING_CHOICES
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.training.dask_cluster import open_cluster
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import TrainingDeps, train_store

_STEPS = 100


@click.command()
@click.argument("domain")
@click.option(
    "--engine",
    type=click.Choice(TRAINING_CHOICES),
    default="both",
    show_default=True,
    help="The engine that must be current; one training updates all engines.",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="The scheduler of a Dask cluster that fits the models, as tcp://10.0.0.5:8786.",
)
@json_option
@data_option
def train(
    domain: str, engine: str, cluster: str | None, *, as_json: bool, data: Path | None
) -> None:
    """Train a store's models now; a running server serves them within a second.

    Usually unnecessary: the worker trains by itself, at most a minute behind.

    Example: productrecs train shop.example.com --engine buy
    """
    with open_services(data) as services:
        store = find_store(services.database, domain)
        dependencies = TrainingDeps(
            services.database, services.models, services.clock, services.snapshots
        )
        began = time.monotonic()
        runner_context: AbstractContextManager[JobRunner] = (
            nullcontext(HERE) if cluster is None else open_cluster(cluster)
        )
        with runner_context as runner, progress("training", _STEPS) as advance:
            shown_percent = 0

            def show_progress(share: float) -> None:
                nonlocal shown_percent
                advance(round(share * _STEPS) - shown_percent)
                shown_percent = round(share * _STEPS)

            inputs = TrainingInputs(services.models)
            model = train_store(dependencies, store, inputs, show_progress, runner=runner)
        seconds = time.monotonic() - began
    if as_json:
        print_json(
            {"engine": engine, "model": model.model_id, "seconds": round(seconds, 3)}
        )
    else:
        click.echo(f"Trained {store.domain} in {seconds:.1f} s: model {model.model_id}.")
