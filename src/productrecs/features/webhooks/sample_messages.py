"""Sample messages: what the test button sends, in the form of each real message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from productrecs.core.clock import DAY_MS
from productrecs.core.timestamps import iso
from productrecs.features.webhooks.webhook import WebhookEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_IMPORT: Final = {"import_id": "sample", "kind": "items", "file_name": "products.csv"}


def sample_message(event: WebhookEvent, domain: str, now_ms: int) -> dict[str, Any]:
    """Return the `data` of a test message; `is_sample` tells it from a real one."""
    return {"is_sample": True} | _SAMPLES[event](domain, now_ms)


def _sample_stockout(_domain: str, now_ms: int) -> dict[str, Any]:
    product = {
        "item_id": "sku-1",
        "title": "Tent for two",
        "stock": 4,
        "stockout_date": _day(now_ms + 6 * DAY_MS),
        "order_date": _day(now_ms),
        "order_quantity": 20,
    }
    return {"forecast_at": iso(now_ms), "products_total": 1, "products": [product]}


def _sample_finished_import(_domain: str, now_ms: int) -> dict[str, Any]:
    counts = {"rows": 120, "inserted": 3, "overwritten": 115, "skipped": 2}
    return _IMPORT | {"ended_at": iso(now_ms), "counts": counts, "problem": None}


def _sample_failed_import(_domain: str, now_ms: int) -> dict[str, Any]:
    problem = "The file has no column with the product's id."
    return _IMPORT | {"ended_at": iso(now_ms), "counts": {}, "problem": problem}


def _sample_quota(_domain: str, now_ms: int) -> dict[str, Any]:
    used = {"percent": 80, "calls": 8_000, "limit": 10_000}
    return used | {"month": _day(now_ms)[:7], "plan": "starter"}


def _sample_decided_test(_domain: str, now_ms: int) -> dict[str, Any]:
    test = {
        "test": "sample",
        "goal": "revenue",
        "advice": "Stop and choose B: it earns more.",
    }
    return test | {"computed_at": iso(now_ms)}


def _sample_searches(_domain: str, now_ms: int) -> dict[str, Any]:
    week = {"first_day": _day(now_ms - 7 * DAY_MS), "last_day": _day(now_ms - DAY_MS)}
    query = {"query": "hammock", "searches": 9, "without_results": 9}
    return week | {"searches": 400, "searches_without_results": 9, "queries": [query]}


def _sample_exposed_key(domain: str, now_ms: int) -> dict[str, Any]:
    place = {"key": "secret", "place": "page", "origin": f"https://{domain}"}
    return place | {"seen_at": iso(now_ms)}


def _sample_ending_plan(_domain: str, now_ms: int) -> dict[str, Any]:
    return {"plan": "starter", "ends_at": iso(now_ms + 7 * DAY_MS)}


def _day(at_ms: int) -> str:
    return iso(at_ms)[:10]


_SAMPLES: Final[Mapping[WebhookEvent, Callable[[str, int], dict[str, Any]]]] = {
    WebhookEvent.PING: lambda domain, _now_ms: {"store": domain},
    WebhookEvent.STOCKOUT_FORESEEN: _sample_stockout,
    WebhookEvent.IMPORT_FINISHED: _sample_finished_import,
    WebhookEvent.IMPORT_FAILED: _sample_failed_import,
    WebhookEvent.QUOTA_REACHED: _sample_quota,
    WebhookEvent.TEST_DECIDED: _sample_decided_test,
    WebhookEvent.SEARCHES_WITHOUT_RESULTS: _sample_searches,
    WebhookEvent.KEY_EXPOSED: _sample_exposed_key,
    WebhookEvent.PLAN_ENDING: _sample_ending_plan,
}
