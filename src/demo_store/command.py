"""`productrecs demo`: creates a demo shop on the first run, then serves it."""

import contextlib
import io
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import click

from demo_store.generator import (
    DOMAIN,
    ORDER_COLUMNS,
    SEED,
    GeneratedStore,
    generate_demo_store,
)
from demo_store.picture_indexing import (
    draw_and_index_in_own_process,
    list_unindexed_pictures,
    queue_pictures_without_fetch,
)
from demo_store.placements import create_placements
from demo_store.publish_looks import publish_looks_and_set_title
from demo_store.shopping_patterns import BUNDLES
from demo_store.simulated_visit import Event
from demo_store.storefront.application import Storefront
from demo_store.storefront.picture_files import (
    LOOK_PICTURES,
    PictureFileCache,
    draw_in_background,
    pictures_folder,
)
from productrecs.cli.commands.dashboard_logins import create_first_store_link
from productrecs.cli.open_services import (
    open_and_migrate_services,
    refuse_second_installation,
)
from productrecs.cli.processes.listening_options import (
    listening_options,
    settings_from_options,
)
from productrecs.cli.processes.listening_socket import (
    ListenError,
    open_listening_socket,
)
from productrecs.cli.processes.serve import supervise
from productrecs.cli.processes.service_lock import lock_data_folder
from productrecs.core.csv_writer import CsvWriter
from productrecs.core.errors import StorageError
from productrecs.core.ids import random_text, visitor_hash
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.features.attribution.attributor import Attributor
from productrecs.features.experiments.experiment_measurement import (
    holdout_design,
    measure_and_store_test,
)
from productrecs.features.imports.event_import import CHUNK
from productrecs.features.imports.import_source import ImportSource
from productrecs.features.imports.item_import import import_items
from productrecs.features.search.relevance.relevance_monitoring import (
    judge_clicks_and_store_measure,
)
from productrecs.records.events.repository import EventRepository
from productrecs.records.experiments.arm_assignment import (
    Exposure,
    HoldoutArm,
    draw_arm,
    holdout_split,
)
from productrecs.records.experiments.exposures.repository import store_exposures
from productrecs.records.merchandising.rule import RuleAction, RuleContent, RuleTarget
from productrecs.records.merchandising.rule_editor import RuleEditor
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.records.orders.order_history_import import OrderHistoryImport
from productrecs.records.search_counts.repository import SearchCountRepository
from productrecs.records.search_counts.search_counter import ObservedSearch, count_by_intent
from productrecs.schemas.events import parse_imported_event
from productrecs.services import Services
from productrecs.serving.cached_store import load_store, searchable_store
from productrecs.settings import Settings
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.api_keys import SecretKey
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    Registration,
    UnknownStoreError,
    delete_store,
    find_or_create_owner,
    find_store,
    register_store,
    rotate_secret,
)
from productrecs.tenancy.billing.plans_and_subscriptions import find_plan
from productrecs.tenancy.users.login_and_sessions import (
    create_reset_token,
    reset_password_and_join_logins,
)
from productrecs.tenancy.users.logins.repository import EmailTakenError
from productrecs.training.search.indexer import Indexer
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import TrainingDeps, train_store

SETTINGS: Final = {
    "currency": "EUR",
    "timezone": "Europe/Berlin",
    "language": "en",
    "demand_forecast": "true",
    "holdout_test": "lists",
}
HOLDOUT_PERCENT: Final = 20.0
TEST: Final = holdout_split("lists", HOLDOUT_PERCENT)
"""The holdout test of the demo's last months; it has ended."""

SAMPLE: Final = BUNDLES[0].item_probabilities[0][0]
"""A product that is always on sale and often bought with others."""

LOGIN: Final = "demo@example.com"
"""The e-mail of the demo store's owner."""
_PASSWORD_LENGTH: Final = 12

_KIND: Final = "demo"
_EDITION: Final = 12
"""The version of the store's content: a store of an older version is recreated."""
_SEASON_AHEAD_DAYS: Final = 14
_SEASON_DAYS: Final = 60


@dataclass(frozen=True, slots=True)
class DemoStoreAccess:
    """The demo store, its login, and its secret key, which is replaced at each start."""

    store: Store
    secret: SecretKey
    login: str
    password: str


