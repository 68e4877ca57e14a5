"""`productrecs tune`: shows a store's hyperparameters, or tunes them on its own history."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import click

from productrecs.core.clock import iso
from productrecs.entrypoints.cli.options_services_and_output import (
    data_option,
    json_option,
    open_services,
    parent_option,
    print_json,
    progress,
)
from productrecs.entrypoints.http.caches.store_cache import load_store, searchable_store
from productrecs.entrypoints.services import Services
from productrecs.features.search.product_search import hits_without_personalization
from productrecs.processes.process_messages import ParentConnection
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.training.trained_models import warm_up
from productrecs.training.tuning.hyperparameter_search import Hyperparameters
from productrecs.training.tuning.personal_search import SearchReplay
from productrecs.training.tuning.repository import HyperparameterRepository, TunedParameters
from productrecs.training.tuning.tune_store import tune_store

_STEPS: Final = 100
_POLITE: Final = 10
_TITLES: Final = {
    "companions": "what is bought together",
    "visits": "what comes next",
    "search": "personal search",
}


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
    """Choose the engines' hyperparameters on a store's own history.

    Usually unnecessary: the worker does it once a week in stores with enough history. A
    hyperparameter leaves its default only when past weeks show a clear gain.

    Example: productrecs tune shop.example.com
    """
    if parent is not None:
        os.nice(_POLITE)
    with open_services(data) as services:
        store = find_store(services.database, domain)
        if show:
            with services.database.reading() as connection:
                found = HyperparameterRepository(connection, store.store_id).last()
        elif parent is not None:
            warm_up()
            replay = _search_replay(services, store)
            tune_store(services.database, store, services.clock, parent.progress, replay)
            return
        else:
            warm_up()
            with progress("backtesting", _STEPS) as advance:
                shown_percent = 0

                def show_progress(share: float) -> None:
                    nonlocal shown_percent
                    advance(round(share * _STEPS) - shown_percent)
                    shown_percent = round(share * _STEPS)

                replay = _search_replay(services, store)
                found = tune_store(
                    services.database, store, services.clock, show_progress, replay
                )
    if as_json:
        print_json(_parameter_fields(found))
        return
    for line in _parameter_lines(found):
        click.echo(line)


def _search_replay(services: Services, store: Store) -> SearchReplay:
    opened, now_ms = load_store(services, store), services.clock()
    shop = searchable_store(opened)
    return SearchReplay(
        opened.traits.of, lambda text: hits_without_personalization(shop, text, now_ms)
    )


def _parameter_fields(found: TunedParameters | None) -> Mapping[str, object]:
    return {
        "chosen_at": None if found is None else iso(found.chosen_at),
        "engines": [] if found is None else list(found.engines),
        "changes": (Hyperparameters() if found is None else found.constants).changes(),
        "personal_search": _search_figures(found),
    }


def _search_figures(found: TunedParameters | None) -> Mapping[str, float] | None:
    if found is None or found.searches is None:
        return None
    _, searches, before, after = found.searches
    return {
        "searches": searches,
        "reciprocal_rank_for_anybody": before,
        "reciprocal_rank_personal": after,
    }


def _parameter_lines(found: TunedParameters | None) -> Iterator[str]:
    if found is None:
        yield "Nothing was tuned yet: the store uses the defaults."
        return
    yield f"Tuned at {iso(found.chosen_at)}; used from the next training on."
    for engine, changes in found.constants.changes().items():
        if engine not in found.engines:
            reason = "the defaults: not enough history"
        elif not changes:
            reason = "the defaults: nothing else was clearly better"
        else:
            reason = ", ".join(f"{name}={value:g}" for name, value in changes.items())
        yield f"  {_TITLES[engine]}: {reason}"
    if found.searches is not None:
        _, cases, before, after = found.searches
        yield (
            f"  on the newest {cases:,} searches of known shoppers, the clicked product's "
            f"mean reciprocal rank was {before:.3f} for anybody and {after:.3f} if personal"
        )
