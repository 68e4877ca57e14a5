"""`productrecs keys`: replaces a store's secret key."""

from pathlib import Path

import click

from productrecs.entrypoints.cli.command_context import (
    data_option,
    json_option,
    open_services,
)
from productrecs.entrypoints.cli.stores.store import print_keys
from productrecs.tenancy.accounts.store_management import find_store, rotate_secret


@click.group()
def keys() -> None:
    """Replace a store's secret key."""


@keys.command()
@click.argument("domain")
@json_option
@data_option
def rotate(domain: str, *, as_json: bool, data: Path | None) -> None:
    """Create a new secret key; the old one is rejected within a second.

    Example: productrecs keys rotate shop.example.com --json
    """
    with open_services(data) as services:
        found = find_store(services.database, domain)
        secret = rotate_secret(services.database, found)
    print_keys(found, secret, as_json=as_json)
