"""The merchant's assistant reads the dashboard's numbers, of the token's store only."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from demo_store.generator import DOMAIN
from productrecs.application import create_application
from productrecs.core.clock import system_ms
from productrecs.services import build_services
from productrecs.settings import Settings
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.tenancy.users.dashboard_user import Role
from tests.api.inside import Inside
from tests.dashboard.conftest import Office
from tests.support.assistant import Assistant
from tests.support.dashboard import Member, add_store, add_user, text_of
from tests.support.demo import demo_folder

__all__ = ["demo_folder"]


@pytest.fixture(scope="module")
def demo(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """Give an API process with the demo store, whose clock stands still."""
    folder = tmp_path_factory.mktemp("assistant")
    shutil.copytree(demo_folder, folder, dirs_exist_ok=True)
    now_ms = system_ms()
    services = replace(build_services(Settings(data=folder)), clock=lambda: now_ms)
    with Inside(create_application(services, draining=[])) as inside:
        yield Office(services, inside, now_ms)


@pytest.fixture(scope="module")
def shop(demo: Office) -> Store:
    """Return the demo store."""
    return find_store(demo.services.database, DOMAIN)


@pytest.fixture(scope="module")
def member(demo: Office, shop: Store) -> Member:
    """Return an editor of the demo store."""
    member = Member(demo.inside)
    assert member.log_in(add_user(demo.services, shop, Role.EDITOR)).status == 303
    return member


@pytest.fixture(scope="module")
def assistant(demo: Office, shop: Store) -> Assistant:
    """Return an assistant that may read the demo store."""
    return Assistant.of(demo, shop, Role.VIEWER)


def page_text(member: Member, path: str) -> str:
    return re.sub(r"\s+", " ", text_of(member.get(path)))


def figure(page: str, wording: str) -> float:
    found = re.search(wording, page)
    assert found is not None, wording
    return float(found[1].replace(",", ""))


def figures_of(report: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one["value"] for one in report["figures"]}


def test_a_report_has_the_numbers_of_its_page(assistant: Assistant, member: Member) -> None:
    report = assistant.call("read_report", report="attribution")
    page = page_text(member, "/dashboard/impact")

    shown = figure(page, r"Sales after a click \W*([\d,.]+)")
    assert figures_of(report)["revenue_clicked"] == pytest.approx(shown, abs=0.006)
    assert shown > 0
    assert all(one["meaning"] for one in report["columns"])
    day = assistant.call("read_report", report="attribution", by="day", rows=5)
    assert day["columns"][0]["name"] == "day"
    assert len(day["rows"]) == 5


def test_searches_without_results_are_those_of_the_page(
    assistant: Assistant, member: Member
) -> None:
    found = assistant.call("list_searches_without_results")
    body = member.get("/dashboard/search").body.decode()

    queries = [row["query"] for row in found["rows"]]
    assert queries
    table = body[body.index("Searches without results") :]
    places = [table.index(f">{query}<") for query in queries[:5]]
    assert places == sorted(places)
    share = figure(page_text(member, "/dashboard/search"), r"Without results ([\d.,]+) %")
    figures = figures_of(found)
    assert 100 * figures["no_result_rate"] == pytest.approx(share, abs=0.06)


def test_what_to_order_is_that_of_the_order_sheets(
    assistant: Assistant, member: Member
) -> None:
    found = assistant.call("list_products_to_order", rows=20)["rows"]
    body = member.get("/dashboard/demand/orders").body.decode()

    assert found
    shown = re.findall(r'href="/dashboard/demand/product\?id=([^"&]+)"', body)
    assert [row["item_id"] for row in found] == shown[: len(found)]
    assert all(row["quantity"] > 0 for row in found)


def test_what_sells_out_is_that_of_the_page(assistant: Assistant, member: Member) -> None:
    found = assistant.call("list_foreseen_stockouts", rows=20)["products"]
    body = member.get("/dashboard/demand?by=stockout_date").body.decode()

    assert found
    shown = re.findall(r'href="/dashboard/demand/product\?id=([^"&]+)"', body)
    ids = [row["item_id"] for row in found]
    assert list(dict.fromkeys(shown))[: len(ids)] == ids
    assert found[0]["stockout_date"] is not None
    assert all(row["status"] for row in found)


def test_a_list_has_the_reasons_of_its_page(assistant: Assistant, member: Member) -> None:
    found = assistant.call("explain_list", product="waxed-jacket", source="mix")
    page = page_text(member, "/dashboard/products/item?id=waxed-jacket&source=mix")

    assert found["products"]
    for product in found["products"][:3]:
        for reason in product["reasons"]:
            assert reason in page, reason
    trending = assistant.call("explain_list", source="trending")
    assert trending["products"]


def test_products_are_found_by_their_words(assistant: Assistant) -> None:
    found = assistant.call("find_products", words="waxed jacket")["products"]

    assert {"product": "waxed-jacket", "title": found[0]["title"]} == found[0]


@pytest.mark.parametrize(
    ("tool", "key", "path"),
    [
        ("list_rules", "rules", "/dashboard/merchandising"),
        ("list_placements", "placements", "/dashboard/placements"),
    ],
)
def test_what_the_merchant_set_is_that_of_the_page(
    assistant: Assistant, member: Member, tool: str, key: str, path: str
) -> None:
    found = assistant.call(tool)[key]
    page = page_text(member, path)

    assert found
    for one in found:
        assert one["title" if key == "rules" else "placement"] in page


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("read_report", {"report": "customer-list"}, "there is no report"),
        ("read_report", {"report": "x" * 5_000}, "there is no report"),
        ("read_report", {"report": "attribution", "first_day": "soon"}, "not a day"),
        ("read_report", {"report": "attribution", "rows": 0}, "rows"),
        ("read_report", {"report": "attribution", "by": "shopper"}, "group by any of"),
        ("read_report", {}, "report"),
        ("list_rules", {"all": True}, "all"),
        ("explain_list", {"product": "no-such"}, "find_products"),
        ("explain_list", {"placement": "../x"}, "no placement"),
        ("explain_list", {"source": "secret"}, "source"),
        ("find_products", {"words": ["a"]}, "words"),
        ("find_products", {"words": "a" * 257}, "words"),
    ],
)
def test_an_impossible_call_says_what_is_wrong(
    assistant: Assistant, tool: str, arguments: dict[str, object], words: str
) -> None:
    assert words in assistant.refusal(tool, **arguments)


def test_every_tool_describes_itself_and_only_reads(assistant: Assistant) -> None:
    tools = assistant.tools()

    assert len(tools) >= 9
    for tool in tools:
        assert tool["title"]
        assert tool["description"]
        assert tool["annotations"]["readOnlyHint"] is True
        schema = tool["inputSchema"]
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
        for one in schema["properties"].values():
            assert one["description"]


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_older_handshake_is_answered(assistant: Assistant, version: str) -> None:
    me = {"name": "test", "version": "1"}
    started = assistant.rpc(
        "initialize", protocolVersion=version, capabilities={}, clientInfo=me
    )

    assert started["result"]["protocolVersion"] == version
    assert DOMAIN in started["result"]["serverInfo"]["title"]


def test_the_present_revision_needs_no_handshake(assistant: Assistant) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"}

    listed = assistant.rpc("tools/list", headers=headers, _meta=meta)["result"]

    assert listed["cacheScope"] == "private"
    assert listed["resultType"] == "complete"


def test_without_a_valid_token_nothing_is_answered(
    demo: Office, assistant: Assistant, shop: Store
) -> None:
    store_id = shop.store_id
    wrong = ["at_", f"at_{store_id}.{'x' * 43}", "at_st_none.x", shop.publishable_key]
    for token in wrong:
        reply = Assistant(demo.inside, token).ask("tools/list")
        assert (reply.status, reply.json["code"]) == (401, "key_invalid"), token
    bare = demo.inside.ask("POST", "/dashboard/mcp", b"{}", {})
    assert (bare.status, bare.json["code"]) == (401, "key_missing")
    assert "Your own assistant" in bare.json["detail"]
    got = demo.inside.ask("GET", "/dashboard/mcp", None, {})
    assert (got.status, got.header("allow")) == (405, "POST")
    foreign = {"origin": "https://evil.example"}
    refused = assistant.ask("tools/list", headers=foreign)
    assert (refused.status, refused.json["code"]) == (403, "origin_refused")


def test_a_session_of_the_dashboard_is_no_token(demo: Office, member: Member) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    cookie = "; ".join(f"{name}={value}" for name, value in member.cookies.items())

    reply = demo.inside.ask("POST", "/dashboard/mcp", body, {"cookie": cookie})

    assert (reply.status, reply.json["code"]) == (401, "key_missing")


def test_a_token_opens_its_own_store_only(demo: Office, assistant: Assistant) -> None:
    other = add_store(demo.services, "other.example")
    stranger = Assistant.of(demo, other, Role.VIEWER)

    assert stranger.call("find_products", words="waxed jacket") == {"products": []}
    assert stranger.call("list_rules") == {"rules": []}
    assert stranger.call("list_foreseen_stockouts")["products"] == []
    assert figures_of(stranger.call("read_report", report="attribution"))["orders"] == 0
    assert "find_products" in stranger.refusal("explain_list", product="waxed-jacket")
    text = assistant.token.partition(".")[2]
    crossed = Assistant(demo.inside, f"at_{other.store_id}.{text}")
    assert crossed.ask("tools/list").status == 401


def test_a_token_that_calls_too_fast_waits(demo: Office) -> None:
    store = add_store(demo.services, "fast.example")
    hasty, calm = (Assistant.of(demo, store, Role.VIEWER) for _ in range(2))

    statuses = [hasty.ask("ping").status for _ in range(140)]

    assert set(statuses) == {200, 429}
    assert statuses[:100] == [200] * 100
    assert calm.ask("ping").status == 200


def test_the_last_use_is_recorded(demo: Office) -> None:
    store = add_store(demo.services, "used.example")
    assistant = Assistant.of(demo, store, Role.VIEWER)
    assert assistant.stored().used_at is None

    assistant.rpc("ping")

    assert assistant.stored().used_at == pytest.approx(system_ms(), abs=60_000)


def test_a_failure_inside_is_logged_and_not_told(
    assistant: Assistant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        message = "secret detail"
        raise RuntimeError(message)

    monkeypatch.setattr(
        "productrecs.dashboard.assistant_tools.reading_tools.find_product_ids_and_titles",
        fail,
    )

    refusal = assistant.refusal("find_products", words="a")

    assert "secret detail" not in refusal
    assert "secret detail" in caplog.text
