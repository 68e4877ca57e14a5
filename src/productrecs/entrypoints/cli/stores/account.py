"""`productrecs account`: the logins of a store's dashboard."""

from pathlib import Path

import click

from productrecs.entrypoints.cli.command_context import data_option, open_services
from productrecs.tenancy.accounts.login.sessions import new_reset_token
from productrecs.tenancy.accounts.store_management import find_store, owner_of


@click.group()
def account() -> None:
    """Give a store's owner a way into the dashboard."""


@account.command("reset-link")
@click.argument("domain")
@click.option("--email", help="Who owns it, where the store has no e-mail yet.")
@click.option("--base-url", help="Where browsers reach the service.")
@data_option
def reset_link(
    domain: str, *, email: str | None, base_url: str | None, data: Path | None
) -> None:
    """Print a link at which a store's owner chooses a password.

    It works once, within 30 minutes. A store without a login gets its first one: so
    this is the invitation to a store that you created. The address is `--base-url`,
    else `PRODUCTRECS_BASE_URL`.

    Example: productrecs account reset-link shop.example.com --email anna@example.com
    """
    with open_services(data) as services:
        store = find_store(services.database, domain)
        owner = owner_of(services.database, store, email)
        token = new_reset_token(services.database, owner, services.system_clock())
        settings = services.settings
        base = base_url or settings.base_url or f"http://localhost:{settings.port}"
    click.echo(f"{base.rstrip('/')}/dashboard/reset?token={token}")
