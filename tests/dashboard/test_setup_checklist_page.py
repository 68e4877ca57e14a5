"""Get started: leads by shop system, makes the secret key, says where the script runs."""

import json
import re
from dataclasses import replace

import pytest

from productrecs.features.attribution.attributor import Attributor
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    change_origins,
    find_store,
    revoke_secret_keys,
    rotate_secret,
)
from productrecs.tenancy.users.dashboard_user import Role
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_store, add_user, text_of
from tests.support.service import eventually

PAGE = "/dashboard/start"
VIEW = {"event": "detail-page-view", "item_id": "tent"}


def push_tent(office: Office, store: Store) -> None:
    """Send the store's one product."""
    key = {"x-api-key": rotate_secret(office.services.database, store)}
    item = json.dumps({"items": [{"id": "tent", "title": "Tent"}]}).encode()
    eventually(lambda: office.inside.ask("POST", "/v1/items", item, key).status == 200)


def send(office: Office, store: Store, origin: str = "", **fields: object) -> None:
    """Send an event as a page of an origin does."""
    path = f"/v1/events?key={store.publishable_key}"
    body = json.dumps({"session_id": "s_1", **fields}).encode()
    headers = {"origin": origin} if origin else {}
    assert office.inside.ask("POST", path, body, headers).status == 200


def is_served(member: Member) -> bool:
    """Return whether the step of the first recommendation is done."""
    page = " ".join(text_of(member.get(PAGE)).split())
    found = re.search(r"Serve the first recommendation ?, (done|not done yet)", page)
    assert found is not None, page
    return found[1] == "done"


def test_the_script_is_seen_with_a_view_of_a_product_of_the_catalog(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    push_tent(office, store)
    assert "0 of 6 steps" not in text_of(member.get("/dashboard"))
    assert "Your pages have sent nothing yet" in text_of(member.get("/dashboard"))

    send(office, store, event="detail-page-view", item_id="unknown")
    send(office, store, event="rec-impression", item_ids=["tent"])
    assert "Not seen yet" in text_of(member.get(PAGE))

    send(office, store, **VIEW)
    eventually(lambda: "Not seen yet" not in text_of(member.get(PAGE)))
    eventually(lambda: "steps are done" in text_of(member.get("/dashboard")))


def test_the_page_says_where_the_script_ran_last(office: Office) -> None:
    warnings = {
        "{domain}": None,
        "www.{domain}": None,
        "listed.example": None,
        "other.example": "The last events came from other.example",
        "localhost": "is an address of your own network",
        "192.168.1.7": "is an address of your own network",
        "shop.local": "is an address of your own network",
    }
    stores = {
        host: add_store(office.services, f"shop-{number}.example")
        for number, host in enumerate(warnings)
    }
    listed = {"add": ["https://listed.example"]}
    change_origins(office.services.database, stores["listed.example"], **listed)
    for host, store in stores.items():
        push_tent(office, store)
        send(office, store, f"https://{host.format(domain=store.domain)}:8443", **VIEW)

    for host, warning in warnings.items():
        store = stores[host]
        member, seen = office.member(store), f"Seen on {host.format(domain=store.domain)}"
        eventually(lambda m=member, s=seen: s in text_of(m.get(PAGE)))  # type: ignore[misc]
        page = text_of(member.get(PAGE))
        assert (warning or seen) in page
        assert ("The last events" in page or "own network" in page) is bool(warning), host


def test_a_list_counts_as_served_once_there_are_products(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    ask = f"/v1/recommendations?key={store.publishable_key}"
    assert office.inside.ask("GET", ask).status == 200
    eventually(lambda: "no products to show yet" in text_of(member.get(PAGE)))
    assert not is_served(member)

    push_tent(office, store)

    eventually(lambda: is_served(member))


def test_events_are_counted_as_on_the_home_page(office: Office, store: Store) -> None:
    member = office.member(store)
    assert "None yet" in text_of(member.get(PAGE))
    push_tent(office, store)
    send(office, store, event="rec-impression", item_ids=["tent", "a", "b", "c"])
    eventually(lambda: "Received" in text_of(member.get(PAGE)))

    Attributor(office.services.database, office.services.touchpoint_folder).catch_up(store)

    assert "1 in 24 hours" in text_of(member.get(PAGE))
    assert re.search(r"Events in 24 hours\s+1\b", text_of(member.get("/dashboard")))


def test_a_check_says_when_it_looked(office: Office, store: Store) -> None:
    member = office.member(store)

    checking = replace(member, headers={"hx-request": "true"})

    assert "Checked at" in text_of(checking.get(PAGE))
    assert "Checked at" not in text_of(member.get(PAGE))


def test_a_guide_opens_with_the_stores_key_and_domain(office: Office, store: Store) -> None:
    page = office.member(store).get(f"{PAGE}?platform=shopify").body.decode()

    wanted = f"/guides/shopify?key={store.publishable_key}&amp;shop={store.domain}"
    assert wanted in page


def test_the_secret_key_is_made_here_and_shown_once(office: Office, store: Store) -> None:
    member = office.member(store)
    database = office.services.database
    assert "A secret key exists" in text_of(member.get(PAGE))
    revoke_secret_keys(database, store)
    editor = Member(office.inside)
    editor.log_in(add_user(office.services, store, Role.EDITOR))
    assert "An owner creates it" in text_of(editor.get(PAGE))
    assert editor.post(f"{PAGE}/secret", page=PAGE).status == 403

    made = text_of(member.post(f"{PAGE}/secret", page=PAGE, platform="woocommerce"))

    found = re.search(r"sk_\w{20,}", made)
    assert found is not None
    assert "Download the plugin" in made
    again = text_of(member.post(f"{PAGE}/secret", page=PAGE))
    assert "sk_" not in again
    assert "sk_" not in text_of(member.get(PAGE))
    (key,) = find_store(database, store.domain).secrets.active_keys(office.now_ms)
    assert found[0].endswith(key.end)


@pytest.mark.parametrize(
    ("platform", "first"),
    [
        ("woocommerce", "/plugin/service-recommender.zip"),
        ("shopify", "/guides/shopify"),
        ("magento", "/guides/magento"),
        ("prestashop", "/plugin/productrecs-prestashop.zip"),
        ("opencart", "/plugin/productrecs.ocmod.zip"),
        ("custom", "YOUR_PRODUCT_ID"),
        ("unknown", "YOUR_PRODUCT_ID"),
    ],
)
def test_each_shop_system_has_its_own_first_step(
    office: Office, store: Store, platform: str, first: str
) -> None:
    page = office.member(store).get(f"{PAGE}?platform={platform}").body.decode()
    assert first in page
    assert store.publishable_key in page
    assert page.count("Check now</button>") == 6
