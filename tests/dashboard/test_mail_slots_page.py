"""Products in mails: off until switched on; then HTML that works, and what it led to."""

import itertools
import re
from html import unescape

import pytest

from productrecs.records.placements.placement import PlacementContent, Strategy
from productrecs.records.placements.placement_editor import PlacementEditor
from tests.dashboard.conftest import Office
from tests.support.dashboard import text_of
from tests.support.filled_store import Filled, open_store
from tests.support.service import eventually

_COUNT = itertools.count()
PAGE = "/dashboard/widgets/mail"


@pytest.fixture
def shop(office: Office) -> Filled:
    """Return a store with two products and a placement."""
    services = office.services
    domain = f"mails-{next(_COUNT)}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    made.merchant.push(
        {"id": "tent", "title": "Tent", "price": 9, "product_url": "/p/tent"},
        {"id": "rope", "title": "Rope", "price": 9, "product_url": "/p/rope"},
    )
    editor = PlacementEditor(services.database, made.store, services.clock)
    editor.put("receipt", PlacementContent())
    return made


def addresses(shown: str, part: str) -> list[str]:
    """Return the addresses in the HTML to paste, as a mail tool sends them."""
    found = re.findall(rf"(/v1/mail/{part}/[^\s\"<]+)", unescape(unescape(shown)))
    return [address.partition('"')[0] for address in found]


def test_the_html_of_a_switched_on_slot_opens_and_its_calls_are_counted(
    office: Office, shop: Filled
) -> None:
    member, ask = office.member(shop.store), shop.merchant.client.ask
    before = member.get(PAGE)
    assert "Products in mails are off" in text_of(before)
    assert b"signature=" not in before.body

    assert member.post(PAGE, on="1").status == 303

    shown = member.get(f"{PAGE}?placement=receipt&tool=brevo&count=2").body.decode()
    links, images = addresses(shown, "link"), addresses(shown, "image")
    assert len(links) == 2
    assert "{{ contact.EXT_ID }}" in unescape(unescape(shown))
    filled = [link.partition("&user_id")[0] for link in links]
    eventually(lambda: "/p/" in (ask("GET", filled[0]).header("location") or ""))
    targets = {
        (ask("GET", link).header("location") or "").partition("?")[0] for link in filled
    }
    assert targets == {f"https://{shop.store.domain}/p/{one}" for one in ("tent", "rope")}
    for image in images:
        assert ask("GET", image.partition("&user_id")[0]).status == 200

    loaded = b'receipt</th><td class="number">2</td><td class="number">0</td>'
    eventually(lambda: loaded in member.get(PAGE).body)
    assert member.post(PAGE, on="").status == 303
    assert "Products in mails are off" in text_of(member.get(PAGE))
    assert ask("GET", filled[0]).header("location") == f"https://{shop.store.domain}/"


@pytest.mark.parametrize(
    "query", ["placement=nothing&tool=x&count=99", "count=-1&placement=%00"]
)
def test_what_the_form_does_not_offer_shows_the_first_of_what_there_is(
    office: Office, shop: Filled, query: str
) -> None:
    member = office.member(shop.store)
    member.post(PAGE, on="1")

    shown = member.get(f"{PAGE}?{query}")

    assert shown.status == 200
    assert "*|CUSTOMERID|*" in text_of(shown)


def test_a_placement_that_needs_a_customer_comes_last_and_says_so(
    office: Office, shop: Filled
) -> None:
    services, member = office.services, office.member(shop.store)
    editor = PlacementEditor(services.database, shop.store, services.clock)
    editor.put("again", PlacementContent(strategy=Strategy.BUY_AGAIN))
    editor.put("brand", PlacementContent(strategy=Strategy.TOP_OF_BRAND))
    editor.put(
        "filled", PlacementContent(strategy=Strategy.BUY_AGAIN, fallback=Strategy.TRENDING)
    )
    member.post(PAGE, on="1")

    def said(name: str) -> str:
        return " ".join(text_of(member.get(f"{PAGE}?placement={name}")).split())

    first = said("")
    assert "filled receipt again (needs a customer) brand (needs a product)" in first
    assert "shows products only to a customer whom the shop knows" not in first
    assert "shows products only to a customer whom the shop knows" in said("again")
    assert "shows what goes with a product" in said("brand")
