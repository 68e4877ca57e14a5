"""By which constants does a store learn, and by which should it?"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import click

from productrecs.core.clock import iso
from productrecs.entrypoints.cli.parent import end_with_parent
from productrecs.entrypoints.cli.session import (
    data_option,
    json_option,
    opened,
    print_json,
)
from productrecs.entrypoints.cli.source import progress
from productrecs.features.recommendations.warming import warm_up
from productrecs.tenancy.accounts.registration import find_store
from productrecs.training.constants.choose import choose_constants
from productrecs.training.constants.constants import Constants
from productrecs.training.constants.repository import Chosen, ConstantsRepository

_STEPS: Final = 100
_POLITE: Final = 10
_TITLES: Final = {"companions": "what is bought together", "visits": "what comes next"}


@click.command()
@click.argument("domain")
@click.option("--show", is_flag=True, help="Only show what the store learns by.")
@click.option("--lines", is_flag=True, hidden=True)
@json_option
@data_option
def tune(domain: str, *, show: bool, lines: bool, as_json: bool, data: Path | None) -> None:
    """Choose on a store's own past by which constants its engines learn.

    Usually unnecessary: the worker does it once a week in stores with enough history. A
    hyperparameter leaves its default only where past weeks show a clear gain.

    Example: productrecs tune shop.example.com
    """
    if lines:
        end_with_parent()
        os.nice(_POLITE)
    with opened(data) as services:
        store = find_store(services.database, domain)
        if show:
            with services.database.reading() as connection:
                found = ConstantsRepository(connection, store.store_id).last()
        elif lines:
            warm_up()
            choose_constants(
                services.database,
                store,
                services.clock,
                lambda share: click.echo(f"{share:.4f}"),
            )
            return
        else:
            warm_up()
            with progress("asking the past", _STEPS) as advance:
                done = 0

                def tell(share: float) -> None:
                    nonlocal done
                    advance(round(share * _STEPS) - done)
                    done = round(share * _STEPS)

                found = choose_constants(services.database, store, services.clock, tell)
    if as_json:
        print_json(_told(found))
        return
    for line in _said(found):
        click.echo(line)


def _told(found: Chosen | None) -> Mapping[str, object]:
    return {
        "chosen_at": None if found is None else iso(found.chosen_at),
        "engines": [] if found is None else list(found.engines),
        "changes": (Constants() if found is None else found.constants).changes(),
    }


def _said(found: Chosen | None) -> Iterator[str]:
    if found is None:
        yield "Nothing was chosen yet: the store learns by the defaults."
        return
    yield f"Chosen {iso(found.chosen_at)}; a training from then on learns by it."
    for engine, changes in found.constants.changes().items():
        if engine not in found.engines:
            said = "the defaults: too little past to tell"
        elif not changes:
            said = "the defaults: nothing else was clearly better"
        else:
            said = ", ".join(f"{name}={value:g}" for name, value in changes.items())
        yield f"  {_TITLES[engine]}: {said}"
