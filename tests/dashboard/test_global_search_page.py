"""The search box at the top of every page, without a browser."""

import pytest

from productrecs.dashboard.page import HOME_PATH
from productrecs.dashboard.page_finder import FINDABLE
from productrecs.dashboard.page_registry import PAGES, navigation
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, text_of
from tests.support.filled_store import fill, open_store


@pytest.fixture(scope="module")
def member(office: Office) -> Member:
    services = office.services
    made = open_store(services.database, services.clock, office.inside, "find.example")
    filled = fill(made, ["Oak lamp", "Oak chair", "Oak table"])
    return office.member(filled.store)


@pytest.mark.parametrize(
    ("typed", "shown", "unseen"),
    [
        ("oak chair", ["Rules", "Oak chair"], "Customer"),
        ("Oak lamp", ["Products", "Rules", "Customer"], "Nothing matches"),
        ("customers", ["Pages", "Customers"], "Products"),
        ("CUSTOM", ["Pages", "Customers"], "Nothing matches"),
        ("no such thing", ["Nothing matches “no such thing”"], "Pages"),
        ("<b>", ["Nothing matches “<b>”"], "Pages"),
        ("", ["Type the name of a page"], "Nothing matches"),
    ],
)
def test_names_find_pages_products_and_rules_and_a_whole_id_a_customer(
    member: Member, typed: str, shown: list[str], unseen: str
) -> None:
    member.headers = {"hx-request": "true"}

    found = text_of(member.get(f"/dashboard/find?q={typed.replace(' ', '+')}"))

    assert [text for text in shown if text not in found] == [], found
    assert unseen not in found


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("webhook", "/dashboard/settings/webhooks"),
        ("weekly report", "/dashboard/security"),
        ("models", "/dashboard/merchandising/settings"),
        ("newsletter", "/dashboard/widgets/mail"),
        ("mail", "/dashboard/widgets/mail"),
        ("google", "/dashboard/imports/product-feeds"),
        ("chatgpt", "/dashboard/imports/product-feeds"),
        ("synonym", "/dashboard/search"),
        ("reorder", "/dashboard/demand"),
        ("feed", "/dashboard/imports/scheduled-feed"),
        ("order", "/dashboard/demand/orders"),
        ("AI", "/dashboard/imports/shopping-assistants"),
        ("product feeds", "/dashboard/imports/product-feeds"),
    ],
)
def test_a_merchants_word_finds_the_page_before_products(
    member: Member, typed: str, first: str
) -> None:
    member.headers = {"hx-request": "true"}
    found = member.get(f"/dashboard/find?q={typed.replace(' ', '+')}").body.decode()
    assert found.split('href="')[1].partition('"')[0] == first, found


def test_guides_are_found(member: Member) -> None:
    member.headers = {"hx-request": "true"}
    assert "/guides/shopify" in member.get("/dashboard/find?q=shopify").body.decode()
    webhooks = text_of(member.get("/dashboard/find?q=webhooks")).split()
    assert webhooks == ["Pages", "Webhooks", "Guides", "Webhooks", "guide"]


def test_every_page_of_the_menu_is_found_by_its_title() -> None:
    titles = {f"{HOME_PATH}{path}": title for path, (title, _) in FINDABLE.items()}
    in_menu = {page.path: page.title for _, pages in navigation() for page in pages}
    assert {path: titles.get(path) for path in in_menu} == in_menu
    assert titles.items() <= {page.path: page.title for page in PAGES}.items()
