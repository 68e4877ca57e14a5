"""Account page: keys, origins, plan and usage."""

from typing import Final

from productrecs.entrypoints.http.dashboard.page import Group, Page, Reply, Visit
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.tenancy.accounts.domains_and_origins import OriginError
from productrecs.tenancy.accounts.login.dashboard_user import Role
from productrecs.tenancy.accounts.plan_usage import read_plan_usage
from productrecs.tenancy.accounts.store_management import (
    change_origins,
    find_store,
    rotate_secret,
)

ACCOUNT_PATH: Final = "/dashboard/account"
_WWW: Final = "www."


def show_account(visit: Visit) -> Reply:
    """Show keys, origins, plan and usage."""
    return _account(visit)


def replace_secret(visit: Visit) -> Reply:
    """Make a new secret key and show it, this once."""
    secret = rotate_secret(visit.database, visit.store)
    visit.refresh_accounts()
    return _account(visit, secret=secret)


def add_origin(visit: Visit) -> Reply:
    """Add an origin to the allowlist; name its twin, which is another origin."""
    text = visit.form["origin"]
    try:
        before = find_store(visit.database, visit.store.domain).origins
        after = change_origins(visit.database, visit.store, add=[text])
    except OriginError as error:
        said = f"{str(error)[:1].upper()}{str(error)[1:]}."
        return _account(visit, status=422, origin=text, origin_error=said)
    visit.refresh_accounts()
    added = next(iter(after - before), None)
    twin = None if added is None else _twin(added)
    message = "Origin added." if added else "This origin is on the list already."
    if twin is not None and twin not in after:
        message += f" {twin} is another origin: add it too if your shop answers there."
    return visit.redirect(f"{ACCOUNT_PATH}#origins", message)


def remove_origin(visit: Visit) -> Reply:
    """Take an origin off the allowlist."""
    change_origins(visit.database, visit.store, remove=[visit.form["origin"]])
    visit.refresh_accounts()
    return visit.redirect(f"{ACCOUNT_PATH}#origins", "Origin removed.")


def _twin(origin: str) -> str:
    """Return the same origin with or without `www.`."""
    scheme, _, host = origin.partition("://")
    other = host.removeprefix(_WWW) if host.startswith(_WWW) else _WWW + host
    return f"{scheme}://{other}"


def _account(
    visit: Visit,
    *,
    status: int = 200,
    secret: str = "",
    origin: str = "",
    origin_error: str = "",
) -> Reply:
    store = find_store(visit.database, visit.store.domain)
    with visit.database.reading() as connection:
        items = CatalogRepository(connection, store.store_id).size()
    plans = visit.services.settings.plans
    usage = read_plan_usage(visit.database, store, plans, visit.now_ms)
    return visit.render(
        "account.html",
        status=status,
        secret=secret,
        origin=origin,
        origin_error=origin_error,
        shop=store,
        origins=sorted(store.origins),
        usage=usage,
        items=items,
        is_owner=visit.user.role is Role.OWNER,
    )


PAGES: Final = (
    Page(ACCOUNT_PATH, "Keys and plan", show_account, group=Group.SETTINGS),
    Page(
        f"{ACCOUNT_PATH}/secret",
        "Keys and plan",
        None,
        replace_secret,
        may_change=Role.OWNER,
    ),
    Page(
        f"{ACCOUNT_PATH}/origins/add",
        "Keys and plan",
        None,
        add_origin,
        may_change=Role.OWNER,
    ),
    Page(
        f"{ACCOUNT_PATH}/origins/remove",
        "Keys and plan",
        None,
        remove_origin,
        may_change=Role.OWNER,
    ),
)
