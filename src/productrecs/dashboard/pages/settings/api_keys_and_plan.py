"""API keys and plan page: the store's keys and origins, its plan and usage."""

import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parseaddr
from types import MappingProxyType
from typing import Final

from productrecs.core.clock import HOUR_MS
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import NavigationGroup, Page, Reply, Visit, form_pages
from productrecs.mail import MailError, send_mail
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.tenancy.accounts.api_keys import (
    SECRET_PREFIX,
    TEST_KEY_PREFIX,
)
from productrecs.tenancy.accounts.domains_and_origins import OriginError
from productrecs.tenancy.accounts.key_uses.repository import KeyUseRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    change_origins,
    find_store,
    read_plan_usage,
    revoke_secret_keys,
    rotate_secret,
)
from productrecs.tenancy.billing.call_meter import BillingStatus
from productrecs.tenancy.users.dashboard_user import Role

_log: Final = logging.getLogger(__name__)

ACCOUNT_PATH: Final = "/dashboard/account"
_WWW: Final = "www."
_SCHEMES: Final = MappingProxyType({"https": "http", "http": "https"})
_STATES: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        "": ("active", "good", "Shoppers see lists and search results."),
        BillingStatus.WARN: (
            "over 80 % used",
            "warn",
            "Shoppers see everything still. Replies carry a warning for your server.",
        ),
        BillingStatus.OVER_QUOTA: (
            "used up",
            "bad",
            (
                "Lists and searches are empty until the month ends, so widgets hide. "
                "Events and orders are still stored."
            ),
        ),
        BillingStatus.SUSPENDED: (
            "suspended",
            "bad",
            (
                "Lists and searches are empty, so widgets hide. Events and orders are "
                "still stored. Ask the operator of your service."
            ),
        ),
    }
)
OVERLAPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "24": "for 24 more hours",
        "6": "for 6 more hours",
        "1": "for 1 more hour",
        "0": "no longer: refuse it now",
    }
)


@dataclass(frozen=True, slots=True)
class SecretKeyRow:
    """The facts of a secret key that a page can show."""

    name: str  # its prefix and its last four characters
    made_at: int | None
    used_at: int | None  # None: never
    address: str  # the last client address; "" if unknown
    expires_at: int | None  # of the previous key


def replace_secret_key(visit: Visit) -> Reply:
    """Create a new secret key and show it once."""
    hours = visit.form["overlap"]
    overlap_ms = (int(hours) if hours in OVERLAPS else 0) * HOUR_MS
    secret = rotate_secret(
        visit.database, visit.store, visit.system_ms, overlap_ms=overlap_ms
    )
    visit.refresh_accounts()
    return show_keys_and_plan(visit, secret=secret)


def revoke_secret_key(visit: Visit) -> Reply:
    """Revoke the secret key, or the previous one."""
    is_old = visit.form["key"] == "old"
    revoke_secret_keys(visit.database, visit.store, only_replaced=is_old)
    visit.refresh_accounts()
    said = "The old key is revoked." if is_old else "The secret key is revoked."
    return visit.redirect(f"{ACCOUNT_PATH}#keys", f"{said} Calls with it are refused.")


def add_allowed_origin(visit: Visit) -> Reply:
    """Add an origin to the allowlist; the reply names its `www.` or scheme variants."""
    typed = visit.form["origin"]
    text = typed if "://" in typed or not typed else f"https://{typed}"
    try:
        before = find_store(visit.database, visit.store.domain).origins
        after = change_origins(visit.database, visit.store, add=[text])
    except OriginError as error:
        error_text = sentence(error)
        return show_keys_and_plan(visit, status=422, origin=text, origin_error=error_text)
    visit.refresh_accounts()
    added = next(iter(after - before), None)
    message = "Origin added." if added else "This origin is on the list already."
    missing_variants = (
        []
        if added is None
        else [variant for variant in _origin_variants(added) if variant not in after]
    )
    if missing_variants:
        predicate = (
            "is another origin" if len(missing_variants) == 1 else "are other origins"
        )
        message += (
            f" {' and '.join(missing_variants)} {predicate}: add each that your shop "
            "answers at."
        )
    return visit.redirect(f"{ACCOUNT_PATH}#origins", message)


