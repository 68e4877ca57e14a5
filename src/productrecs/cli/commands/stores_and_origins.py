"""`productrecs store` and `origins`: registers, shows, changes and deletes stores."""

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from productrecs.cli.commands.dashboard_logins import (
    create_owner_link,
    create_password_link,
)
from productrecs.cli.commands.plans import (
    describe_limit,
    plan_facts,
    plan_lines,
    resume,
    set_plan,
    suspend,
)
from productrecs.cli.open_services import (
    open_or_create_services,
    open_services_as_owner,
    open_store,
)
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.core.timestamps import iso
from productrecs.logs import configure_logging
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.services import Services
from productrecs.serving.store_deletion import (
    delete_store_and_test_store,
    remove_store_files,
)
from productrecs.tenancy.accounts.api_keys import SecretKey
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    Registration,
    all_stores,
    change_origins,
    change_settings,
    find_or_create_owner,
    find_sandbox,
    find_store,
    make_sandbox,
    register_store,
    reset_sandbox,
)
from productrecs.tenancy.billing.plans_and_subscriptions import (
    DEFAULT_PLANS,
    UNLIMITED,
    find_plan,
)
from productrecs.tenancy.users.logins.repository import EmailTakenError

_PROPAGATION_SECONDS: Final = 1.0
"""The time until every running process has applied a change."""


@click.group()
def store() -> None:
    """Register, list, show and delete stores, and choose their plans."""


@store.command()
@click.option("--domain", required=True, help="The store's domain, like shop.example.com.")
@click.option("--email", help="The merchant's e-mail address; the dashboard's login.")
@click.option(
    "--password-stdin",
    is_flag=True,
    help=("Read the dashboard's password from standard input."),
)
@click.option(
    "--plan",
    default=UNLIMITED.name,
    show_default=True,
    help=(f"One of {', '.join(DEFAULT_PLANS)}, or one of your own plans."),
)
@click.option("--language", help="The language of its texts.  [default: en]")
@click.option("--currency", help="The currency of its prices.  [default: EUR]")
@click.option("--timezone", help="The time zone of its days.  [default: UTC]")
@json_option
@data_option
def create(
    domain: str,
    *,
    password_stdin: bool,
    as_json: bool,
    data: Path | None,
    **options: str | None,
) -> None:
    """Register a store and print its two keys; the secret key is shown only once.

    With --email it also prints a link at which the merchant chooses a password for the
    dashboard. The link works once, within 30 minutes. If the address has a login already,
    the link adds the store to that login instead. The store has no limits, unless
    --plan (or PRODUCTRECS_STORE_CREATE_PLAN for every store) says otherwise.

    Example: productrecs store create --domain shop.example.com --email anna@example.com
    """
    password = sys.stdin.readline().rstrip("\r\n") if password_stdin else None
    settings = {name: options[name] for name in ("language", "currency", "timezone")}
    with open_or_create_services(data) as services:
        registration = Registration(
            domain=domain,
            email=options["email"],
            password=password,
            plan=find_plan(services.settings.plans, options["plan"] or UNLIMITED.name),
            settings={name: text for name, text in settings.items() if text is not None},
        )
        created_store, secret = register_store(
            services.database, registration, services.clock
        )
        link, note = None, "works once, within 30 minutes"
        if registration.email is not None and password is None:
            try:
                link = create_password_link(
                    services, find_or_create_owner(services.database, created_store)
                )
            except EmailTakenError as taken:
                link = create_owner_link(services, created_store, taken.email)
                note = f"{taken}: the link adds this store to it, once, within seven days"
    print_keys(created_store, secret, as_json=as_json, link=link, note=note)
    if not as_json and registration.email is None:
        command = (
            f"productrecs account reset-link {created_store.domain} --email YOUR_ADDRESS"
        )
        click.echo(f"dashboard        {command}")
    if not as_json or created_store.subscription.ends_at is not None:
        for line in plan_lines(created_store, registration.plan):
            click.echo(line, err=as_json)


@store.command("list")
@json_option
@data_option
def list_(*, as_json: bool, data: Path | None) -> None:
    """List all stores by domain."""
    with open_services_as_owner(data) as services:
        rows = [
            _store_facts(services, listed_store)
            for listed_store in all_stores(services.database)
        ]
    if as_json:
        print_json(rows)
        return
    if not rows:
        click.echo("No stores yet: productrecs store create --domain shop.example.com")
    for row in rows:
        click.echo(
            f"{row['domain']}  {row['store_id']}  {row['plan']} ({row['status']})  "
            f"{row['catalog_items']} items  {row['publishable_key']}"
        )


@store.command()
@click.argument("domain")
@json_option
@data_option
def show(domain: str, *, as_json: bool, data: Path | None) -> None:
    """Show one store; its secret key is not stored, so nobody can show it."""
    with open_services_as_owner(data) as services:
        facts = _store_facts(services, find_store(services.database, domain))
    if as_json:
        print_json(facts)
        return
    for name, value in _readable_facts(facts).items():
        click.echo(f"{name:<16} {value}")


@store.command()
@click.argument("domain")
@click.option(
    "--yes", is_flag=True, help="Do not ask for confirmation; required without a terminal."
)
@data_option
def delete(domain: str, *, yes: bool, data: Path | None) -> None:
    """Delete a store with all its data: catalog, events, orders, keys, models.

    Its test store is deleted too. Only a backup of the whole installation brings them
    back.
    """
    with open_store(data, domain) as (services, found):
        if not yes and not sys.stdin.isatty():
            message = f"there is no terminal to ask: add --yes to delete {found.domain}"
            raise click.ClickException(f"{message} with all its data")
        if not yes:
            click.confirm(f"Delete {found.domain} with all its data?", abort=True)
        configure_logging(services.settings.log_format, services.settings.log_level)
        for deleted in delete_store_and_test_store(services, found):
            click.echo(f"Deleted {deleted.domain}.")


