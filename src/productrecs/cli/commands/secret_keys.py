"""`productrecs keys`: lists, replaces and revokes a store's secret keys."""

from pathlib import Path

import click

from productrecs.cli.commands.stores_and_origins import print_keys
from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.core.clock import HOUR_MS
from productrecs.core.timestamps import iso
from productrecs.tenancy.accounts.key_uses.repository import KeyUseRepository
from productrecs.tenancy.accounts.store_management import (
    revoke_secret_keys,
    rotate_secret,
)


@click.group()
def keys() -> None:
    """List, replace and revoke a store's secret keys."""


@keys.command("list")
@click.argument("domain")
@json_option
@data_option
def list_(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List the secret keys that are accepted now: their last letters and last uses."""
    with open_store(data, domain) as (services, store):
        now_ms = services.system_clock()
        with services.database.reading() as connection:
            last_uses = KeyUseRepository(connection, store.store_id).last_uses()
    rows = [
        {
            "ends_with": key.end,
            "last_used": _iso_or_none(last_uses.get(key.key_id)),
            "expires": _iso_or_none(key.expires_at),
        }
        for key in store.secrets.active_keys(now_ms)
    ]
    if as_json:
        print_json(rows)
        return
    if not rows:
        click.echo(f"No secret key: productrecs keys rotate {store.domain}")
    for row in rows:
        until = f", expires {row['expires']}" if row["expires"] else ""
        used = row["last_used"] or "never"
        click.echo(f"ends with {row['ends_with'] or '?'}  last used {used}{until}")


@keys.command()
@click.argument("domain")
@click.option(
    "--overlap-hours",
    type=click.IntRange(0, 24),
    default=0,
    show_default=True,
    help="How long the old key works beside the new one.",
)
@json_option
@data_option
def rotate(domain: str, *, overlap_hours: int, as_json: bool, data: Path | None) -> None:
    """Create a new secret key; without an overlap the old one is rejected in a second.

    Example: productrecs keys rotate shop.example.com --overlap-hours 24
    """
    with open_store(data, domain) as (services, store):
        secret = rotate_secret(
            services.database,
            store,
            services.system_clock(),
            overlap_ms=overlap_hours * HOUR_MS,
        )
    print_keys(store, secret, as_json=as_json)


@keys.command()
@click.argument("domain")
@click.option("--old", is_flag=True, help="Only the key before, which still works.")
@data_option
def revoke(domain: str, *, old: bool, data: Path | None) -> None:
    """Reject a store's secret keys within a second; nothing replaces them."""
    with open_store(data, domain) as (services, found):
        revoke_secret_keys(services.database, found, only_replaced=old)
    click.echo(f"Revoked the {'old key' if old else 'secret keys'} of {found.domain}.")


def _iso_or_none(moment_ms: int | None) -> str | None:
    return None if moment_ms is None else iso(moment_ms)
