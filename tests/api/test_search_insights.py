"""Search report: from the calls of pages to the figures that a merchant reads."""

import json
from typing import Any

from tests.support.service import Merchant, Service, eventually


def report(service: Service, merchant: Merchant, name: str = "search") -> Any:
    """Return a report of the command line, as JSON has it."""
    return json.loads(service.run("report", merchant.account.domain, name, "--json"))


def test_what_was_searched_for_is_reported_by_what_it_was_about(
    service: Service, merchant: Merchant
) -> None:
    merchant.push({"id": "t-1", "title": "Garden tent"}, {"id": "l-1", "title": "Lamp"})
    eventually(lambda: merchant.search("lamp").ids, 30)

    for typed in ("g", "ga", "garden", "garden t", "garden tents"):
        merchant.search(typed)
    merchant.search("garden tents", offset=1)
    for other in ("", " ", "xylophone", "mail@example.com"):
        merchant.search(other)
    merchant.track(
        {
            "event": "search-click",
            "item_id": "t-1",
            "search_query": "garden tents",
            "session_id": "s_1",
            "position": 2,
        }
    )

    def current_report() -> Any:
        return report(service, merchant)

    def searches(figures_of: Any) -> Any:
        return next(
            one["value"] for one in figures_of["figures"] if one["name"] == "searches"
        )

    # The address of mail is counted, and not reported.
    eventually(lambda: searches(current_report()) == 4, 30, pause=0.5)
    last = current_report()
    rows = {row["query"]: row for row in last["rows"]}
    assert set(rows) == {"lamp", "garden tents", "xylophone"}
    assert rows["garden tents"]["searches"] == 1
    assert rows["garden tents"]["click_through"] == 1.0
    assert rows["garden tents"]["mean_position"] == 2
    assert rows["xylophone"]["no_results"] == 1
    assert rows["xylophone"]["click_through"] == 0
    assert [
        row["query"] for row in report(service, merchant, "search-no-results")["rows"]
    ] == ["xylophone"]
    assert "mail" not in json.dumps(last)
    table = service.run("report", merchant.account.domain, "search", "--csv")
    assert table.splitlines()[0].startswith('"query","searches",')


def test_shoppers_behind_one_address_are_distinguished_by_their_ids(
    service: Service, merchant: Merchant
) -> None:
    merchant.push({"id": "t-1", "title": "Garden tent"})
    eventually(lambda: merchant.search("garden").ids, 30)

    for who in range(6):  # a shop that searches from its server: one address, one agent
        merchant.search("tent", user_id=f"u{who}")
        merchant.search(
            "garden tent", **{("customer_id", "session_id")[who % 2]: f"u{who}"}
        )
    for who in range(2):
        clicked = {"item_id": "t-1", "search_query": "Tent", "user_id": f"u{who}"}
        merchant.track({"event": "search-click", **clicked})

    def tent() -> Any:
        rows = {row["query"]: row for row in report(service, merchant)["rows"]}
        return [
            [rows.get(text, {}).get(name) for name in ("searches", "searchers_clicked")]
            for text in ("tent", "garden tent")
        ]

    eventually(lambda: tent() == [[6, 2], [6, 0]], 30, pause=0.5)
    # One searcher more asked for the garden, before there were words for the tent.
    figures = {one["name"]: one["value"] for one in report(service, merchant)["figures"]}
    assert figures["click_through"] == 2 / 13
    assert figures["no_click_rate"] == 11 / 13