@store.command()
@click.argument("domain")
@click.option("--reset", is_flag=True, help="Empty it; its keys and settings stay.")
@json_option
@data_option
def sandbox(domain: str, *, reset: bool, as_json: bool, data: Path | None) -> None:
    """Create the test store of a store: test.DOMAIN, with keys pk_test_... and sk_test_...

    It starts empty, with the store's settings and no limits, and nothing in it counts
    for the store. It is created once; later calls show it, or empty it. While it is
    emptied, for a second, its keys may be rejected.

    Example: productrecs store sandbox shop.example.com --reset
    """
    with open_store(data, domain) as (services, real_store):
        present_sandbox = find_sandbox(services.database, real_store)
        if present_sandbox is None:
            plan = find_plan(services.settings.plans, "unlimited")
            sandbox_store, secret = make_sandbox(
                services.database, real_store, plan, services.clock
            )
            print_keys(sandbox_store, secret, as_json=as_json)
            return
        if reset:
            new_sandbox = reset_sandbox(services.database, present_sandbox, services.clock)
            remove_store_files(services, present_sandbox)
            time.sleep(_PROPAGATION_SECONDS)
            present_sandbox = new_sandbox
        facts = _store_facts(services, present_sandbox)
    if as_json:
        print_json(facts)
        return
    click.echo(f"{present_sandbox.domain} is {'empty again' if reset else 'there'}.")
    click.echo(f"publishable key  {present_sandbox.publishable_key}")
    click.echo(
        f"secret key       not stored; productrecs keys rotate {present_sandbox.domain}"
    )


@store.command("enable-demand")
@click.argument("domain")
@click.option("--off", is_flag=True, help="Remove the add-on.")
@data_option
def enable_demand(domain: str, *, off: bool, data: Path | None) -> None:
    """Enable the demand add-on of a store: a forecast now, and then each night.

    Replies are empty before the first forecast and when the add-on is removed.
    """
    with open_store(data, domain) as (services, chosen_store):
        changes = {"demand_forecast": "false" if off else "true"}
        change_settings(services.database, chosen_store, changes)
    if off:
        click.echo(f"The demand add-on of {chosen_store.domain} is removed.")
        return
    click.echo(
        f"The demand add-on of {chosen_store.domain} is enabled: a running server "
        "forecasts now."
    )


for _one in (set_plan, suspend, resume):
    store.add_command(_one)


def print_keys(
    chosen_store: Store,
    secret: SecretKey,
    *,
    as_json: bool,
    link: str | None = None,
    note: str = "",
) -> None:
    """Print a store's keys; this is the only time that the secret key is shown.

    `link` is where the owner of a new store gets into the dashboard; `note` says how.
    """
    if as_json:
        print_json(
            {
                "store_id": chosen_store.store_id,
                "domain": chosen_store.domain,
                "publishable_key": chosen_store.publishable_key,
                "secret_key": secret,
                **({} if link is None else {"login_link": link}),
            }
        )
        return
    click.echo(f"{chosen_store.domain} ({chosen_store.store_id})")
    click.echo(
        f"publishable key  {chosen_store.publishable_key}  (for the storefront; public)"
    )
    click.echo(f"secret key       {secret}  (for your server; shown this once)")
    if link is not None:
        click.echo(f"dashboard        {link}  ({note})")


def _readable_facts(facts: Mapping[str, object]) -> dict[str, str]:
    """Return a store's facts as text, with usage and limit."""
    limits = {"calls": facts["calls_limit"], "catalog_items": facts["catalog_limit"]}
    lines = {}
    for name, value in facts.items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        if isinstance(value, dict):
            shown = ", ".join(
                f"{key}={_format_setting_value(one)}" for key, one in value.items()
            )
        if name in limits:
            shown = f"{value:,} of {describe_limit(limits[name])}"
        if name not in {"calls_limit", "catalog_limit"}:
            lines[name.replace("_", " ")] = "-" if shown in (None, "") else str(shown)
    return lines


def _format_setting_value(value: object) -> object:
    """Return a setting's value in the form that `settings` takes."""
    return str(value).lower() if isinstance(value, bool) else value


def _store_facts(services: Services, chosen_store: Store) -> dict[str, object]:
    with services.database.reading() as connection:
        size = CatalogRepository(connection, chosen_store.store_id).size()
    return {
        "store_id": chosen_store.store_id,
        "domain": chosen_store.domain,
        "email": chosen_store.email,
        **plan_facts(services, chosen_store),
        "publishable_key": chosen_store.publishable_key,
        "origins": sorted(chosen_store.origins),
        "settings": asdict(chosen_store.settings),
        "catalog_items": size,
        "created_at": iso(chosen_store.created_at),
    }


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
    with open_store(data, domain) as (services, chosen_store):
        allowed = sorted(chosen_store.origins)
        if add or remove:
            changed_origins = change_origins(
                services.database, chosen_store, add=add, remove=remove
            )
            allowed = sorted(changed_origins)
    if as_json:
        print_json(allowed)
    elif allowed:
        click.echo("\n".join(allowed))
    else:
        click.echo("No origins: any page may use the publishable key.")
