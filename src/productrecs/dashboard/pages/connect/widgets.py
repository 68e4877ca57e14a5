"""Widgets page: the appearance of each widget type, its preview and its embed code."""

import json
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import msgspec

from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    Visit,
    form_pages,
)
from productrecs.dashboard.pages.connect.widget_settings_form import (
    ParsedWidgetForm,
    change_to_defaults,
    describe_changed_settings,
    grouped_form_fields,
    has_no_title,
    parse_settings_form,
)
from productrecs.features.guides.developer_guide_rendering import (
    EmbedSnippet,
    embed_snippets,
)
from productrecs.features.looks.look import Look
from productrecs.features.recommendations.source_recipes import PageType
from productrecs.features.widgets.colour_contrast import (
    MIN_CONTRAST,
    accent_contrasts,
)
from productrecs.features.widgets.repository import WidgetRepository
from productrecs.features.widgets.widget_config import (
    TooManyWidgetTypesError,
    WidgetConfig,
    WidgetConfigTooLargeError,
    is_widget_type,
)
from productrecs.features.widgets.widget_settings import DEFAULT_TYPE, default_title
from productrecs.http.pipeline.route_declaration import LOOK_PICTURE_PATH
from productrecs.http.routes.public.embed_code import live_script_tags, widget_element
from productrecs.http.routes.widget.looks import look_fields_with_products
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.serving.product_cards import safe_url

WIDGETS_PATH: Final = "/dashboard/widgets"
PREVIEW_PATH: Final = f"{WIDGETS_PATH}/preview"
TYPES: Final = ("recs", "fbt", "cart", "home", "thanks", "trending", "search", "look")
WIDGET_NAMES: Final = MappingProxyType(
    {widget_type: default_title(widget_type, "en") for widget_type in TYPES}
    | {"home": "Home page", "thanks": "Thank-you page"}
)
_PLATFORMS: Final = (
    ("shopify", "Shopify"),
    ("magento", "Magento"),
    ("prestashop", "PrestaShop"),
    ("opencart", "OpenCart"),
)
_SHOWN: Final = 24
_READ_LIMIT: Final = 200
# The shop's pictures are on any host, and the merchant's CSS is inline.
_PREVIEW_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' https: http: data:; font-src 'self' https: data:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)


def show_widgets(visit: Visit) -> Reply:
    """Show the form of one widget type with its preview."""
    widget_type = _widget_type_or_default(visit.query["type"])
    return _widgets_page(visit, widget_type, _read_saved_config(visit, widget_type))


def save_widget_settings(visit: Visit) -> Reply:
    """Save the settings of a widget type."""
    widget_type = _widget_type_or_default(visit.form["type"])
    draft = parse_settings_form(visit.form)
    if draft.errors:
        return _widgets_page(
            visit, widget_type, _read_saved_config(visit, widget_type), draft
        )
    try:
        with visit.database.transaction() as transaction:
            repository = WidgetRepository(transaction, visit.store.store_id)
            repository.merge_change(widget_type, draft.change, visit.now_ms)
    except (WidgetConfigTooLargeError, TooManyWidgetTypesError) as error:
        too_large = ParsedWidgetForm(
            draft.change, {"strings": f"{str(error).capitalize()}."}
        )
        return _widgets_page(
            visit, widget_type, _read_saved_config(visit, widget_type), too_large
        )
    return visit.redirect(
        f"{WIDGETS_PATH}?type={widget_type}", "Saved. Your shop shows it within a minute."
    )


def reset_widget_settings(visit: Visit) -> Reply:
    """Reset a widget type to its defaults."""
    widget_type = _widget_type_or_default(visit.form["type"])
    with visit.database.transaction() as transaction:
        repository = WidgetRepository(transaction, visit.store.store_id)
        change = change_to_defaults(repository.find(widget_type))
        repository.merge_change(widget_type, change, visit.now_ms)
    return visit.redirect(
        f"{WIDGETS_PATH}?type={widget_type}", "Every setting has its default again."
    )


