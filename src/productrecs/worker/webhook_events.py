"""Webhook events: the facts of a store that become messages, each exactly once.

A source compares what is stored now with the position of its last run. Messages and the new
position are one transaction: a killed worker finds the same facts again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from productrecs.core.timestamps import iso
from productrecs.features.experiments.experiment_report import advice, is_decided
from productrecs.features.experiments.repository import ExperimentResultRepository
from productrecs.features.forecast.repository import ForecastRepository
from productrecs.features.forecast.stock_actions import (
    StockAction,
    StockAlert,
    plan_stock_actions,
)
from productrecs.features.search.insights.search_insights import (
    ListedQueries,
    search_insights,
)
from productrecs.features.webhooks.repository import WebhookRepository
from productrecs.features.webhooks.webhook import WebhookEvent
from productrecs.records.experiments.repository import ExperimentRepository
from productrecs.records.uploads.file_import import ImportStatus
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.records.uploads.order_upload import OrderUploadStatus
from productrecs.records.uploads.order_uploads.repository import OrderUploadRepository
from productrecs.services import Services
from productrecs.tenancy.accounts.key_misuse.repository import (
    KeyMisuseRepository,
    MisuseKind,
)
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import read_plan_usage
from productrecs.tenancy.billing.call_meter import BillingStatus

_MAX_IMPORTS: Final = 200  # the newest ones; at most 20 of them are unfinished
_MAX_PRODUCTS: Final = 2_000  # products considered, by money at stake
_MAX_LISTED: Final = 100  # products or queries in one message
_FORESEEN: Final = frozenset({StockAlert.RUNS_OUT, StockAlert.ORDER_NOW})
_LEVELS: Final = MappingProxyType({BillingStatus.WARN: 80, BillingStatus.OVER_QUOTA: 100})
_ENDED: Final = frozenset(
    {ImportStatus.DONE, ImportStatus.FAILED, ImportStatus.UNDOING, ImportStatus.UNDONE}
)


@dataclass(frozen=True, slots=True)
class _WebhookSourceInput:
    """What a source reads; `position` is None in its first run for a store."""

    services: Services
    store: Store
    position: Any
    since_ms: int  # when the store's first endpoint was added
    now_ms: int


@dataclass(frozen=True, slots=True)
class _NewWebhookMessage:
    event: WebhookEvent
    data: Mapping[str, object]


_SourceResult = tuple[
    Any, Sequence[_NewWebhookMessage]
]  # the new position, and the messages


def write_webhook_messages(services: Services, store: Store) -> int:
    """Write the messages of all facts since the last run; return their number.

    Raises:
        StoreDeletedError: when the store was deleted meanwhile.
    """
    with services.database.reading() as connection:
        webhooks = WebhookRepository(connection, store.store_id)
        endpoints, positions = webhooks.endpoints(), webhooks.source_positions()
    if not endpoints:
        return 0
    since_ms = min(endpoint.created_at for endpoint in endpoints)
    written = 0
    for name, source in _SOURCES.items():
        before = positions.get(name)
        found = source(
            _WebhookSourceInput(services, store, before, since_ms, services.clock())
        )
        if found[0] != before:
            written += _store_messages_unless_stored(services, store, name, before, found)
    return written


def _store_messages_unless_stored(
    services: Services,
    store: Store,
    source_name: str,
    earlier_position: Any,
    source_result: _SourceResult,
) -> int:
    """Write a source's messages and its position, unless another process has done so."""
    position, messages = source_result
    with services.database.transaction() as transaction:
        AccountRepository(transaction).lock(store.store_id)
        webhooks = WebhookRepository(transaction, store.store_id)
        if (
            webhooks.source_positions().get(source_name) != earlier_position
            or not webhooks.endpoints()
        ):
            return 0
        for message in messages:
            webhooks.enqueue_for_subscribed_endpoints(
                message.event, message.data, services.system_clock()
            )
        webhooks.set_source_position(source_name, position)
    return len(messages)


