"""Widgets page: the appearance of each widget type, its preview and its embed code."""

import json
from types import MappingProxyType
from typing import Any, Final

import msgspec

from productrecs.dashboard.page import Group, NotFoundError, Page, Reply, Visit
from productrecs.dashboard.pages.connect.widget_settings_form import (
    Draft,
    differences,
    fields_of,
    has_no_title,
    read_form,
    reset_of,
)
from productrecs.features.guides.developer_guide_rendering import (
    EmbedSnippet,
    embed_snippets,
)
from productrecs.features.looks.look import Look
from productrecs.features.widgets.repository import WidgetRepository
from productrecs.features.widgets.widget_config import (
    TooManyWidgetTypesError,
    WidgetConfig,
    WidgetConfigTooLargeError,
    is_widget_type,
)
from productrecs.features.widgets.widget_settings import (
    DEFAULT_TYPE,
    MIN_CONTRAST,
    check_accent,
    default_title,
)
from productrecs.http.pipeline.route_declaration import LOOK_PICTURE_PATH
from productrecs.http.routes.public.embed_code import live_tags, widget_element
from productrecs.http.routes.widget.looks import look_reply
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.serving.cards import safe_url

WIDGETS_PATH: Final = "/dashboard/widgets"
PREVIEW_PATH: Final = f"{WIDGETS_PATH}/preview"
TYPES: Final = ("recs", "fbt", "cart", "trending", "search", "look")
WIDGET_NAMES: Final = MappingProxyType({one: default_title(one, "en") for one in TYPES})
_PLATFORMS: Final = (
    ("shopify", "Shopify"),
    ("magento", "Magento"),
    ("prestashop", "PrestaShop"),
    ("opencart", "OpenCart"),
)
_SHOWN: Final = 24
_SEARCHED: Final = 200
# The shop's pictures are on any host, and the merchant's CSS is inline.
_PREVIEW_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' https: http: data:; font-src 'self' https: data:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)


def show_widgets(visit: Visit) -> Reply:
    """Show the form of one widget type with its preview."""
    widget_type = _type_of(visit.query["type"])
    return _widgets(visit, widget_type, _saved(visit, widget_type))


def save_widget(visit: Visit) -> Reply:
    """Save the settings of a widget type."""
    widget_type = _type_of(visit.form["type"])
    draft = read_form(visit.form)
    if draft.errors:
        return _widgets(visit, widget_type, _saved(visit, widget_type), draft)
    try:
        with visit.database.transaction() as transaction:
            repository = WidgetRepository(transaction, visit.store.store_id)
            repository.change(widget_type, draft.change, visit.now_ms)
    except (WidgetConfigTooLargeError, TooManyWidgetTypesError) as error:
        too_large = Draft(draft.change, {"strings": f"{str(error).capitalize()}."})
        return _widgets(visit, widget_type, _saved(visit, widget_type), too_large)
    return visit.redirect(
        f"{WIDGETS_PATH}?type={widget_type}", "Saved. Your shop shows it within a minute."
    )


def reset_widget(visit: Visit) -> Reply:
    """Reset a widget type to its defaults."""
    widget_type = _type_of(visit.form["type"])
    with visit.database.transaction() as transaction:
        repository = WidgetRepository(transaction, visit.store.store_id)
        change = reset_of(repository.find(widget_type))
        repository.change(widget_type, change, visit.now_ms)
    return visit.redirect(
        f"{WIDGETS_PATH}?type={widget_type}", "Every setting has its default again."
    )


def show_draft(visit: Visit) -> Reply:
    """Answer the form while it is edited: the changes, and the preview's settings."""
    widget_type = _type_of(visit.form["type"])
    saved, draft = _saved(visit, widget_type), read_form(visit.form)
    return visit.render("widget_draft.html", **_live(visit, widget_type, saved, draft))