@click.command
@listening_options
def demo(
    host: str | None, port: int | None, data: Path | None, workers: int | None
) -> None:
    """Serve a demo shop with a year of history; it is made on the first run.

    Its storefront is at /demo, its dashboard at /dashboard; the login is printed.

    Stop it with Ctrl-C. The next run has the same store, with a new secret key.

    Example: productrecs demo --port 8080
    """
    settings = settings_from_options(host, port, data, workers)
    refuse_second_installation(settings)
    _check_port_is_free(settings)
    address = f"http://{settings.host}:{settings.port}"
    with (
        open_and_migrate_services(settings) as services,
        lock_data_folder(settings, address),
    ):
        shop = prepare_store_and_reset_access(services)
        are_pictures_indexed = not list_unindexed_pictures(services, shop.store)

    def announce(_settings: Settings, address: str) -> None:
        print_access_and_first_store_link(shop, address, settings)
        if not are_pictures_indexed:
            click.echo("Search by photo and similar products follow within a minute.")
            process.enter_context(draw_and_index_in_own_process(settings.data))

    with contextlib.ExitStack() as process:
        status = supervise(
            settings,
            with_worker=True,
            announce=announce,
            middleware=f"{Storefront.__module__}:{Storefront.__qualname__}",
        )
    sys.exit(status)


def _check_port_is_free(settings: Settings) -> None:
    """Check the address first, because creating the shop takes a while.

    Raises:
        ListenError: when the process cannot listen on the address.
    """
    try:
        open_listening_socket(settings.host, settings.port).close()
    except ListenError as error:
        example = f"make run ARGS='--port {settings.port + 1}'"
        message = f"{error} (such as {example})"
        raise ListenError(message) from error


def prepare_store_and_reset_access(services: Services) -> DemoStoreAccess:
    """Return the demo store; create it if missing, incomplete or of an old version."""
    try:
        store = find_store(services.database, DOMAIN)
    except UnknownStoreError:
        return _create_demo_store(services)
    with services.database.reading() as connection:
        progress = EventRepository(connection, store.store_id).lines_imported(_KIND, _KIND)
    if progress is None or progress < _EDITION:
        delete_store(services.database, store)
        return _create_demo_store(services)
    secret = rotate_secret(services.database, store)
    return DemoStoreAccess(store, secret, *_reset_login(services, store))


def print_access_and_first_store_link(
    shop: DemoStoreAccess, address: str, settings: Settings
) -> None:
    """Print the demo's addresses, its keys, an example call and a link to a first store."""
    query = urlencode({"item_id": SAMPLE, "num": 4, "key": shop.store.publishable_key})
    click.echo(f"ProductRecs listens on {address} with the demo store {DOMAIN}")
    click.echo(f"the shop         {address}/demo")
    click.echo(f"the dashboard    {address}/dashboard")
    click.echo(f"log in as        {shop.login}, password {shop.password}")
    click.echo(f"publishable key  {shop.store.publishable_key}")
    click.echo(f"secret key       {shop.secret}")
    with contextlib.suppress(StorageError):  # `productrecs account invite` makes one
        if link := create_first_store_link(settings, address, other_domains={DOMAIN}):
            click.echo(f"a store of yours {link}")
    click.echo(f"curl '{address}/v1/recommendations?{query}'")


def _create_demo_store(services: Services) -> DemoStoreAccess:
    began = time.monotonic()
    plan = find_plan(services.settings.plans, "unlimited")
    registration = Registration(domain=DOMAIN, plan=plan, settings=SETTINGS)
    store, secret = register_store(services.database, registration, services.clock)
    folder = pictures_folder(services.settings.data)
    with draw_in_background(folder, LOOK_PICTURES):
        _generate_import_and_train(services, store)
    _print_step("measuring search")
    _measure_search(services, store)
    _mark_complete(services, store)
    seconds = time.monotonic() - began
    click.echo(f"Made the demo store in {seconds:.0f} s.", err=True)
    return DemoStoreAccess(store, secret, *_reset_login(services, store))


def _print_step(step: str) -> None:
    """Print the next step: in a terminal and in a file, so that nobody waits unknowing."""
    click.echo(f"Making the demo store: {step}.", err=True)


def _reset_login(services: Services, store: Store) -> tuple[str, str]:
    """Set a new random password, as the demo may be public; return e-mail and password."""
    password = random_text(_PASSWORD_LENGTH)
    try:
        owner = find_or_create_owner(services.database, store, LOGIN)
    except EmailTakenError:  # the login of an earlier demo store has other stores
        owner = find_or_create_owner(services.database, store, f"owner@{DOMAIN}")
    now_ms = services.clock()
    token = create_reset_token(services.database, owner, now_ms)
    reset_password_and_join_logins(services.database, token, password, now_ms)
    return owner.email or DOMAIN, password