def _file_import_messages(source_input: _WebhookSourceInput) -> _SourceResult:
    """Files from the dashboard or the command line."""
    with source_input.services.database.reading() as connection:
        imports = FileImportRepository(connection, source_input.store.store_id)
        latest = imports.latest(_MAX_IMPORTS)
    ended = [one for one in reversed(latest) if one.status in _ENDED]
    known = source_input.position or ()
    messages = [
        _NewWebhookMessage(
            WebhookEvent.IMPORT_FINISHED
            if one.status is ImportStatus.DONE
            else WebhookEvent.IMPORT_FAILED,
            {
                "import_id": one.import_id,
                "kind": one.choices.kind,
                "file_name": one.file_name,
                "ended_at": iso(one.ended_ms),
                "counts": one.result.get("counts", {}),
                "problem": one.result.get("problem"),
            },
        )
        for one in ended
        if one.status in {ImportStatus.DONE, ImportStatus.FAILED}
        and one.import_id not in known
        and one.ended_ms is not None
        and one.ended_ms >= source_input.since_ms
    ]
    return [one.import_id for one in ended], messages


def _order_upload_messages(source_input: _WebhookSourceInput) -> _SourceResult:
    """Files of orders from the shop's server."""
    with source_input.services.database.reading() as connection:
        latest = OrderUploadRepository(connection, source_input.store.store_id).latest(
            _MAX_IMPORTS
        )
    ended = [
        one
        for one in reversed(latest)
        if one.status in {OrderUploadStatus.DONE, OrderUploadStatus.FAILED}
    ]
    known = source_input.position or ()
    messages = [
        _NewWebhookMessage(
            WebhookEvent.IMPORT_FINISHED
            if one.status is OrderUploadStatus.DONE
            else WebhookEvent.IMPORT_FAILED,
            {
                "import_id": one.upload_id,
                "kind": "orders",
                "counts": {
                    "rows": one.rows,
                    "lines_imported": one.lines_imported,
                    "lines_updated": one.lines_updated,
                    "rows_skipped": one.rows_skipped,
                },
            },
        )
        for one in ended
        if one.upload_id not in known
        and (source_input.position is not None or one.submitted_ms >= source_input.since_ms)
    ]
    return [one.upload_id for one in ended], messages


def _stockout_messages(source_input: _WebhookSourceInput) -> _SourceResult:
    """Products that sell out soon, each once until it is in order again."""
    if not source_input.store.settings.demand_forecast:
        return source_input.position, ()
    with source_input.services.database.reading() as connection:
        forecasts = ForecastRepository(connection, source_input.store.store_id)
        run = forecasts.newest_run()
        position = source_input.position or {"run": 0, "products": []}
        if run is None or run.generated_at == position["run"]:
            return source_input.position, ()
        stocked = forecasts.items_with_expected_sales()
    actions = plan_stock_actions(
        stocked, run, source_input.store.settings, source_input.now_ms
    )
    foreseen = [
        action
        for action in ([] if actions is None else actions.top_actions(_MAX_PRODUCTS))
        if action.alert in _FORESEEN
    ]
    known = set(position["products"])
    new = [action for action in foreseen if action.item_id not in known]
    new_position = {
        "run": run.generated_at,
        "products": sorted(action.item_id for action in foreseen),
    }
    if not new or run.generated_at < source_input.since_ms:
        return new_position, ()
    data = {
        "forecast_at": iso(run.generated_at),
        "products_total": len(new),
        "products": [_stockout_fields(action) for action in new[:_MAX_LISTED]],
    }
    return new_position, (_NewWebhookMessage(WebhookEvent.STOCKOUT_FORESEEN, data),)


def _stockout_fields(action: StockAction) -> dict[str, object]:
    return {
        "item_id": action.item_id,
        "title": action.title,
        "stock": action.stock_qty,
        "stockout_date": _day(action.stockout_date),
        "order_date": _day(action.order_date),
        "order_quantity": action.order_quantity,
    }


