"""Rendering: Jinja2 templates with autoescaping, and the context of the page layout."""

from importlib import resources
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from productrecs.core.cache_registry import Cache, memoized
from productrecs.entrypoints.http.dashboard.page import Reply, Visit
from productrecs.entrypoints.http.dashboard.registry import navigation
from productrecs.entrypoints.http.pipeline.conditional_response import content_digest

_ROOM: Final = __package__
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
    user = None if visit.session is None else visit.user
    values = {
        "visit": visit,
        "page": visit.page,
        "title": visit.page.title,
        "store": visit.known_store,
        "user": user,
        "navigation": [] if user is None else list(navigation()),
        "fmt": visit.formats,
        "now_ms": visit.now_ms,
        "flash": flash,
        "may_change": visit.may_change,
        "csrf": visit.csrf_token(),
        **reply.values,
    }
    return _environment().get_template(reply.template or "").render(values)


def render_error(visit: Visit, status: int, message: str) -> Reply:
    """Return the error page: what happened, and the next step."""
    title = _TITLES.get(status, "This did not work")
    shown = message[:1].upper() + message[1:]
    if not shown.endswith((".", "!", "?")):
        shown += "."
    return visit.render("error.html", status=status, title=title, message=shown)


@memoized(Cache.CONSTANTS)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_ROOM),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["asset"] = asset_address
    return environment


@memoized(Cache.PACKAGE_FILES)
def asset_address(name: str) -> str:
    """Return the address of a file of `static`, which changes with its content."""
    content = (resources.files(_ROOM) / "static" / name).read_bytes()
    return f"/dashboard/static/{name}?v={content_digest(content)[:12]}"
