"""`productrecs demo`: a shop to look at, made on the first run, then served."""

import io
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import click

from productrecs.core.csv_cells import CsvWriter
from productrecs.entrypoints.cli.event_import import import_events
from productrecs.entrypoints.cli.item_import import import_items
from productrecs.entrypoints.cli.listening import listening_options, settings_of
from productrecs.entrypoints.cli.serve import supervise
from productrecs.entrypoints.cli.session import opened
from productrecs.entrypoints.cli.source import Source, progress
from productrecs.entrypoints.demo.habits import BUNDLES
from productrecs.entrypoints.demo.seeing import publish_looks, see_pictures
from productrecs.entrypoints.demo.store import ORDER_COLUMNS, SEED, generate
from productrecs.entrypoints.demo.storefront.pictures import (
    Pictures,
    drawing_ahead,
    pictures_folder,
)
from productrecs.entrypoints.services import Services
from productrecs.records.events.repository import EventRepository
from productrecs.records.orders.order_history import OrderHistory
from productrecs.tenancy.accounts.keys import SecretKey
from productrecs.tenancy.accounts.registration import (
    Registration,
    UnknownStoreError,
    delete_store,
    find_store,
    register,
    rotate_secret,
)
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.billing.plans import plan_named
from productrecs.training.fit import Workshop, train_store
from productrecs.training.inputs import TrainingInputs

DOMAIN: Final = "demo.localhost"
SETTINGS: Final = {
    "currency": "EUR",
    "timezone": "Europe/Berlin",
    "language": "en",
    "demand_forecast": "true",
}
SAMPLE: Final = BUNDLES[0].pieces[0][0]
"""A product that is always on sale, and often bought with others."""

_KIND: Final = "demo"
_EDITION: Final = 6
"""Of what the store holds: one made by an earlier edition of the program is made anew."""
_STEPS: Final = 6


@dataclass(frozen=True, slots=True)
class DemoShop:
    """The demo store with its secret key, made anew at each start to be shown."""

    store: Store
    secret: SecretKey


@click.command
@listening_options
def demo(
    host: str | None, port: int | None, data: Path | None, workers: int | None
) -> None:
    """Serve a demo shop with a year of history; it is made on the first run.

    Its storefront is at /demo.

    Stop it with Ctrl-C. The next run has the same store, with a new secret key.

    Example: productrecs demo --port 8080
    """
    settings = settings_of(host, port, data, workers)
    with opened(settings.data) as services:
        shop = prepared(services)
    sys.exit(
        supervise(
            settings,
            with_worker=True,
            announce=lambda address: tell(shop, address),
            storefront=DOMAIN,
        )
    )


def prepared(services: Services) -> DemoShop:
    """Return the demo store; made where it is missing, not whole, or of an old edition."""
    try:
        store = find_store(services.database, DOMAIN)
    except UnknownStoreError:
        return _made(services)
    with services.database.reading() as connection:
        mark = EventRepository(connection, store.store_id).lines_done(_KIND, _KIND)
    if mark is None or mark < _EDITION:
        delete_store(services.database, store)
        return _made(services)
    return DemoShop(store, rotate_secret(services.database, store))


def tell(shop: DemoShop, address: str) -> None:
    """Print where the demo is, its keys, and a line to try."""
    query = urlencode({"item_id": SAMPLE, "num": 4, "key": shop.store.publishable_key})
    click.echo(f"ProductRecs listens on {address} with the demo store {DOMAIN}")
    click.echo(f"the shop         {address}/demo")
    click.echo(f"publishable key  {shop.store.publishable_key}")
    click.echo(f"secret key       {shop.secret}")
    click.echo(f"curl '{address}/v1/recommendations?{query}'")


def _made(services: Services) -> DemoShop:
    began = time.monotonic()
    plan = plan_named(services.settings.plans, "unlimited")
    wanted = Registration(domain=DOMAIN, plan=plan, settings=SETTINGS)
    store, secret = register(services.database, wanted, services.clock)
    folder = pictures_folder(services.settings.data)
    with progress("making the demo store", _STEPS) as advance:
        with drawing_ahead(folder):
            _fill(services, store, advance)
        see_pictures(services, store, Pictures(folder))
        _mark_whole(services, store)
        advance(1)
    seconds = time.monotonic() - began
    click.echo(f"Made the demo store in {seconds:.0f} s.", err=True)
    return DemoShop(store, secret)


def _fill(services: Services, store: Store, advance: Callable[[int], None]) -> None:
    """Let a year of custom in by the doors that any merchant's data takes."""
    shop = generate(SEED, services.clock())
    advance(1)
    import_items(services, store, _json_lines(shop.items))
    advance(1)
    history = OrderHistory(
        services.database,
        services.numbers,
        store.store_id,
        store.settings.zone,
        services.clock(),
    )
    history.run(io.BytesIO(_csv(shop.order_rows)))
    advance(1)
    import_events(services, store, _json_lines(shop.events), _unheard)
    advance(1)
    workshop = Workshop(services.database, services.models, services.clock)
    train_store(workshop, store, TrainingInputs(), lambda _share: None)
    publish_looks(services, store)
    advance(1)


def _mark_whole(services: Services, store: Store) -> None:
    with services.database.transaction() as transaction:
        repository = EventRepository(transaction, store.store_id)
        repository.set_lines_done(_KIND, _KIND, _EDITION, services.clock())


def _json_lines(rows: Iterable[Mapping[str, object]]) -> Source:
    content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    return Source(io.BytesIO(content), ".jsonl", len(content))


def _csv(rows: Sequence[Mapping[str, str]]) -> bytes:
    text = io.StringIO()
    writer = CsvWriter(text, ORDER_COLUMNS)
    for row in rows:
        writer.write(row[name] for name in ORDER_COLUMNS)
    return text.getvalue().encode()


def _unheard(_bytes: int) -> None:
    """Take no notice of progress within a step."""
