"""Reports over HTTP: from the calls of pages and servers to the figures."""

from typing import Any

import pytest

from tests.support.service import Merchant, Reply, eventually

RECS = {"widget": "recs", "session_id": "s_1"}


def ask(merchant: Merchant, query: str) -> Reply:
    return merchant.client.ask("GET", f"/integration/report?{query}", None, merchant.server)


def figures(merchant: Merchant) -> dict[str, Any]:
    report = ask(merchant, "name=attribution").json
    return {figure["name"]: figure["value"] for figure in report["figures"]}


def test_a_sale_after_a_recommendation_is_credited_by_the_background(
    merchant: Merchant,
) -> None:
    merchant.push({"id": "tent", "price": 50}, {"id": "mug", "price": 50})
    merchant.track(
        {"event": "rec-impression", "item_ids": ["tent"], "sources": ["buy"], **RECS},
        {"event": "rec-click", "item_id": "tent", "source": "buy", "position": 1, **RECS},
        {"event": "add-to-cart", "item_id": "tent", "value": 50, "session_id": "s_1"},
    )
    lines = [{"item_id": one, "quantity": 1, "price": 50} for one in ("tent", "mug")]
    merchant.order("A-1", *lines, session_id="s_1")

    eventually(lambda: figures(merchant)["revenue"] == 50, 30, pause=0.2)

    assert figures(merchant)["revenue_share"] == 0.5
    assert figures(merchant)["orders"] == figures(merchant)["carts"] == 1
    (row,) = ask(merchant, "name=attribution&by=source").json["rows"]
    assert (row["source"], row["shown"], row["clicked"], row["sales"]) == ("buy", 1, 1, 1)
    (sale,) = ask(merchant, "name=credited-sales").json["rows"]
    assert (sale["order_id"], sale["touch"]) == ("A-1", "click")


@pytest.mark.parametrize(
    "query",
    [
        "name=sales",
        "by=colour",
        "from=yesterday",
        "test=%00",
        "until=1999-01-01&from=2000-01-01",
    ],
)
def test_what_cannot_be_reported_is_a_400_that_says_what_can(
    merchant: Merchant, query: str
) -> None:
    reply = ask(merchant, query)

    assert reply.status == 400
    assert reply.json["code"] == "report_impossible"
