"""Alerts: the problems that need a merchant's attention, each with a link to the fix."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from productrecs.core.clock import DAY_MS
from productrecs.core.report import parse_report_query
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import Visit
from productrecs.dashboard.report_values import as_number, figures_by_name
from productrecs.features.imports.scheduled_feeds.repository import ScheduledFeedRepository
from productrecs.features.reports.tracking_health.tracking_issues import (
    find_tracking_issues,
)
from productrecs.features.search.relevance.relevance_monitoring import (
    ALARM_DAYS,
    alarm_text,
    newest_unresolved_alarm,
    read_measures,
)
from productrecs.report_registry import make_report
from productrecs.storage.jobs.job_queue import JobState, count_jobs_by_state
from productrecs.tenancy.accounts.key_misuse.repository import (
    KeyMisuseRepository,
    MisuseKind,
)
from productrecs.tenancy.accounts.store_management import read_plan_usage
from productrecs.tenancy.billing.call_meter import BillingStatus

_RECENT_MS = 7 * DAY_MS
_NEAR_END_MS = 3 * DAY_MS
_STOCK_ALERTS = MappingProxyType(
    {
        "out_of_stock": ("is sold out", "are sold out"),
        "runs_out": (
            "will sell out before new stock can arrive",
            "will sell out before new stock can arrive",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class DashboardAlert:
    """One problem, and the page that fixes it."""

    level: str  # bad, warn or note
    text: str
    action: str  # the text of the link
    path: str


def find_alerts(visit: Visit) -> list[DashboardAlert]:
    """Return the store's alerts, the most severe first."""
    alerts = [
        *_plan_alerts(visit),
        *key_misuse_alerts(visit),
        *_feed_alerts(visit),
        *_failed_job_alerts(visit),
        *_data_issue_alerts(visit),
        *_stock_alerts(visit),
        *_relevance_alerts(visit),
    ]
    return sorted(alerts, key=lambda alert: ("bad", "warn", "note").index(alert.level))


def _plan_alerts(visit: Visit) -> Iterator[DashboardAlert]:
    store, fmt = visit.store, visit.formats
    usage = read_plan_usage(
        visit.database, store, visit.services.settings.plans, visit.now_ms
    )
    path, notice = "/dashboard/account", usage.notice
    if notice is not None and notice.status is BillingStatus.SUSPENDED:
        text = "Your plan has ended or was suspended. Lists and searches are empty."
        yield DashboardAlert("bad", text, "See plan", path)
    elif notice is not None and notice.used is not None:
        used, limit = fmt.number(notice.used), fmt.number(notice.limit)
        if notice.is_cut_off:
            text = (
                f"All {limit} calls of this month are used. Lists are empty until the "
                "month ends."
            )
            yield DashboardAlert("bad", text, "See plan", path)
        else:
            text = f"{used} of the {limit} calls of this month are used."
            yield DashboardAlert("warn", text, "See plan", path)
    ends_at = store.subscription.ends_at
    if ends_at is not None and 0 < ends_at - visit.now_ms < _NEAR_END_MS:
        text = f"Your plan {store.subscription.plan} ends on {fmt.time(ends_at)}."
        yield DashboardAlert("warn", text, "See plan", path)


def key_misuse_alerts(visit: Visit) -> Iterator[DashboardAlert]:
    """Yield alerts about a leaked secret key, unknown origins and inhuman rates."""
    store = visit.store
    with visit.database.reading() as connection:
        misuses = KeyMisuseRepository(connection, store.store_id).all()
    leaks = [misuse for misuse in misuses if misuse.kind is MisuseKind.LEAKED_SECRET]
    if leaks:
        where = f"in a page of {leaks[0].value}" if leaks[0].value else "in an address"
        text = f"Your secret key was sent {where}, so others may know it. Replace it."
        yield DashboardAlert("bad", text, "Replace the key", "/dashboard/account#keys")
    recent = [misuse for misuse in misuses if misuse.seen_at >= visit.now_ms - _RECENT_MS]
    inhuman_rates = [misuse for misuse in recent if misuse.kind is MisuseKind.INHUMAN_RATE]
    if inhuman_rates:
        where = (
            f"from pages of {inhuman_rates[0].value}"
            if inhuman_rates[0].value
            else "without a page"
        )
        text = (
            f"A program uses your publishable key {where}, faster than a person can. Its "
            "events are left out."
        )
        yield DashboardAlert("warn", text, "See the numbers", "/dashboard/impact#doctor")
    foreign_origins = {
        misuse.value for misuse in recent if misuse.kind is MisuseKind.FOREIGN_ORIGIN
    } - {
        *store.origins,
        "",
    }
    if store.origins and foreign_origins:
        text = (
            f"Pages of {min(foreign_origins)} ask for recommendations and are not on your "
            "list."
        )
        yield DashboardAlert("warn", text, "Review origins", "/dashboard/account#origins")