def remove_allowed_origin(visit: Visit) -> Reply:
    """Remove an origin from the allowlist."""
    change_origins(visit.database, visit.store, remove=[visit.form["origin"]])
    visit.refresh_accounts()
    return visit.redirect(f"{ACCOUNT_PATH}#origins", "Origin removed.")


def ask_operator_for_plan(visit: Visit) -> Reply:
    """Tell the operator, in the log and by e-mail, that the store wants a plan."""
    store, limits = visit.store, visit.context.login_limits
    limit_key = f"plan request {store.store_id}"
    limits.check_attempts_left(limit_key)
    limits.count_failure(limit_key)  # each request counts
    remedy = f"productrecs store set-plan {store.domain} PLAN"
    facts = {"store": store.store_id, "domain": store.domain, "remedy": remedy}
    _log.warning("plan requested", extra={**facts, "plan": store.subscription.plan})
    smtp = visit.services.settings.smtp
    if smtp is not None:
        request_text = (
            f"{store.domain} has the plan {store.subscription.plan} and asks for another."
        )
        text = (
            f"{request_text}\n\nAsked by: {visit.user.email or 'the owner'}\n\n{remedy}\n"
        )
        operator, subject = parseaddr(smtp.sender)[1], f"A plan for {store.domain}"
        contact = store.settings.contact_email or visit.user.email or ""
        with contextlib.suppress(MailError):  # it is logged
            send_mail(smtp, operator, subject, text, reply_to=contact)
    return visit.redirect(
        f"{ACCOUNT_PATH}#plan", "We have told the operator of this service."
    )


def _origin_variants(origin: str) -> list[str]:
    """Return the same site with or without `www.`, and with the other scheme."""
    scheme, _, host = origin.partition("://")
    other = host.removeprefix(_WWW) if host.startswith(_WWW) else _WWW + host
    return [f"{scheme}://{other}", f"{_SCHEMES.get(scheme, scheme)}://{host}"]


def _secret_key_rows(
    store: Store,
    last_uses: Mapping[str, int],
    last_addresses: Mapping[str, str],
    now_ms: int,
) -> list[SecretKeyRow]:
    """Return the valid secret keys, the newest first."""
    prefix = SECRET_PREFIX + (TEST_KEY_PREFIX if store.is_sandbox else "")
    return [
        SecretKeyRow(
            f"{prefix}…{key.end}",
            key.made_at,
            last_uses.get(key.key_id),
            last_addresses.get(key.key_id, ""),
            key.expires_at,
        )
        for key in store.secrets.active_keys(now_ms)
    ]


def show_keys_and_plan(
    visit: Visit,
    *,
    status: int = 200,
    secret: str = "",
    origin: str = "",
    origin_error: str = "",
) -> Reply:
    """Show keys, origins, plan and usage."""
    store = find_store(visit.database, visit.store.domain)
    with visit.database.reading() as connection:
        items = CatalogRepository(connection, store.store_id).size()
        key_uses = KeyUseRepository(connection, store.store_id)
        uses, addresses = key_uses.last_uses(), key_uses.last_addresses()
    plans = visit.services.settings.plans
    usage = read_plan_usage(visit.database, store, plans, visit.now_ms)
    return visit.render(
        "account.html",
        status=status,
        secret=secret,
        keys=_secret_key_rows(store, uses, addresses, visit.system_ms),
        overlaps=list(OVERLAPS.items()),
        origin=origin,
        origin_error=origin_error,
        shop=store,
        origins=sorted(store.origins),
        usage=usage,
        state=_STATES[usage.notice.status if usage.notice else ""],
        items=items,
        is_owner=visit.user.role is Role.OWNER,
    )


PAGES: Final = (
    Page(ACCOUNT_PATH, "Keys and plan", show_keys_and_plan, group=NavigationGroup.SETTINGS),
    *form_pages(
        ACCOUNT_PATH,
        "Keys and plan",
        ("secret", replace_secret_key, "Replaced the secret key"),
        ("secret/revoke", revoke_secret_key, "Revoked a secret key"),
        ("origins/add", add_allowed_origin, "Added an origin"),
        ("origins/remove", remove_allowed_origin, "Removed an origin"),
        may_change=Role.OWNER,
    ),
    *form_pages(
        ACCOUNT_PATH,
        "Keys and plan",
        ("plan/ask", ask_operator_for_plan, "Asked for a plan"),
    ),
)
