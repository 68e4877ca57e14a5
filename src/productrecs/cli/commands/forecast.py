"""`productrecs forecast`: forecasts a store's demand now."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option, parent_option
from productrecs.cli.output import print_json, share_progress_bar
from productrecs.processes.process_messages import ParentConnection
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store
from productrecs.training.demand.repository import StoredForecastRun

_MAX_THREADS: Final = 4


@click.command()
@click.argument("domain")
@parent_option
@json_option
@data_option
def forecast(
    domain: str, *, parent: ParentConnection | None, as_json: bool, data: Path | None
) -> None:
    """Forecast a store's demand now: the next 28 days of every product.

    A store with the demand add-on (store enable-demand) is forecast each night anyway.

    Example: productrecs forecast shop.example.com
    """
    with open_store(data, domain) as (services, store):
        if parent is not None:
            _forecast_and_replay_orders(services, store, parent.report_progress)
            return
        with share_progress_bar("forecasting") as show_share:
            run = _forecast_and_replay_orders(services, store, show_share)
    if as_json:
        print_json(
            {
                "items": run.items,
                "learned": run.learned,
                "target_mode": run.target_mode,
                "accuracy": run.accuracy,
                "seconds": run.seconds,
            }
        )
        return
    click.echo(
        f"Forecast {run.items} products of {store.domain} in {run.seconds:.1f} s, "
        f"{run.learned} of them with the learned model, in "
        f"{run.target_mode.replace('_', ' ')}."
    )
    if not store.settings.demand_forecast:
        click.echo(
            "The forecast is not visible yet: productrecs store enable-demand "
            f"{store.domain}"
        )


def _forecast_and_replay_orders(
    services: Services, store: Store, show_progress: Callable[[float], None]
) -> StoredForecastRun:
    # The training libraries take half a second to import: load them only here.
    from productrecs.features.forecast.order_sheet_replay import (  # noqa: PLC0415
        replay_order_rules_and_store_result,
    )
    from productrecs.training.demand.forecast_run import forecast_and_publish  # noqa: PLC0415

    threads = min(os.cpu_count() or 1, _MAX_THREADS)
    run = forecast_and_publish(
        services.database, store, services.clock, show_progress, threads
    )
    replay_order_rules_and_store_result(services.database, store, services.clock())
    return run
