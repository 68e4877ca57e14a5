"""GET /v1/forecast/...: the contract, before and after the nightly run."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.tenancy.accounts.store_management import change_settings, find_store
from tests.records.orders.import_support import import_text
from tests.support.service import Merchant, Service, eventually

_RUN_SECONDS = 60


def summary(merchant: Merchant) -> Any:
    return merchant.client.ask("GET", merchant.target("/v1/forecast/summary")).json


def item(merchant: Merchant, item_id: str) -> Any:
    return merchant.client.ask("GET", merchant.target(f"/v1/forecast/items/{item_id}"))


def change(service: Service, merchant: Merchant, **settings: str) -> None:
    with service.database() as database:
        store = find_store(database, merchant.account.domain)
        change_settings(database, store, settings)


def sell(service: Service, merchant: Merchant, items: Sequence[str], days: int) -> None:
    today = datetime.now(UTC).date()
    rows = [
        f"{item}-{back}-{n},{item},{today - timedelta(days=back)}T12:00:00,1,5"
        for back in range(1, days + 1)
        for item in items
        for n in range(2 + back % 3)
    ]
    with service.database() as database:
        store = find_store(database, merchant.account.domain)
        text = "order_id,item_id,timestamp,quantity,price\n" + "\n".join(rows)
        import_text(database, StoreId(store.store_id), text)


@pytest.fixture(scope="module")
def forecast(service: Service) -> Merchant:
    """Return a store whose nightly run is done, by the service itself."""
    merchant = service.register()
    merchant.push({"id": "a/b é", "stock_qty": 30}, {"id": "plain"}, {"id": "gone"})
    sell(service, merchant, ["a/b é", "plain", "gone"], days=90)
    merchant.delete("gone")
    change(service, merchant, demand_forecast="true")
    eventually(lambda: summary(merchant)["generated_at"] is not None, _RUN_SECONDS)
    return merchant


def test_before_the_add_on_all_is_empty_and_well_shaped(merchant: Merchant) -> None:
    merchant.push({"id": "tent", "stock_qty": 4})

    assert summary(merchant) == {
        "enabled": False,
        "target_mode": None,
        "currency": None,
        "generated_at": None,
        "horizon_days": 28,
        "history": [],
        "forecast": [],
        "totals": None,
        "accuracy": None,
    }
    assert item(merchant, "tent").json == {
        "item_id": "tent",
        "method": None,
        "target_mode": None,
        "generated_at": None,
        "forecast": [],
        "stock_qty": 4,
        "days_of_cover": None,
        "stockout_date": None,
    }


def test_the_service_forecasts_a_store_by_itself(forecast: Merchant) -> None:
    body = summary(forecast)

    assert body["enabled"] is True
    assert body["target_mode"] == "units"
    assert body["currency"] == "EUR"
    assert len(body["forecast"]) == 28
    made = datetime.fromisoformat(body["generated_at"]).date()
    assert body["forecast"][0]["date"] == (made + timedelta(days=1)).isoformat()
    assert set(body["forecast"][0]) == {"date", "mean", "p10", "p50", "p90"}
    assert set(body["accuracy"]) == {
        "wape",
        "rmsse",
        "bias",
        "coverage_p10_p90",
        "baseline_rmsse",
    }
    assert body["totals"]["next_7_days"]["p50"] == pytest.approx(63, rel=0.15)


def test_an_item_with_a_slash_and_accents_has_its_forecast(forecast: Merchant) -> None:
    body = item(forecast, "a%2Fb%20%C3%A9").json

    assert body["item_id"] == "a/b é"
    assert body["method"] == "statistical"
    assert len(body["forecast"]) == 28
    assert body["days_of_cover"] == pytest.approx(10, rel=0.15)
    tomorrow = datetime.fromtimestamp(system_ms() / 1000, UTC).date() + timedelta(days=1)
    assert body["stockout_date"] > tomorrow.isoformat()
    assert item(forecast, "plain").json["days_of_cover"] is None


@pytest.mark.parametrize("unknown", ["nothing", "gone", "a", "%00", "plain%00"])
def test_an_item_that_the_catalog_does_not_hold_is_404(
    forecast: Merchant, unknown: str
) -> None:
    reply = item(forecast, unknown)

    assert (reply.status, reply.json["code"]) == (404, "item_unknown")


def test_an_item_pushed_after_the_run_waits_for_the_next(forecast: Merchant) -> None:
    forecast.push({"id": "new", "stock_qty": 1})

    body = item(forecast, "new").json

    assert (body["forecast"], body["method"], body["stock_qty"]) == ([], None, 1)


def test_the_secret_key_reads_it_too(forecast: Merchant) -> None:
    for path in ("/v1/forecast/summary", "/v1/forecast/items/plain"):
        reply = forecast.client.ask("GET", path, None, forecast.server)
        assert reply.status == 200


def test_a_store_sees_only_its_own(forecast: Merchant, other: Merchant) -> None:
    assert item(forecast, "plain").status == 200
    assert item(other, "plain").status == 404
    assert summary(other)["forecast"] == []


def test_without_the_add_on_it_is_empty_again(service: Service, forecast: Merchant) -> None:
    change(service, forecast, demand_forecast="false")

    eventually(lambda: summary(forecast)["enabled"] is False)
    assert summary(forecast)["forecast"] == []
    assert item(forecast, "plain").json["forecast"] == []


def test_a_store_can_close_its_forecast_to_the_publishable_key(
    service: Service, forecast: Merchant
) -> None:
    paths = ("/v1/forecast/summary", "/v1/forecast/items/plain")

    def refusals(headers: dict[str, str]) -> list[tuple[int, str]]:
        ask = forecast.client.ask
        targets = [path if headers else forecast.target(path) for path in paths]
        replies = [ask("GET", target, None, headers) for target in targets]
        return [(reply.status, str(reply.json.get("code", ""))) for reply in replies]

    change(service, forecast, public_forecast="false")
    try:
        eventually(lambda: refusals({}) == [(401, "secret_key_required")] * 2, 30)
        assert refusals(forecast.server) == [(200, "")] * 2
    finally:
        change(service, forecast, public_forecast="true")