def show_draft_changes(visit: Visit) -> Reply:
    """Answer the form while it is edited: the changes, and the preview's settings."""
    widget_type = _widget_type_or_default(visit.form["type"])
    saved, draft = _read_saved_config(visit, widget_type), parse_settings_form(visit.form)
    return visit.render(
        "widget_draft.html", **_live_form_values(visit, widget_type, saved, draft)
    )


def show_saved_preview(visit: Visit) -> Reply:
    """Show the saved appearance on the shop's own products."""
    widget_type = _widget_type_or_default(visit.query["type"])
    return _widget_preview_page(visit, widget_type, _read_saved_config(visit, widget_type))


def preview_widget_draft(visit: Visit) -> Reply:
    """Show the unsaved form on the shop's own products."""
    widget_type = _widget_type_or_default(visit.form["type"])
    changed = _apply_draft(
        _read_saved_config(visit, widget_type), parse_settings_form(visit.form)
    )
    return _widget_preview_page(visit, widget_type, changed)


def _widgets_page(
    visit: Visit,
    widget_type: str,
    saved: WidgetConfig,
    draft: ParsedWidgetForm | None = None,
) -> Reply:
    form = None if draft is None else visit.form
    errors = {} if draft is None else draft.errors
    with visit.database.reading() as connection:
        stored_types = WidgetRepository(connection, visit.store.store_id).all()
    store = visit.store.settings
    live_values = _live_form_values(visit, widget_type, saved, draft)
    css = form.as_typed("custom_css") if form is not None else saved.custom_css or ""
    return visit.render(
        "widgets.html",
        status=422 if errors else 200,
        types=[
            (name, WIDGET_NAMES.get(name, name))
            for name in dict.fromkeys((*TYPES, *stored_types))
        ],
        groups=grouped_form_fields(widget_type, saved, store, form, errors),
        no_title=has_no_title(saved, form),
        css=css,
        css_error=errors.get("custom_css", ""),
        everywhere="everywhere" in form if form is not None else saved.scoped is False,
        is_default=saved == WidgetConfig(),
        platforms=_platform_embed_snippets(visit, widget_type),
        **live_values,
    )


def _live_form_values(
    visit: Visit, widget_type: str, saved: WidgetConfig, draft: ParsedWidgetForm | None
) -> dict[str, Any]:
    """Return the live parts of the form: changes, contrast and the preview's settings."""
    store = visit.store.settings
    config = saved if draft is None else _apply_draft(saved, draft)
    resolved = config.with_defaults(widget_type, store)
    accent = str(resolved.settings.get("accent_color") or "")
    checks = accent_contrasts(accent, str(resolved.settings["theme"])) if accent else []
    return {
        "widget_type": widget_type,
        "accent": accent,
        "checks": checks
        and [(check.where, check.ratio, check.is_readable) for check in checks],
        "enough": MIN_CONTRAST,
        "differences": describe_changed_settings(saved, config, widget_type, store),
        "errors": {} if draft is None else draft.errors,
        "told": json.dumps(_preview_config_fields(widget_type, resolved)),
    }


def _apply_draft(saved: WidgetConfig, draft: ParsedWidgetForm) -> WidgetConfig:
    """Return the saved settings with a draft's changes, unless they are too large."""
    try:
        return saved.merged_with(draft.change)
    except WidgetConfigTooLargeError:
        return saved


def _preview_config_fields(widget_type: str, shown: WidgetConfig) -> dict[str, Any]:
    return {
        "type": widget_type,
        "settings": dict(shown.settings),
        "custom_css": shown.custom_css,
        "scoped": shown.scoped,
    }


def render_look_preview(visit: Visit, look: Look) -> Reply:
    """Show a look, published or not, with the saved appearance of looks."""
    return _widget_preview_page(visit, "look", _read_saved_config(visit, "look"), look)


