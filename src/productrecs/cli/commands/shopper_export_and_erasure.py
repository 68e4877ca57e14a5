"""`productrecs shopper`: exports or erases what a store keeps of one shopper."""

import json
import sys
from pathlib import Path
from typing import Final

import click

from productrecs.cli.open_services import open_services_as_owner, open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.core.plural import counted
from productrecs.core.timestamps import iso
from productrecs.features.privacy.repository import ErasureRequest
from productrecs.features.privacy.shopper_export import (
    shopper_names,
    shopper_record_fields,
)
from productrecs.services import build_eraser
from productrecs.tenancy.accounts.store_management import find_store

_user_option: Final = click.option(
    "--user",
    required=True,
    help="Any id of the shopper: user_id, customer_id or a session_id.",
)


@click.group()
def shopper() -> None:
    """Export or erase everything that a store has stored about one shopper."""


@shopper.command()
@click.argument("domain")
@click.argument("file", default="-")
@_user_option
@data_option
def export(domain: str, file: str, user: str, data: Path | None) -> None:
    """Write all records of a shopper to FILE as JSON lines (- for standard output).

    Their ids, events, purchases and test arms.

    Example: productrecs shopper export shop.example.com anna.jsonl --user c-1042
    """
    count = 0
    with (
        open_services_as_owner(data) as services,
        click.open_file(file, "w", encoding="utf-8") as out,
    ):
        store = find_store(services.database, domain)
        names = shopper_names(services.database, store.store_id, user)
        for row in shopper_record_fields(services.database, store.store_id, names):
            out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
            count += 1
    click.echo(f"{counted(count, 'record')} written.", err=True)


@shopper.command()
@click.argument("domain")
@_user_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@data_option
def erase(domain: str, user: str, *, yes: bool, as_json: bool, data: Path | None) -> None:
    """Erase a shopper: delete their events, remove their name from their orders.

    A running server then retrains without them and deletes the last traces; `shopper
    erasures` shows when. Repeating the command changes nothing; an interrupted erasure
    continues.

    Example: productrecs shopper erase shop.example.com --user c-1042
    """
    with open_store(data, domain) as (services, store):
        if not yes and sys.stdin.isatty():
            click.confirm(f"Erase this shopper of {store.domain} for good?", abort=True)
        eraser = build_eraser(services)
        erasure = eraser.request_erasure(store.store_id, user)
        eraser.continue_erasures(store.store_id)
        finished_erasure = next(
            candidate
            for candidate in eraser.all(store.store_id)
            if candidate.erasure_id == erasure.erasure_id
        )
    if as_json:
        print_json({"names": len(erasure.names)} | _erasure_facts(finished_erasure))
        return
    click.echo(
        f"Erased {counted(finished_erasure.events, 'event')} of "
        f"{counted(len(erasure.names), 'name')}; "
        f"{counted(finished_erasure.lines, 'order line')} lost the customer."
    )
    if not finished_erasure.events and not finished_erasure.lines:
        message = "Nothing was stored under this id: compare it with the shop's own."
        click.echo(message, err=True)
        return
    click.echo("A running server retrains without them within a minute.")


@shopper.command()
@click.argument("domain")
@json_option
@data_option
def erasures(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List when shoppers were erased and whether it is complete; without their names.

    Example: productrecs shopper erasures shop.example.com
    """
    with open_store(data, domain) as (services, store):
        rows = [
            _erasure_facts(erasure)
            for erasure in build_eraser(services).all(store.store_id)
        ]
    if as_json:
        print_json(rows)
        return
    if not rows:
        click.echo("No shopper of this store was erased.")
    for row in rows:
        click.echo(
            f"erasure {row['erasure']}  requested {row['asked_at']}  "
            f"{row['events']} events  {row['lines']} order lines  "
            f"{row['state']} {row['done_at'] or ''}".rstrip()
        )


def _erasure_facts(erasure: ErasureRequest) -> dict[str, object]:
    state = "under way" if erasure.cleared_seq is None else "learning anew"
    return {
        "erasure": erasure.erasure_id,
        "asked_at": iso(erasure.asked_at),
        "events": erasure.events,
        "lines": erasure.lines,
        "state": state if erasure.done_at is None else "done",
        "done_at": None if erasure.done_at is None else iso(erasure.done_at),
    }