def _day(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _quota_messages(source_input: _WebhookSourceInput) -> _SourceResult:
    """80 % and 100 % of the month's calls, each once a month."""
    plans = source_input.services.settings.plans
    usage = read_plan_usage(
        source_input.services.database, source_input.store, plans, source_input.now_ms
    )
    notice = usage.notice
    percent = 0 if notice is None else _LEVELS.get(notice.status, 0)
    before = source_input.position or {"month": "", "percent": 0}
    sent_percent = before["percent"] if before["month"] == usage.month else 0
    if notice is None or percent <= sent_percent:
        return source_input.position, ()
    data = {
        "percent": percent,
        "calls": notice.used,
        "limit": notice.limit,
        "month": usage.month,
        "plan": source_input.store.subscription.plan,
    }
    position = {"month": usage.month, "percent": percent}
    return position, (_NewWebhookMessage(WebhookEvent.QUOTA_REACHED, data),)


def _decided_test_messages(source_input: _WebhookSourceInput) -> _SourceResult:
    """Tests that can be stopped, each once."""
    settings, store_id = source_input.store.settings, source_input.store.store_id
    with source_input.services.database.reading() as connection:
        tests = ExperimentRepository(connection, store_id).all()
        names = [one.split.name for one in tests if one.started_at is not None]
        if settings.holdout_percent:
            names.append(settings.holdout_test)
        results = ExperimentResultRepository(connection, store_id)
        newest = [one for name in names for one in results.newest_results(name, 1)]
    known = source_input.position or []
    decided = [one for one in newest if one.test not in known and is_decided(one.result)]
    if not decided:
        return known, ()
    messages = [
        _NewWebhookMessage(
            WebhookEvent.TEST_DECIDED,
            {
                "test": one.test,
                "goal": one.result["goal"],
                "advice": advice(one.result),
                "computed_at": iso(one.computed_at),
            },
        )
        for one in decided
        if one.computed_at >= source_input.since_ms
    ]
    return [*known, *(one.test for one in decided)], messages


def _weekly_search_messages(source_input: _WebhookSourceInput) -> _SourceResult:
    """Searches without results, once a week when the store's week has ended."""
    settings = source_input.store.settings
    now = datetime.fromtimestamp(source_input.now_ms / 1000, UTC)
    this_week = settings.week_of(now.astimezone(settings.zone).date())
    if source_input.position in (None, this_week.isoformat()):
        return this_week.isoformat(), ()
    first_day, last_day = (
        (this_week - timedelta(days=back)).isoformat() for back in (7, 1)
    )
    insights = search_insights(
        source_input.services.database,
        source_input.store,
        (first_day, last_day),
        ListedQueries.NO_RESULTS,
        _MAX_LISTED,
    )
    if not insights.total.empty:
        return this_week.isoformat(), ()
    data = {
        "first_day": first_day,
        "last_day": last_day,
        "searches": insights.total.searches,
        "searches_without_results": insights.total.empty,
        "queries": [
            {"query": one.text, "searches": one.searches, "without_results": one.empty}
            for one in insights.queries
        ],
    }
    message = _NewWebhookMessage(WebhookEvent.SEARCHES_WITHOUT_RESULTS, data)
    return this_week.isoformat(), (message,)


def _exposed_key_messages(source_input: _WebhookSourceInput) -> _SourceResult:
    """Places where the secret key was seen, each once."""
    with source_input.services.database.reading() as connection:
        misuses = KeyMisuseRepository(connection, source_input.store.store_id).all()
    leaks = [one for one in misuses if one.kind is MisuseKind.LEAKED_SECRET]
    known = source_input.position or ()
    messages = [
        _NewWebhookMessage(
            WebhookEvent.KEY_EXPOSED,
            {
                "key": "secret",
                "place": "page" if one.value else "address",
                "origin": one.value or None,
                "seen_at": iso(one.seen_at),
            },
        )
        for one in leaks
        if one.value not in known
    ]
    return sorted(one.value for one in leaks), messages


def _ending_plan_messages(source_input: _WebhookSourceInput) -> _SourceResult:
    """The end of the plan, once days before."""
    subscription = source_input.store.subscription
    ends_at = subscription.ends_at
    if (
        ends_at is None
        or ends_at <= source_input.now_ms
        or ends_at == source_input.position
        or not subscription.is_near_end(source_input.now_ms)
    ):
        return source_input.position, ()
    data = {"plan": subscription.plan, "ends_at": iso(ends_at)}
    return ends_at, (_NewWebhookMessage(WebhookEvent.PLAN_ENDING, data),)


_SOURCES: Final[Mapping[str, Callable[[_WebhookSourceInput], _SourceResult]]] = (
    MappingProxyType(
        {
            "file_imports": _file_import_messages,
            "order_uploads": _order_upload_messages,
            "stockouts": _stockout_messages,
            "quota": _quota_messages,
            "tests": _decided_test_messages,
            "searches": _weekly_search_messages,
            "keys": _exposed_key_messages,
            "plan": _ending_plan_messages,
        }
    )
)