def _widget_preview_page(
    visit: Visit,
    widget_type: str,
    config: WidgetConfig,
    look: Look | None = None,
) -> Reply:
    products = _sample_cards(visit)
    resolved = config.with_defaults(widget_type, visit.store.settings)
    item_id = products[0]["id"] if products else ""
    if widget_type == "look" and look is None:
        look = next(reversed(visit.cached_store.looks.newest.values()), None)
    if look is not None:
        item_id = look.content.item_id
    scripts = dict(
        zip(("recs", "search", "look"), _widget_script_paths(visit), strict=True)
    )
    reply = visit.render(
        "widget_preview.html",
        kind=widget_type if widget_type in scripts else "recs",
        widget_type=widget_type,
        script=scripts.get(widget_type, scripts["recs"]),
        item=item_id,
        word=(products[0]["title"].split() or [""])[0] if products else "",
        language=str(resolved.settings["locale"]).partition("-")[0],
        told={
            "config": _preview_config_fields(widget_type, resolved),
            "products": products,
            "look": None if look is None else _look_reply_fields(visit, look),
        },
    )
    headers = {
        "content-security-policy": _PREVIEW_POLICY,
        "x-frame-options": "SAMEORIGIN",
    }
    return replace(reply, headers=headers)


def _look_reply_fields(visit: Visit, look: Look) -> Any:
    """Return the service's reply for a look; its cards are encoded bytes."""
    content = look.content
    address = safe_url(content.image_url)
    if content.picture_id:
        address = LOOK_PICTURE_PATH.format(
            store_domain=visit.store.domain, picture_id=content.picture_id
        )
    reply = look_fields_with_products(look, address or "", visit.cached_store, visit.now_ms)
    return json.loads(msgspec.json.encode(reply))


def _widget_script_paths(visit: Visit) -> list[str]:
    """Return the paths of the scripts, on the dashboard's host."""
    return [
        tag.partition('src="')[2].partition('"')[0]
        for tag in live_script_tags("", visit.store.domain)
    ]


def _sample_cards(visit: Visit) -> list[dict[str, Any]]:
    """Return some products that the shop may show as cards, those with a picture first."""
    eligible = visit.cached_store.state.eligible_items(visit.now_ms, PageType.PRODUCT)
    with visit.database.reading() as connection:
        page = CatalogRepository(connection, visit.store.store_id).page(-1, _READ_LIMIT)
    shown = (row.item for row in page if eligible.may_show(row.number))
    items = sorted(shown, key=lambda item: not item.image_url)
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


def _platform_embed_snippets(
    visit: Visit, widget_type: str
) -> list[tuple[str, str, list[EmbedSnippet]]]:
    """Return the platforms: name, guide and snippets."""
    base, domain = visit.base_url, visit.store.domain
    recs, search, look = live_script_tags(base, domain)
    where = "Where it should stand"
    snippets_by_type = {
        "search": [EmbedSnippet("In the head of your pages", search)],
        "look": [
            EmbedSnippet("In the head of your pages", look),
            EmbedSnippet(where, widget_element("look")),
        ],
    }
    html = snippets_by_type.get(widget_type) or [
        EmbedSnippet("In the head of your pages", recs),
        EmbedSnippet(where, widget_element(widget_type)),
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


def _read_saved_config(visit: Visit, widget_type: str) -> WidgetConfig:
    with visit.database.reading() as connection:
        return WidgetRepository(connection, visit.store.store_id).find(widget_type)


def _widget_type_or_default(text: str) -> str:
    """Return a widget type; the default if none is named.

    Raises:
        PageOrRecordNotFoundError: when it is not a valid type name.
    """
    if text and not is_widget_type(text):
        message = "There is no widget type of this name."
        raise PageOrRecordNotFoundError(message)
    return text or DEFAULT_TYPE


PAGES: Final = (
    Page(
        WIDGETS_PATH,
        "Widgets",
        show_widgets,
        save_widget_settings,
        group=NavigationGroup.CONNECT,
        action="Changed a widget's appearance",
    ),
    *form_pages(
        WIDGETS_PATH,
        "Widgets",
        ("reset", reset_widget_settings, "Reset a widget's appearance"),
    ),
    Page(f"{WIDGETS_PATH}/draft", "Widgets", None, show_draft_changes, is_audited=False),
    Page(
        PREVIEW_PATH, "Preview", show_saved_preview, preview_widget_draft, is_audited=False
    ),
)