def _feed_alerts(visit: Visit) -> Iterator[DashboardAlert]:
    with visit.database.reading() as connection:
        repository = ScheduledFeedRepository(connection, visit.store.store_id)
        feed, last = repository.find_with_last_import()
        fetch = next(iter(repository.newest_fetches(1)), None)
    path = "/dashboard/imports/scheduled-feed"
    if feed is not None and feed.failures and fetch is not None:
        problem = fetch.problem.rstrip(".")
        text = f"Your product feed could not be fetched: {problem}."
        yield DashboardAlert("warn", text, "See the feed", path)
    failed = 0 if last is None else int(last.result.get("counts", {}).get("skipped", 0))
    if last is not None and failed:
        what = "row" if failed == 1 else "rows"
        text = f"{visit.formats.number(failed)} {what} of your product feed failed."
        yield DashboardAlert(
            "warn", text, "See the rows", f"/dashboard/imports/file?file={last.import_id}"
        )


def _failed_job_alerts(visit: Visit) -> Iterator[DashboardAlert]:
    with visit.database.reading() as connection:
        failed = count_jobs_by_state(connection, visit.store.store_id)[JobState.DEAD]
    if failed:
        what = "job has" if failed == 1 else "jobs have"
        text = f"{failed} background {what} failed, such as an import or a training."
        yield DashboardAlert("warn", text, "Read what to do", "/guides/troubleshooting")


def _data_issue_alerts(visit: Visit) -> Iterator[DashboardAlert]:
    for issue in find_tracking_issues(visit.database, visit.store, visit.now_ms):
        text = f"{sentence(issue.message)} {sentence(issue.remedy)}"
        level = "bad" if issue.is_serious else "note"
        if issue.code == "pictures_fail":
            yield DashboardAlert(level, text, "See the products", "/dashboard/products")
        else:
            yield DashboardAlert(level, text, "See the numbers", "/dashboard/impact#doctor")


def _stock_alerts(visit: Visit) -> Iterator[DashboardAlert]:
    if not visit.store.settings.demand_forecast:
        return
    query = parse_report_query(visit.now_ms, visit.store.settings.zone)
    report = make_report(visit.services, visit.store, "demand", query)
    column_numbers = {column.name: number for number, column in enumerate(report.columns)}
    counts = figures_by_name(report)
    for alert, (singular, plural) in _STOCK_ALERTS.items():
        count = int(as_number(counts.get(alert)) or 0)
        if not count:
            continue
        titles = [
            str(row[column_numbers["title"]] or row[column_numbers["item_id"]])
            for row in report.rows
            if row[column_numbers["alert"]] == alert
        ]
        products_text = titles[0] if titles else f"{visit.formats.number(count)} products"
        if titles and count > 1:
            products_text = f"{products_text} and {visit.formats.number(count - 1)} more"
        text = f"{products_text} {singular if count == 1 else plural}."
        yield DashboardAlert("warn", text, "See what to order", "/dashboard/demand#orders")


def _relevance_alerts(visit: Visit) -> Iterator[DashboardAlert]:
    since_ms = visit.now_ms - ALARM_DAYS * DAY_MS
    measures = read_measures(visit.database, visit.store.store_id, since_ms)
    alarm = newest_unresolved_alarm(measures, visit.now_ms)
    if alarm is not None:
        path = "/dashboard/search/relevance"
        yield DashboardAlert("warn", alarm_text(alarm), "See the queries", path)
