"""Calls of assistants in shoppers' browsers: answered like others, and counted."""

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.features.assistants.browser_tools import BROWSER, BrowserTool
from productrecs.features.assistants.repository import AssistantCallRepository
from productrecs.tenancy.accounts.store_management import change_settings, find_store
from tests.support.service import Merchant, Reply, Service, eventually

LOADER = b"/widget/v1/_/webmcp.js"


def script(merchant: Merchant) -> Reply:
    return merchant.client.ask("GET", f"/widget/v1/{merchant.account.domain}.js")


def allow(service: Service, merchant: Merchant) -> None:
    """Let assistants in browsers use the pages of a store."""
    with service.database() as database:
        store = find_store(database, merchant.account.domain)
        change_settings(database, store, {"browser_assistants": "true"})
    eventually(lambda: LOADER in script(merchant).body)


def calls(service: Service, merchant: Merchant) -> dict[str, int]:
    """Return how often assistants in browsers called, by tool."""
    with service.database() as database, database.reading() as connection:
        store_id = StoreId(merchant.account.store_id)
        found = AssistantCallRepository(connection, store_id).recent_calls_by_agent(
            system_ms()
        )
    assert found.keys() <= {BROWSER}
    return found[BROWSER].calls if found else {}


def test_a_store_that_allows_them_counts_their_calls_by_tool(
    service: Service, merchant: Merchant, other: Merchant
) -> None:
    for store in (merchant, other):
        assert store.push({"id": "tent", "title": "Tent"}).status == 200
    allow(service, merchant)

    for store in (other, merchant):
        usual = store.search("tent")
        assert store.search("tent", assistant="true").body == usual.body
        assert store.search("tent", assistant="1", sort="newest").ids == usual.ids
        assert store.recommend(assistant="true").body == store.recommend().body
        for not_one in ("false", "", "0"):
            assert store.search("tent", assistant=not_one).body == usual.body
        assert store.search("tent", assistant="maybe").status == 422

    expected = {BrowserTool.SEARCH: 2, BrowserTool.RECOMMEND: 1}
    eventually(lambda: calls(service, merchant) == expected)
    # The other store's calls were before, so they would have been counted by now.
    assert calls(service, other) == {}
    assert LOADER not in script(other).body


def test_the_loader_stands_after_the_call_of_the_script_in_every_encoding(
    service: Service, merchant: Merchant
) -> None:
    usual = script(merchant)
    allow(service, merchant)
    changed = script(merchant)

    assert changed.body.startswith(usual.body.rstrip())
    assert changed.header("etag") != usual.header("etag")
    chunk = merchant.client.ask(
        "GET", LOADER.decode(), None, {"origin": "https://a.example"}
    )
    assert (chunk.status, chunk.header("access-control-allow-origin")) == (200, "*")
    assert merchant.account.publishable.encode() not in chunk.body
