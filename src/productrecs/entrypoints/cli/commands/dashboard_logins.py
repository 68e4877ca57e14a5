"""`productrecs account`: the logins of a store's dashboard."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

import click

from productrecs.core.clock import system_ms
from productrecs.entrypoints.cli.options_services_and_output import (
    data_option,
    open_services,
)
from productrecs.entrypoints.services import Services
from productrecs.settings import Settings
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.store_management import find_store, owner_of
from productrecs.tenancy.accounts.team_members import invite_first, invite_to_register
from productrecs.tenancy.users.dashboard_user import DashboardUser
from productrecs.tenancy.users.login_and_sessions import new_reset_token
from productrecs.tenancy.users.two_factor import remove_factor

_REGISTER: Final = "/dashboard/register?token="


@click.group()
def account() -> None:
    """Let people into the dashboard."""


@account.command("reset-link")
@click.argument("domain")
@click.option("--email", help="Who owns it, where the store has no e-mail yet.")
@click.option("--base-url", help="Where browsers reach the service.")
@click.option(
    "--turn-off-two-factor",
    is_flag=True,
    help="For an owner who lost the phone and the recovery codes.",
)
@data_option
def reset_link(
    domain: str,
    *,
    email: str | None,
    base_url: str | None,
    turn_off_two_factor: bool,
    data: Path | None,
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
        if turn_off_two_factor:
            remove_factor(services.database, owner)
        link = password_link(services, owner, base_url)
    click.echo(link)


@account.command()
@click.option("--email", help="Whom you invite; the form proposes it.")
@click.option("--base-url", help="Where browsers reach the service.")
@data_option
def invite(*, email: str | None, base_url: str | None, data: Path | None) -> None:
    """Print a link at which one person registers a store.

    It works once, within seven days. Nobody registers without one, unless
    `PRODUCTRECS_REGISTRATION` is open. The service prints the link of its first store
    when it starts.

    Example: productrecs account invite --email anna@example.com
    """
    with open_services(data) as services:
        now_ms = services.system_clock()
        token = invite_to_register(services.database, email, now_ms)
        link = _link(services, base_url, f"{_REGISTER}{token}")
    click.echo(link)


def first_store_link(
    settings: Settings, address: str, besides: Collection[str] = ()
) -> str | None:
    """Return a link that registers the first store of an installation, once.

    None if there is a store `besides` those domains, or registration is not by
    invitation.
    """
    if settings.registration != "invitation":
        return None
    database = Database.open(settings.database_url, settings.data)
    try:
        token = invite_first(database, system_ms(), besides)
    finally:
        database.close()
    base = settings.base_url or address
    return None if token is None else f"{base}{_REGISTER}{token}"


def password_link(
    services: Services, user: DashboardUser, base_url: str | None = None
) -> str:
    """Return a link at which the user chooses a password, once, within 30 minutes."""
    token = new_reset_token(services.database, user, services.system_clock())
    return _link(services, base_url, f"/dashboard/reset?token={token}")


def _link(services: Services, base_url: str | None, path: str) -> str:
    settings = services.settings
    base = base_url or settings.base_url or f"http://localhost:{settings.port}"
    return f"{base.rstrip('/')}{path}"
