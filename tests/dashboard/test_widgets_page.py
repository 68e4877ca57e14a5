"""Widgets page: settings are edited, previewed, compared, saved and reset."""

import html
import json
import re
from typing import Any

import pytest

from productrecs.features.widgets.colour_contrast import (
    BLACK,
    WHITE,
    accent_contrasts,
    contrast_ratio,
    parse_plain_colour,
)
from productrecs.features.widgets.repository import WidgetRepository
from productrecs.features.widgets.widget_config import WidgetConfig, WidgetConfigChange
from productrecs.features.widgets.widget_settings import WIDGET_SETTINGS
from productrecs.tenancy.accounts.store import Store
from tests.dashboard.conftest import Office
from tests.support.dashboard import text_of
from tests.support.filled_store import open_store
from tests.support.service import Reply

PAGE = "/dashboard/widgets"
CHOSEN = {
    "layout": "grid",
    "title": "Noch mehr",
    "columns": "3",
    "columns_mobile": "1",
    "num": "6",
    "currency": "CHF",
    "locale": "de-CH",
    "theme": "light",
    "accent_color": "#0f766e",
    "corner_radius": "0",
    "gap": "8",
    "image_ratio": "4 / 5",
    "image_fit": "contain",
    "show_price": "off",
    "show_add_to_cart": "on",
    "open_in_new_tab": "on",
    "badges": "trending = Beliebt\nbuy = Oft gekauft",
    "strings": "add = In den Korb",
}


def saved(office: Office, store: Store, widget_type: str = "recs") -> WidgetConfig:
    """Return what is saved."""
    with office.services.database.reading() as connection:
        return WidgetRepository(connection, store.store_id).find(widget_type)


def previewed(reply: Reply) -> dict[str, Any]:
    """Return the data that the document of a preview was given."""
    page = reply.body.decode()
    data = page.partition('id="told">')[2].partition("</script>")[0]
    found: dict[str, Any] = json.loads(data)
    return found


def drafted(reply: Reply) -> dict[str, Any]:
    """Return the draft that a reply hands to the preview."""
    match = re.search(r'data-draft="([^"]*)"', reply.body.decode())
    assert match is not None
    found: dict[str, Any] = json.loads(html.unescape(match[1]))
    return found


def test_every_setting_has_a_field_that_saves_it(office: Office, store: Store) -> None:
    member = office.member(store)
    assert {*CHOSEN} == {setting.name for setting in WIDGET_SETTINGS}

    css = ".card {\r\n  color: red }"
    reply = member.post(PAGE, page=PAGE, custom_css=css, everywhere="on", **CHOSEN)

    assert reply.status == 303, text_of(reply)
    config = saved(office, store)
    assert config.settings["columns"] == 3
    assert config.settings["show_price"] is False
    assert config.settings["badges"] == {"trending": "Beliebt", "buy": "Oft gekauft"}
    assert {*config.settings} == {*CHOSEN}
    assert (config.custom_css, config.scoped) == (".card {\n  color: red }", False)
    page = member.get(PAGE)
    for value in CHOSEN.values():
        assert html.escape(value) in page.body.decode()
    assert "Everything is saved." in text_of(page)


def test_the_form_as_it_is_shown_changes_nothing(office: Office, store: Store) -> None:
    change = WidgetConfigChange({"columns": 5, "title": "", "own_key": [1]}, "a{}", None)
    with office.services.database.transaction() as transaction:
        repository = WidgetRepository(transaction, store.store_id)
        before = repository.merge_change("recs", change, 0)
    member = office.member(store)

    member.post(PAGE, page=PAGE, columns="5", no_title="on", custom_css="a{}")

    assert saved(office, store) == before


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("columns", "99", "12"),
        ("columns", "many", "whole number from 1 to 12"),
        ("currency", "euros", "three letters"),
        ("locale", "!", "such as de-AT"),
        ("badges", "nothing", "name = text"),
        ("accent_color", "x" * 65, "64"),
        ("accent_color", "blueish", "blueish is not a colour; write for example #0f766e"),
    ],
)
def test_an_error_is_shown_beside_its_field_and_nothing_is_lost(
    office: Office, store: Store, name: str, value: str, words: str
) -> None:
    member = office.member(store)

    reply = member.post(PAGE, page=PAGE, **{"title": "Kept", name: value})

    assert reply.status == 422
    page = reply.body.decode()
    error = page.partition(f'class="error" id="d-{name}">')[2].partition("</p>")[0]
    assert words in html.unescape(error)
    assert value in page
    assert 'value="Kept"' in page
    assert saved(office, store) == WidgetConfig()


