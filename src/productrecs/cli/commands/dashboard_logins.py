"""`productrecs account`: the logins of a store's dashboard."""

from collections.abc import Collection
from pathlib import Path
from typing import Final, TypedDict

import click

from productrecs.cli.last_service_run import local_address
from productrecs.cli.open_services import open_services_as_owner, open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.core.clock import system_ms
from productrecs.services import Services
from productrecs.settings import Settings
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    all_stores,
    find_or_create_owner,
)
from productrecs.tenancy.accounts.team_members import (
    create_first_store_invitation,
    create_owner_invitation,
    create_registration_invitation,
)
from productrecs.tenancy.users.dashboard_user import DashboardUser
from productrecs.tenancy.users.login_and_sessions import create_reset_token
from productrecs.tenancy.users.logins.repository import EmailTakenError
from productrecs.tenancy.users.repository import UserRepository
from productrecs.tenancy.users.two_factor import disable_second_factor, has_second_factor

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

    It works once, within 30 minutes, and sets the password for all stores of the login.
    A store without a login gets its first one: so this is the invitation to a store that
    you created. If `--email` has a login already, the link adds the store to that login.
    The link begins with `--base-url`, else `PRODUCTRECS_BASE_URL`.

    Example: productrecs account reset-link shop.example.com --email anna@example.com
    """
    with open_store(data, domain) as (services, store):
        try:
            owner = find_or_create_owner(services.database, store, email)
        except EmailTakenError as taken:
            link = create_owner_link(services, store, taken.email, base_url)
            note = f"{taken}: the link adds {store.domain} to it, once, within seven days."
            click.echo(note, err=True)
        else:
            if turn_off_two_factor:
                disable_second_factor(services.database, owner)
            link = create_password_link(services, owner, base_url)
    click.echo(link)


@account.command("list")
@json_option
@data_option
def list_(*, as_json: bool, data: Path | None) -> None:
    """List every login with its stores, and its role in each.

    Example: productrecs account list --json
    """
    with open_services_as_owner(data) as services:
        logins = _login_rows(services)
    if as_json:
        print_json(logins)
        return
    if not logins:
        click.echo("No logins yet: productrecs account reset-link DOMAIN --email ADDRESS")
    for login in logins:
        stores = ", ".join(f"{name} ({role})" for name, role in login["stores"].items())
        notes = [name for name in ("confirmed", "two_factor") if login[name]]
        notes_text = "".join(f"  {name.replace('_', '-')}" for name in notes)
        click.echo(f"{login['email'] or '-'}  {stores}{notes_text}")


@account.command("invite")
@click.option("--email", help="Whom you invite; the form proposes it.")
@click.option("--base-url", help="Where browsers reach the service.")
@data_option
def print_registration_link(
    *, email: str | None, base_url: str | None, data: Path | None
) -> None:
    """Print a link at which one person registers a store.

    It works once, within seven days. Nobody registers without one, unless
    `PRODUCTRECS_REGISTRATION` is open. The service prints the link of its first store
    when it starts in a terminal.

    Example: productrecs account invite --email anna@example.com
    """
    with open_services_as_owner(data) as services:
        now_ms = services.system_clock()
        token = create_registration_invitation(services.database, email, now_ms)
        link = _absolute_link_noting_assumption(services, base_url, f"{_REGISTER}{token}")
    click.echo(link)


def create_first_store_link(
    settings: Settings, address: str, other_domains: Collection[str] = ()
) -> str | None:
    """Return a link that registers the first store of an installation, once.

    None if there is a store besides those of `other_domains`, or registration is not by
    invitation.
    """
    if settings.registration != "invitation":
        return None
    database = Database.open(settings.database_url, settings.data)
    try:
        token = create_first_store_invitation(database, system_ms(), other_domains)
    finally:
        database.close()
    base = settings.base_url or address
    return None if token is None else f"{base}{_REGISTER}{token}"


def is_first_store_awaited(settings: Settings) -> bool:
    """Return whether there is no store, and an invitation would register one."""
    if settings.registration != "invitation":
        return False
    database = Database.open(settings.database_url, settings.data)
    try:
        return not all_stores(database)
    finally:
        database.close()


def create_password_link(
    services: Services, user: DashboardUser, base_url: str | None = None
) -> str:
    """Return a link at which the user chooses a password, once, within 30 minutes."""
    token = create_reset_token(services.database, user, services.system_clock())
    return _absolute_link_noting_assumption(
        services, base_url, f"/dashboard/reset?token={token}"
    )


def create_owner_link(
    services: Services, store: Store, email: str, base_url: str | None = None
) -> str:
    """Return a link at which a login with other stores becomes the store's owner.

    The person proves the login there: an operator knows an address, not whose login it is.
    """
    now_ms = services.system_clock()
    token = create_owner_invitation(services.database, store.store_id, email, now_ms)
    return _absolute_link_noting_assumption(
        services, base_url, f"/dashboard/invitation?token={token}"
    )


class LoginRow(TypedDict):
    """A login as `account list` shows it."""

    email: str | None
    stores: dict[str, str]
    confirmed: bool
    two_factor: bool


def _login_rows(services: Services) -> list[LoginRow]:
    rows: dict[str, LoginRow] = {}
    for store in all_stores(services.database):
        with services.database.reading() as connection:
            users = UserRepository(connection, store.store_id).all()
        for user in users:
            row = rows.setdefault(
                user.login_key,
                LoginRow(
                    email=user.email,
                    stores={},
                    confirmed=user.confirmed_at is not None,
                    two_factor=has_second_factor(services.database, user),
                ),
            )
            row["stores"][store.domain] = user.role.label
    return sorted(rows.values(), key=lambda row: row["email"] or "")


def _absolute_link_noting_assumption(
    services: Services, base_url: str | None, path: str
) -> str:
    settings = services.settings
    base = base_url or settings.base_url
    if not base:
        base = local_address(settings)
        note = f"The link assumes that the service is at {base}: else give --base-url."
        click.echo(note, err=True)
    return f"{base.rstrip('/')}{path}"
