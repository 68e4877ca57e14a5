"""Page rendering: a page in its layout, by Jinja2 templates with autoescaping."""

from dataclasses import dataclass
from importlib import resources
from typing import Final
from urllib.parse import unquote

from jinja2 import Environment, PackageLoader, StrictUndefined

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.core.ids import StoreId
from productrecs.dashboard.cookies import UNDO_MARK
from productrecs.dashboard.page import Reply, Visit
from productrecs.dashboard.page_registry import current_navigation_path, navigation
from productrecs.dashboard.pages.account.email_confirmation import needs_email_confirmation
from productrecs.dashboard.pages.account.registration import INVITATION, OPEN
from productrecs.http.pipeline.etag_responses import content_digest
from productrecs.http.routes.public.embed_code import widget_element
from productrecs.tenancy.users.login_and_sessions import login_in_each_store

_PACKAGE: Final = __package__
_TITLES: Final = {
    403: "Not allowed",
    404: "Not found",
    413: "Too large",
    429: "Too many attempts",
    500: "Something went wrong",
    503: "Not available right now",
}


def render_page(visit: Visit, reply: Reply, flash: str) -> str:
    """Return the HTML of a page in its layout."""
    message, _, undo = flash.partition(UNDO_MARK)
    user = None if visit.session is None else visit.user
    store = visit.known_store
    values = {
        "visit": visit,
        "page": visit.page,
        "title": visit.page.title,
        "store": store,
        "days_left": store and store.subscription.countdown_days(visit.now_ms),
        "user": user,
        "stores": _switchable_stores(visit),
        "may_add_store": user is not None
        and not user.is_from_shop
        and visit.services.settings.registration in {OPEN, INVITATION},
        "asks_to_confirm": needs_email_confirmation(visit),
        "current": current_navigation_path(visit.page.path),
        "navigation": [] if user is None else list(navigation()),
        "fmt": visit.formats,
        "now_ms": visit.now_ms,
        "is_refused": reply.status >= 400,  # noqa: PLR2004 - statuses of errors
        "flash": unquote(message),
        "undo": undo,
        "may_change": visit.may_change,
        "csrf": visit.csrf_token(),
        **reply.values,
    }
    return _template_environment().get_template(reply.template or "").render(values)


@dataclass(frozen=True, slots=True)
class _StoreChoice:
    """A store that the user may switch to."""

    store_id: StoreId
    domain: str
    role: str


def _switchable_stores(visit: Visit) -> list[_StoreChoice]:
    """Return the stores of the user's login, by domain."""
    if visit.session is None or visit.is_partial:
        return []
    found = []
    for login in login_in_each_store(visit.database, visit.user):
        store = visit.context.accounts.by_id(login.store_id)
        if store is not None:
            role = login.role.label.capitalize()
            found.append(_StoreChoice(login.store_id, store.domain, role))
    return sorted(found, key=lambda store: store.domain)


def render_error(visit: Visit, status: int, message: str) -> Reply:
    """Return the error page: what happened, and the next step."""
    title = _TITLES.get(status, "This did not work")
    shown = message[:1].upper() + message[1:]
    if not shown.endswith((".", "!", "?")):
        shown += "."
    return visit.render("error.html", status=status, title=title, message=shown)


@memoized(RegisteredCache.CONSTANTS)
def _template_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["asset"] = asset_address
    environment.globals["widget_element"] = widget_element
    return environment


@memoized(RegisteredCache.PACKAGE_FILES)
def asset_address(name: str) -> str:
    """Return the address of a file of `static`, which changes with its content."""
    content = (resources.files(_PACKAGE) / "static" / name).read_bytes()
    return f"/dashboard/static/{name}?v={content_digest(content)[:12]}"
