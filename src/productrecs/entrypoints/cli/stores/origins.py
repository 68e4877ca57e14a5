"""`productrecs origins`: the origins from which pages may use a store's publishable key."""

from pathlib import Path

import click

from productrecs.entrypoints.cli.command_context import (
    data_option,
    json_option,
    open_services,
    print_json,
)
from productrecs.tenancy.accounts.store_management import change_origins, find_store


@click.command()
@click.argument("domain")
@click.option("--add", multiple=True, help="An origin such as https://www.example.com.")
@click.option("--remove", multiple=True, help="An origin to remove from the list.")
@json_option
@data_option
def origins(
    domain: str,
    *,
    add: tuple[str, ...],
    remove: tuple[str, ...],
    as_json: bool,
    data: Path | None,
) -> None:
    """Show or change the origins whose pages may use the publishable key.

    An empty list allows any page. `https://shop.example` and `https://www.shop.example`
    are two origins.

    Example: productrecs origins shop.example.com --add https://shop.example.com
    """
    with open_services(data) as services:
        found = find_store(services.database, domain)
        allowed = sorted(found.origins)
        if add or remove:
            changed = change_origins(services.database, found, add=add, remove=remove)
            allowed = sorted(changed)
    if as_json:
        print_json(allowed)
    elif allowed:
        click.echo("\n".join(allowed))
    else:
        click.echo("No origins: any page may use the publishable key.")