def test_a_draft_is_compared_and_previewed_and_not_saved(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    fields = {"layout": "grid", "accent_color": "#9ca3af", "columns": "bad"}

    live = member.post(f"{PAGE}/draft", page=PAGE, **fields)
    shown = member.post(f"{PAGE}/preview", page=PAGE, **fields)

    text = " ".join(text_of(live).split())
    assert "Layout default (carousel) grid" in text
    assert "Text on buttons: contrast 8.3 : 1 readable" in text
    assert "Outlined buttons on a white page: contrast 2.5 : 1 hard to read" in text
    assert "Some fields cannot be used yet" in text
    assert drafted(live)["settings"]["layout"] == "grid"
    assert previewed(shown)["config"]["settings"]["layout"] == "grid"
    assert previewed(shown)["config"]["settings"]["columns"] == 4
    assert saved(office, store) == WidgetConfig()


def test_the_preview_shows_own_products_under_its_own_policy(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    empty = member.get(f"{PAGE}/preview")
    assert "Your catalog is empty" in text_of(empty)

    path = f"{PAGE}/preview?type=fbt"
    policy = member.get(path).header("content-security-policy") or ""

    assert "script-src 'self';" in policy
    assert "frame-ancestors 'self'" in policy
    assert member.get(path).header("x-frame-options") == "SAMEORIGIN"
    assert "frame-ancestors 'none'" in (
        member.get(PAGE).header("content-security-policy") or ""
    )


def test_the_preview_shows_only_products_that_the_shop_may_show(office: Office) -> None:
    domain = f"lamps-{office.now_ms}.example"
    made = open_store(
        office.services.database, office.services.clock, office.inside, domain
    )
    old = {"id": "old", "title": "Old", "availability": "discontinued"}
    gone = {"id": "gone", "title": "Gone", "stock_qty": 0}
    made.merchant.push({"id": "lamp", "title": "Lamp"}, old, gone)

    reply = office.member(made.store).get(f"{PAGE}/preview?type=fbt")

    assert [product["id"] for product in previewed(reply)["products"]] == ["lamp"]


def test_reset_goes_back_to_the_defaults(office: Office, store: Store) -> None:
    member = office.member(store)
    member.post(PAGE, page=PAGE, type="fbt", columns="2", custom_css="a{}")
    assert "Reset to default" in text_of(member.get(f"{PAGE}?type=fbt"))

    reply = member.post(f"{PAGE}/reset", page=PAGE, type="fbt")

    assert reply.status == 303
    assert saved(office, store, "fbt") == WidgetConfig()
    assert "Reset to default" not in text_of(member.get(f"{PAGE}?type=fbt"))


def test_embed_code_names_the_store(office: Office, store: Store) -> None:
    page = text_of(office.member(store).get(f"{PAGE}?type=cart"))

    assert f"/widget/v1/{store.domain}.js" in page
    assert '<product-recs data-type="cart" data-item-ids="YOUR_PRODUCT_ID">' in page
    assert "{{ product.handle }}" in page
    assert '[product_recs type="cart"]' in page
    for name in ("Shopify", "WooCommerce", "Magento", "PrestaShop", "OpenCart"):
        assert f"Guide: {name}" in page


def test_an_unknown_type_is_not_found(office: Office, store: Store) -> None:
    assert office.member(store).get(f"{PAGE}?type=No%20Type").status == 404


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [("#000", "#fff", 21.0), ("#767676", "white", 4.54), ("rgb(255,0,0)", "#fff", 4.0)],
)
def test_contrast_is_that_of_wcag(one: str, other: str, ratio: float) -> None:
    first, second = parse_plain_colour(one), parse_plain_colour(other)
    assert first is not None
    assert second is not None
    assert contrast_ratio(first, second) == pytest.approx(ratio, abs=0.01)
    assert contrast_ratio(second, first) == contrast_ratio(first, second)


def test_colours_that_only_a_page_knows_are_not_judged() -> None:
    assert accent_contrasts("var(--brand)", "auto") is None
    assert parse_plain_colour("black") == BLACK
    assert parse_plain_colour("#FFF") == WHITE
    assert len(accent_contrasts("#0f766e", "light") or []) == 2