def _generate_import_and_train(services: Services, store: Store) -> None:
    """Import a year of data through the same code as any merchant's data."""
    _print_step("inventing products and a year of shoppers")
    shop = generate_demo_store(
        SEED,
        services.clock(),
        lambda unit: draw_arm(store.store_id, TEST, unit) is HoldoutArm.HELD_OUT,
    )
    _print_step("importing products")
    import_items(services.imports, store, _json_lines_source(shop.items))
    queue_pictures_without_fetch(services, store)
    _print_step("importing visits")
    _store_events_as_received_live(services, store, shop.events)
    _print_step("importing orders")
    history = OrderHistoryImport(
        services.database,
        services.numbers,
        store.store_id,
        store.settings.zone,
        services.clock(),
    )
    returned_rows = [row for row in shop.order_rows if int(row["quantity"]) < 0]
    history.run(io.BytesIO(_order_csv_bytes(returned_rows)))
    _print_step("counting searches")
    _store_search_counts_and_holdout(services, store, shop)
    _print_step("learning from a year")
    dependencies = TrainingDeps(
        services.database, services.models, services.clock, services.snapshots
    )
    train_store(dependencies, store, TrainingInputs(), lambda _share: None)
    pictures = PictureFileCache(pictures_folder(services.settings.data))
    publish_looks_and_set_title(services, store, pictures)
    create_placements(services, store)
    _schedule_season_rule(services, store)


def _schedule_season_rule(services: Services, store: Store) -> None:
    """Add a rule that begins in two weeks, so that lists are what was learned."""
    now = datetime.fromtimestamp(services.clock() / 1000, store.settings.zone)
    first = now.date() + timedelta(days=_SEASON_AHEAD_DAYS)
    season = RuleContent(
        RuleAction.BOOST,
        RuleTarget(categories=("Clothing > Knitwear",)),
        name="Knitwear of the season",
        starts=first.isoformat(),
        ends=(first + timedelta(days=_SEASON_DAYS)).isoformat(),
    )
    RuleEditor(services.database, store, services.clock, LOGIN).add(season)


def _store_events_as_received_live(
    services: Services, store: Store, events: Sequence[Event]
) -> None:
    """Store events as received at their own time: reports skip imported events."""
    for begin in range(0, len(events), CHUNK):
        parsed_events = [
            parse_imported_event(event, store.settings.zone)
            for event in events[begin : begin + CHUNK]
        ]
        with services.database.transaction() as transaction:
            log = StoreLogTransaction(
                services.database, transaction, store.store_id, services.numbers
            )
            ingest_events(log, parsed_events, services.clock())
        log.cache_committed_numbers()


def _store_search_counts_and_holdout(
    services: Services, store: Store, shop: GeneratedStore
) -> None:
    """Count the searches by day, and store the result of the holdout test."""
    searches_by_day: dict[str, Counter[ObservedSearch]] = defaultdict(Counter)
    for search in shop.searches:
        time = datetime.fromtimestamp(search.at_ms / 1000, store.settings.zone)
        shopper = visitor_hash(search.shopper)
        observed_search = ObservedSearch(
            store.store_id, search.words, search.is_empty, shopper
        )
        searches_by_day[time.date().isoformat()][observed_search] += 1
    exposures = [
        Exposure(
            store.store_id,
            exposure.identity,
            TEST.name,
            HoldoutArm.HELD_OUT if exposure.is_held_out else HoldoutArm.SHOWN,
            exposure.unit,
            exposure.first_ms,
        )
        for exposure in shop.exposures
    ]
    language = LanguageAnalyzer(store.settings.language)
    with services.database.transaction() as transaction:
        counts = SearchCountRepository(transaction, store.store_id)
        for day, observed_searches in searches_by_day.items():
            counts.add(day, count_by_intent(observed_searches, language))
        store_exposures(transaction, exposures)
    settings_with_holdout = replace(store.settings, holdout_percent=HOLDOUT_PERCENT)
    test = holdout_design(replace(store, settings=settings_with_holdout), TEST.name)
    measure_and_store_test(services.database, store, test, services.clock())


def _measure_search(services: Services, store: Store) -> None:
    """Measure search once: the page Search relevance does not wait for the first night."""
    indexer = Indexer(services.indexes, AccountDirectory(services.database))
    reader = services.database.raw_reader()
    try:
        while indexer.run_next_batches(reader):
            pass
    finally:
        indexer.close()
        reader.close()
    Attributor(services.database, services.touchpoint_folder).catch_up(store)
    searchable = searchable_store(load_store(services, store))
    judge_clicks_and_store_measure(services.database, store, searchable, services.clock())


def _mark_complete(services: Services, store: Store) -> None:
    with services.database.transaction() as transaction:
        repository = EventRepository(transaction, store.store_id)
        repository.set_lines_imported(_KIND, _KIND, _EDITION, services.clock())


def _json_lines_source(rows: Iterable[Mapping[str, object]]) -> ImportSource:
    content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    return ImportSource(io.BytesIO(content), ".jsonl", len(content))


def _order_csv_bytes(rows: Sequence[Mapping[str, str]]) -> bytes:
    text = io.StringIO()
    writer = CsvWriter(text, ORDER_COLUMNS)
    for row in rows:
        writer.write(row[name] for name in ORDER_COLUMNS)
    return text.getvalue().encode()
