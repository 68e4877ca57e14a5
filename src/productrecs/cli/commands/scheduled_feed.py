"""`productrecs feed`: the address that a store's products are fetched from."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.core.timestamps import iso
from productrecs.features.imports.scheduled_feeds.feed_editor import (
    NoScheduledFeedError,
    ScheduledFeedEditor,
    ScheduledFeedForm,
)
from productrecs.features.imports.scheduled_feeds.repository import ScheduledFeedRepository
from productrecs.features.imports.scheduled_feeds.scheduled_feed import INTERVALS
from productrecs.records.uploads.file_import import ImportStatus
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store

_SHOWN_FETCHES = 10
_ANY_HOUR = "any"


@click.group()
def feed() -> None:
    """Fetch a store's products from an address, on a schedule."""


@feed.command("show")
@click.argument("domain")
@json_option
@data_option
def show(domain: str, *, as_json: bool, data: Path | None) -> None:
    """Show a store's feed, its last fetches, and what waits for a yes.

    Example: productrecs feed show shop.example.com
    """
    with open_store(data, domain) as (services, store):
        facts = _feed_fields(services, store)
    if as_json:
        print_json(facts)
        return
    names = ("url", "has_header", "every_minutes", "hour", "is_complete", "next_fetch")
    for name in names:
        value = facts[name]
        text = ("no", "yes")[value] if isinstance(value, bool) else value
        click.echo(f"{name}: {'-' if text is None else text}")
    if facts["waiting"]:
        click.echo(f"waiting: {facts['waiting']['reason']}")
    for fetch in facts["fetches"]:
        click.echo("  ".join(str(value) for value in fetch.values() if value))


@feed.command("set")
@click.argument("domain")
@click.argument("url")
@click.option(
    "--every",
    type=click.Choice([str(minutes) for minutes in INTERVALS]),
    default="1440",
    help="Minutes between two fetches (default: 1440, once a day).",
)
@click.option(
    "--complete/--not-complete",
    "is_complete",
    default=False,
    help="Whether products that the feed lacks are no longer shown (default: not).",
)
@click.option(
    "--header",
    default="",
    help="A secret header, as NAME: VALUE; - reads it from standard input.",
)
@click.option(
    "--hour",
    type=click.Choice([_ANY_HOUR, *map(str, range(24))]),
    metavar="HOUR",
    help="The hour of a daily feed in the store's time zone, 0 to 23, or any "
    "(default: as stored).",
)
@data_option
def set_(
    domain: str,
    url: str,
    *,
    every: str,
    is_complete: bool,
    header: str,
    hour: str | None,
    data: Path | None,
) -> None:
    """Store the address of a store's feed, and fetch it.

    Without --header, a stored one is kept for the same host; without --hour, the
    stored hour is kept.

    Example: productrecs feed set shop.example.com https://shop.example.com/feed.xml
    """
    secret = sys.stdin.readline() if header == "-" else header
    form = ScheduledFeedForm(
        url,
        secret,
        int(every),
        is_complete,
        hour=int(hour) if hour and hour != _ANY_HOUR else None,
        keeps_hour=hour is None,
    )
    with open_store(data, domain) as (services, store):
        _feed_editor(services, store).save_and_enqueue_fetch(form, services.system_clock())
    click.echo("stored; the worker fetches it")


@feed.command("fetch")
@click.argument("domain")
@data_option
def fetch(domain: str, *, data: Path | None) -> None:
    """Fetch a store's feed now, also if it has not changed.

    Example: productrecs feed fetch shop.example.com
    """
    _edit_feed(domain, data, lambda editor, now_ms: editor.enqueue_full_fetch(now_ms))
    click.echo("the worker fetches it")


@feed.command("apply")
@click.argument("domain")
@data_option
def apply(domain: str, *, data: Path | None) -> None:
    """Import the file that waits for a yes, because it removes or reprices much.

    Example: productrecs feed apply shop.example.com
    """
    _edit_feed(
        domain, data, lambda editor, _now_ms: editor.enqueue_import_of_waiting_file()
    )
    click.echo("the worker imports it")


@feed.command("discard")
@click.argument("domain")
@data_option
def discard(domain: str, *, data: Path | None) -> None:
    """Discard the file that waits for a yes; the catalog stays as it is.

    Example: productrecs feed discard shop.example.com
    """
    _edit_feed(domain, data, lambda editor, _now_ms: editor.discard_waiting_file())
    click.echo("discarded")


@feed.command("remove")
@click.argument("domain")
@data_option
def remove(domain: str, *, data: Path | None) -> None:
    """Remove a store's feed with its secret header; the products stay.

    Example: productrecs feed remove shop.example.com
    """
    _edit_feed(domain, data, lambda editor, _now_ms: editor.remove_feed_and_its_file())
    click.echo("removed")


def _edit_feed(
    domain: str, data: Path | None, change: Callable[[ScheduledFeedEditor, int], None]
) -> None:
    with open_store(data, domain) as (services, store):
        change(_feed_editor(services, store), services.system_clock())


def _feed_editor(services: Services, store: Store) -> ScheduledFeedEditor:
    return ScheduledFeedEditor(
        services.database,
        services.queue,
        services.cipher,
        services.upload_folder,
        services.settings.feed_hosts,
        store.store_id,
    )


def _feed_fields(services: Services, store: Store) -> dict[str, Any]:
    found, last = _feed_editor(services, store).find_with_last_import()
    if found is None:
        message = f"{store.domain} has no scheduled feed: productrecs feed set"
        raise NoScheduledFeedError(message)
    with services.database.reading() as connection:
        repository = ScheduledFeedRepository(connection, store.store_id)
        fetches = repository.newest_fetches(_SHOWN_FETCHES)
    result = {} if last is None else last.result
    reason = result.get("problem") or result.get("brake") or ""
    is_waiting = last is not None and last.status is ImportStatus.CHECKED
    return {
        "url": found.url,
        "has_header": bool(found.header),
        "every_minutes": found.every_minutes,
        "hour": found.hour,
        "is_complete": found.is_complete,
        "next_fetch": iso(found.next_ms),
        "failures": found.failures,
        "last_import": None if last is None else last.status.value,
        "waiting": {"reason": reason, "diff": last.preview.get("diff")}
        if last is not None and is_waiting
        else None,
        "fetches": [
            {
                "at": iso(one.fetched_ms),
                "outcome": one.outcome.value,
                "problem": one.problem,
                "bytes": one.size,
            }
            for one in fetches
        ],
    }
