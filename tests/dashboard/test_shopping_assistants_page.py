"""Shopping assistants page: off until switched on; then the profile and the calls."""

import json
import re

from productrecs.features.assistants.catalog_calls import WIDGET_PREFIX
from productrecs.features.attribution.attributor import Attributor
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.training.search.indexer import Indexer
from tests.dashboard.conftest import Office
from tests.support.dashboard import text_of
from tests.support.filled_store import open_store
from tests.support.service import eventually

PAGE = "/dashboard/imports/shopping-assistants"


def test_a_switched_on_catalog_answers_and_its_page_counts_the_calls(
    office: Office,
) -> None:
    services = office.services
    domain = f"assistants-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    member, client = office.member(made.store), made.merchant.client
    before = member.get(PAGE)
    assert "Assistants cannot see your catalog" in text_of(before)
    assert b"/.well-known/ucp" not in before.body

    assert member.post(PAGE, setting="shopping_assistants", on="1").status == 303

    shown = member.get(PAGE)
    assert "No assistant has called yet" in text_of(shown)
    path = re.search(r"/ucp/[^\s<]+", shown.body.decode())
    assert path is not None
    profile = client.ask("GET", path[0], None, {}).json["ucp"]
    endpoint = profile["services"]["dev.ucp.shopping"][0]["endpoint"]
    address = endpoint[endpoint.index("/ucp/") :] + "/catalog/search"
    agent = {"ucp-agent": 'profile="https://agent.example/profile.json"'}
    body = json.dumps({"query": "tent"}).encode()
    assert client.ask("POST", address, body, agent).status == 200

    def rows() -> str:
        return " ".join(text_of(member.get(PAGE)).split())

    eventually(lambda: "agent.example 1 0 0 0" in rows(), pause=0.2)

    assert member.post(PAGE, setting="shopping_assistants", on="").status == 303
    assert "Assistants cannot see your catalog" in text_of(member.get(PAGE))
    assert client.ask("POST", address, body, agent).status == 404


def test_the_page_shows_what_an_assistant_finds(office: Office) -> None:
    services = office.services
    domain = f"samples-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    assert made.merchant.push({"id": "t", "title": "Ridge tent", "price": 9}).status == 200
    folder, accounts = (
        services.settings.data / "search",
        AccountDirectory(services.database),
    )
    indexer, reader = Indexer(folder, accounts), services.database.raw_reader()
    while indexer.run_next_batches(reader):
        pass
    indexer.close()
    reader.close()
    member = office.member(made.store)
    assert member.post(PAGE, setting="shopping_assistants", on="1").status == 303

    found = text_of(member.get(f"{PAGE}?q=tent"))
    assert "1 product found. The first: Ridge tent." in found
    assert '"amount": 900' in found
    assert "for “wardrobe” finds nothing" in text_of(member.get(f"{PAGE}?q=wardrobe"))


def test_assistants_in_browsers_have_a_switch_of_their_own(office: Office) -> None:
    services = office.services
    domain = f"browsers-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    member, client = office.member(made.store), made.merchant.client
    assert "Assistants in browsers cannot use your pages" in text_of(member.get(PAGE))

    assert member.post(PAGE, setting="browser_assistants", on="1").status == 303

    shown = text_of(member.get(PAGE))
    assert "Assistants in browsers can use your pages" in shown
    assert "Assistants cannot see your catalog" in shown
    assert "No assistant has called yet" in shown
    key = made.merchant.account.publishable
    assert client.ask("GET", f"/v1/search?q=tent&assistant=true&key={key}").status == 200

    def rows() -> str:
        return " ".join(text_of(member.get(PAGE)).split())

    eventually(lambda: "In shoppers' browsers 1 0 0 0" in rows(), pause=0.2)

    assert member.post(PAGE, setting="browser_assistants", on="").status == 303
    assert "Assistants in browsers cannot use your pages" in text_of(member.get(PAGE))
    assert member.post(PAGE, setting="holdout_percent", on="1").status == 303
    assert find_store(services.database, domain).settings == made.store.settings


def test_orders_after_an_assistant_s_link_are_sales_of_the_assistant(
    office: Office,
) -> None:
    services = office.services
    domain = f"sold-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    member, shop = office.member(made.store), made.merchant
    assert member.post(PAGE, setting="shopping_assistants", on="1").status == 303
    shop.push(*({"id": one, "title": one, "price": 30} for one in ("tent", "rope")))
    shopper = {"session_id": "s_assisted"}
    widget = f"{WIDGET_PREFIX}agent.example"
    clicked = {"event": "rec-click", "item_id": "tent", "widget": widget}
    assert shop.track(shopper | clicked | {"source": "assistant"}).status == 200
    with_campaign = {"source": "assistant", "widget": f"{widget}/spring"}
    by_campaign = {"session_id": "s_campaign", "event": "rec-click", "item_id": "rope"}
    assert shop.track(by_campaign | with_campaign).status == 200
    orders = (("o-1", "s_assisted"), ("o-2", "s_other"), ("o-3", "s_campaign"))
    for order_id, who in orders:
        line = {"item_id": "tent", "price": 30, "currency": "EUR"}
        lines = [line, line | {"item_id": "rope"}]
        assert shop.order(order_id, *lines, session_id=who).status == 200

    def shown(path: str) -> str:
        folder = services.touchpoint_folder
        Attributor(services.database, folder).catch_up(made.store)
        return " ".join(text_of(member.get(path)).split())

    eventually(lambda: "agent.example 0 0 0 0 2 €60.00" in shown(PAGE), pause=0.2)
    assert "Campaign spring 0 1 €30.00" in shown(PAGE)
    assert widget in shown("/dashboard/impact?by=widget")


def test_searches_are_counted_by_the_attribution_of_the_assistant(office: Office) -> None:
    services = office.services
    domain = f"campaigns-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    member, client = office.member(made.store), made.merchant.client
    assert member.post(PAGE, setting="shopping_assistants", on="1").status == 303
    address = f"/ucp/{domain}/2026-08-25/catalog/search"
    for source in ("Chat.example", "chat.example", "anna@mail.example"):
        attribution = {"utm_source": source, "gclid": "EAIaIQobChMI"}
        body = json.dumps({"query": "tent", "attribution": attribution}).encode()
        assert client.ask("POST", address, body).status == 200

    def rows() -> str:
        return " ".join(text_of(member.get(PAGE)).split())

    eventually(lambda: "chat.example 2 – – Source other 1" in rows(), pause=0.2)
    assert "EAIaIQobChMI" not in rows()
    assert "anna" not in rows()
