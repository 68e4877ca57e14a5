"""Embed code: the script tags and elements that shops put on their pages."""

from collections.abc import Iterator
from html import escape
from typing import Final

from productrecs.features.widgets.widget_settings import DEFAULT_TYPE
from productrecs.http.pipeline.route_declaration import (
    LOOK_SCRIPT_PATH,
    SCRIPT_PATH,
    SEARCH_SCRIPT_PATH,
)

YOUR_PRODUCT: Final = "YOUR_PRODUCT_ID"
_ITEM_ATTRIBUTES: Final = {
    "cart": "data-item-ids",
    "thanks": "data-item-ids",
    "home": "",
    "trending": "",
}


def live_script_tags(base_url: str, domain: str) -> Iterator[str]:
    """Return what pages of a shop embed, one tag a script."""
    for path in (SCRIPT_PATH, SEARCH_SCRIPT_PATH, LOOK_SCRIPT_PATH):
        yield f'<script async src="{base_url}{path.format(store_domain=domain)}"></script>'


def widget_element(
    widget_type: str = DEFAULT_TYPE,
    *,
    item: str = YOUR_PRODUCT,
    placement: str = "",
    is_bundle: bool = False,
) -> str:
    """Return the element of a widget, or of a placement; `item` is the page's product."""
    if widget_type == "look":
        return f'<product-look data-item-id="{escape(item)}"></product-look>'
    attributes = {
        "data-type": "" if widget_type == DEFAULT_TYPE else widget_type,
        "data-source": "browse" if widget_type == "home" else "",
        "placement": placement,
        "data-layout": "fbt" if is_bundle else "",
        _ITEM_ATTRIBUTES.get(widget_type, "data-item-id"): item,
    }
    attribute_texts = [
        f' {name}="{escape(text)}"' for name, text in attributes.items() if name and text
    ]
    bundle_attribute = " data-allow-duplicates" if is_bundle else ""
    return f"<product-recs{''.join(attribute_texts)}{bundle_attribute}></product-recs>"