def show_preview(visit: Visit) -> Reply:
    """Show the saved appearance on the shop's own products."""
    widget_type = _type_of(visit.query["type"])
    return _preview(visit, widget_type, _saved(visit, widget_type))


def preview_draft(visit: Visit) -> Reply:
    """Show the unsaved form on the shop's own products."""
    widget_type = _type_of(visit.form["type"])
    changed = _changed(_saved(visit, widget_type), read_form(visit.form))
    return _preview(visit, widget_type, changed)


def _widgets(
    visit: Visit, widget_type: str, saved: WidgetConfig, draft: Draft | None = None
) -> Reply:
    form = None if draft is None else visit.form
    errors = {} if draft is None else draft.errors
    with visit.database.reading() as connection:
        others = WidgetRepository(connection, visit.store.store_id).all()
    store = visit.store.settings
    live = _live(visit, widget_type, saved, draft)
    css = form.as_typed("custom_css") if form is not None else saved.custom_css or ""
    return visit.render(
        "widgets.html",
        status=422 if errors else 200,
        types=_titles([*TYPES, *(one for one in others if one not in TYPES)]),
        groups=fields_of(widget_type, saved, store, form, errors),
        no_title=has_no_title(saved, form),
        css=css,
        css_error=errors.get("custom_css", ""),
        everywhere="everywhere" in form if form is not None else saved.scoped is False,
        is_default=saved == WidgetConfig(),
        platforms=_platform_snippets(visit, widget_type),
        **live,
    )


def _live(
    visit: Visit, widget_type: str, saved: WidgetConfig, draft: Draft | None
) -> dict[str, Any]:
    """Return the live parts of the form: changes, contrast and the preview's settings."""
    store = visit.store.settings
    config = saved if draft is None else _changed(saved, draft)
    shown = config.resolved(widget_type, store)
    accent = str(shown.settings.get("accent_color") or "")
    checks = check_accent(accent, str(shown.settings["theme"])) if accent else []
    return {
        "widget_type": widget_type,
        "accent": accent,
        "checks": checks and [(one.where, one.ratio, one.is_readable) for one in checks],
        "enough": MIN_CONTRAST,
        "differences": differences(saved, config, widget_type, store),
        "errors": {} if draft is None else draft.errors,
        "told": json.dumps(_told(widget_type, shown)),
    }


def _changed(saved: WidgetConfig, draft: Draft) -> WidgetConfig:
    """Return the saved settings with a draft's changes, unless they are too large."""
    try:
        return saved.changed(draft.change)
    except WidgetConfigTooLargeError:
        return saved


def _told(widget_type: str, shown: WidgetConfig) -> dict[str, Any]:
    return {
        "type": widget_type,
        "settings": dict(shown.settings),
        "custom_css": shown.custom_css,
        "scoped": shown.scoped,
    }


def look_preview(visit: Visit, look: Look) -> Reply:
    """Show a look, published or not, with the saved appearance of looks."""
    return _preview(visit, "look", _saved(visit, "look"), look)


def _preview(
    visit: Visit,
    widget_type: str,
    config: WidgetConfig,
    look: Look | None = None,
) -> Reply:
    products = _products(visit)
    shown = config.resolved(widget_type, visit.store.settings)
    first = products[0]["id"] if products else ""
    if widget_type == "look" and look is None:
        look = next(reversed(visit.opened.looks.newest.values()), None)
    if look is not None:
        first = look.content.item_id
    scripts = dict(zip(("recs", "search", "look"), _addresses(visit), strict=True))
    reply = visit.render(
        "widget_preview.html",
        kind=widget_type if widget_type in scripts else "recs",
        widget_type=widget_type,
        script=scripts.get(widget_type, scripts["recs"]),
        item=first,
        word=(products[0]["title"].split() or [""])[0] if products else "",
        language=str(shown.settings["locale"]).partition("-")[0],
        told={
            "config": _told(widget_type, shown),
            "products": products,
            "look": None if look is None else _drawn(visit, look),
        },
    )
    headers = {
        "content-security-policy": _PREVIEW_POLICY,
        "x-frame-options": "SAMEORIGIN",
    }
    return Reply(reply.status, reply.template, reply.values, headers=headers)


def _drawn(visit: Visit, look: Look) -> Any:
    """Return the service's reply for a look; its cards are encoded bytes."""
    content = look.content
    address = safe_url(content.image_url)
    if content.picture_id:
        address = LOOK_PICTURE_PATH.format(
            store_domain=visit.store.domain, picture_id=content.picture_id
        )
    reply = look_reply(look, address or "", visit.opened, visit.now_ms)
    return json.loads(msgspec.json.encode(reply))


def _addresses(visit: Visit) -> list[str]:
    """Return the paths of the scripts, on the dashboard's host."""
    return [
        tag.partition('src="')[2].partition('"')[0]
        for tag in live_tags("", visit.store.domain)
    ]


def _products(visit: Visit) -> list[dict[str, Any]]:
    """Return some of the shop's products as cards, those with a picture first."""
    with visit.database.reading() as connection:
        page = CatalogRepository(connection, visit.store.store_id).page(-1, _SEARCHED)
    items = sorted((one.item for one in page), key=lambda item: not item.image_url)
    return [
        {
            "id": item.item_id,
            "title": item.title,
            "price": item.price,
            "image_url": safe_url(item.image_url),
            "product_url": safe_url(item.product_url),
            "source": "mix",
        }
        for item in items[:_SHOWN]
    ]


def _platform_snippets(
    visit: Visit, widget_type: str
) -> list[tuple[str, str, list[EmbedSnippet]]]:
    """Return the platforms: name, guide and snippets."""
    base, domain = visit.base_url, visit.store.domain
    recs, search, look = live_tags(base, domain)
    place = "Where it should stand"
    code = {
        "search": [EmbedSnippet("In the head of your pages", search)],
        "look": [
            EmbedSnippet("In the head of your pages", look),
            EmbedSnippet(place, widget_element("look")),
        ],
    }
    html = code.get(widget_type) or [
        EmbedSnippet("In the head of your pages", recs),
        EmbedSnippet(place, widget_element(widget_type)),
    ]
    woo = [
        EmbedSnippet(
            "Install the plugin from this address; it places the widgets by switches",
            f"{base}/plugin/service-recommender.zip",
        ),
        EmbedSnippet("Other places: a shortcode", f'[product_recs type="{widget_type}"]'),
    ]
    return [
        ("Any shop (HTML)", "widgets", html),
        ("WooCommerce", "woocommerce", woo),
        *((name, slug, embed_snippets(slug, base, domain)) for slug, name in _PLATFORMS),
    ]


def _titles(types: list[str]) -> list[tuple[str, str]]:
    return [(one, WIDGET_NAMES.get(one, one)) for one in types]


def _saved(visit: Visit, widget_type: str) -> WidgetConfig:
    with visit.database.reading() as connection:
        return WidgetRepository(connection, visit.store.store_id).find(widget_type)


def _type_of(text: str) -> str:
    """Return a widget type; the default if none is named.

    Raises:
        NotFoundError: when it is not a valid type name.
    """
    if text and not is_widget_type(text):
        message = "There is no widget type of this name."
        raise NotFoundError(message)
    return text or DEFAULT_TYPE


PAGES: Final = (
    Page(
        WIDGETS_PATH,
        "Widgets",
        show_widgets,
        save_widget,
        group=Group.CONNECT,
        action="Changed a widget's appearance",
    ),
    Page(
        f"{WIDGETS_PATH}/reset",
        "Widgets",
        None,
        reset_widget,
        action="Reset a widget's appearance",
    ),
    Page(f"{WIDGETS_PATH}/draft", "Widgets", None, show_draft, is_audited=False),
    Page(PREVIEW_PATH, "Preview", show_preview, preview_draft, is_audited=False),
)
