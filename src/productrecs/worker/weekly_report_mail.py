"""Weekly report mail: last week's sales, searches and stock, to the users who asked for it.

It goes out in the morning after the store's week has ended, with the figures of the
dashboard's Home page. A mail that cannot be sent is tried again until the day ends.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from urllib.parse import urlencode

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.core.report import ReportQuery, ReportValue, share_of
from productrecs.features.search.insights.search_insights import (
    ListedQueries,
    SearchInsights,
    search_insights,
)
from productrecs.features.widgets.price_format import PriceFormat
from productrecs.mail import MailError, send_mail
from productrecs.report_registry import make_report
from productrecs.services import Services
from productrecs.tenancy.accounts.api_keys import SecretKeyHashes, sign_address
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.tenancy.users.dashboard_user import DashboardUser
from productrecs.tenancy.users.mail_subscriptions.repository import (
    MailSubscriptionRepository,
    oldest_weekly_report_times,
)
from productrecs.worker.alert_mails import due_stock_actions, format_stock_actions

SECURITY_PATH: Final = "/dashboard/security"
STOP_PATH: Final = "/dashboard/weekly-report/stop"
_SENT_AT: Final = time(7)  # in the store's time zone
_MOST: Final = 10  # searches or products named
_SIGNATURE_DIGITS: Final = 32


@dataclass(frozen=True, slots=True)
class ReportWeek:
    """A week of a store that has ended."""

    first_day: date
    last_day: date
    due_at: int  # its report


def newest_due_week(settings: StoreSettings, now_ms: int) -> ReportWeek:
    """Return the newest week whose report is due."""
    now = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(settings.zone)
    this_week = settings.week_of(now.date())
    if now < datetime.combine(this_week, _SENT_AT, settings.zone):
        this_week -= timedelta(days=7)
    due = datetime.combine(this_week, _SENT_AT, settings.zone)
    first_day, last_day = (this_week - timedelta(days=back) for back in (7, 1))
    return ReportWeek(first_day, last_day, round(due.timestamp() * 1000))


def stores_with_due_weekly_reports(
    services: Services, stores: Iterable[Store]
) -> list[StoreId]:
    """Return the stores whose weekly report has not been sent to all of its readers.

    A day after it was due it is not sent any more.
    """
    if services.settings.smtp is None:
        return []
    with services.database.reading() as connection:
        mailed = oldest_weekly_report_times(connection)
    now_ms, due = services.clock(), []
    for store in stores:
        due_at = newest_due_week(store.settings, now_ms).due_at
        if mailed.get(store.store_id, now_ms) < due_at and now_ms < due_at + DAY_MS:
            due.append(store.store_id)
    return due


def mail_due_weekly_reports(services: Services, store: Store) -> int:
    """Send last week's report to those who are due; return how many were sent."""
    server, now_ms = services.settings.smtp, services.clock()
    week = newest_due_week(store.settings, now_ms)
    with services.database.reading() as connection:
        subscriptions = MailSubscriptionRepository(connection, store.store_id)
        readers = subscriptions.weekly_report_readers_due(week.due_at)
    if server is None or not readers:
        return 0
    text, sent = weekly_report_text(services, store, week), 0
    for reader in readers:
        link = _signed_stop_link(services, store, reader)
        try:
            send_mail(
                server,
                reader.email or "",
                f"{store.domain}: your week, {week.first_day} to {week.last_day}",
                text + _unsubscribe_text(services.settings.base_url or "", link),
                reply_to=store.settings.contact_email,
                headers=_unsubscribe_headers(link),
            )
        except MailError:
            continue  # it is logged, and tried again
        sent += 1
        with services.database.transaction() as transaction:
            subscriptions = MailSubscriptionRepository(transaction, store.store_id)
            subscriptions.record_weekly_report(reader.user_id, now_ms)
    return sent


def weekly_report_text(services: Services, store: Store, week: ReportWeek) -> str:
    """Return the report of a week, without the lines about the e-mail itself."""
    days = (week.first_day.isoformat(), week.last_day.isoformat())
    report = make_report(services, store, "attribution", ReportQuery(*days))
    figures = {one.definition.name: one.value for one in report.figures}
    insights = search_insights(
        services.database, store, days, ListedQueries.NO_RESULTS, _MOST
    )
    base_url = services.settings.base_url or ""
    actions = due_stock_actions(services, store)
    parts = [
        f"Your week at {store.domain}, {days[0]} to {days[1]}",
        _sales_lines(PriceFormat.of_store_language(store.settings), figures),
        _search_lines(PriceFormat.of_store_language(store.settings), insights, base_url),
    ]
    if actions:
        lines = format_stock_actions(actions, _MOST)
        parts.append(f"Products to order\n{lines}\n{base_url}/dashboard/demand")
    period = urlencode({"from": days[0], "until": days[1]})
    parts.append(f"All figures of the week: {base_url}/dashboard?{period}")
    return "\n\n".join(parts)


def _sales_lines(fmt: PriceFormat, figures: Mapping[str, ReportValue]) -> str:
    def amount(name: str) -> float:
        return float(figures[name] or 0)

    share, rate = 100 * amount("revenue_share"), 100 * amount("click_rate")
    return (
        f"Sales after recommendations: {fmt.format_price(amount('revenue'))}, "
        f"{fmt.format_number(share, 1)} % of all sales\n"
        f"- after a click: {fmt.format_price(amount('revenue_clicked'))}\n"
        f"- only seen: {fmt.format_price(amount('revenue_seen'))}\n"
        f"- the week before: {fmt.format_price(amount('revenue_before'))}\n"
        f"Click rate: {fmt.format_number(rate, 2)} % "
        f"(clicks: {fmt.format_number(amount('clicked'), 0)}; "
        f"products shown: {fmt.format_number(amount('shown'), 0)})"
    )


def _search_lines(fmt: PriceFormat, insights: SearchInsights, base_url: str) -> str:
    searches, empty = insights.total.searches, insights.total.empty
    if not searches:
        return "Searches: none"
    share = fmt.format_number(100 * (share_of(empty, searches) or 0), 1)
    lines = [f"Searches: {fmt.format_number(searches, 0)}; {share} % found nothing"]
    lines += [
        f"- {one.text}: {fmt.format_number(one.empty, 0)} times" for one in insights.queries
    ]
    if insights.queries:
        lines.append(f"What to do about them: {base_url}/dashboard/search")
    return "\n".join(lines)


def _unsubscribe_text(base_url: str, stop_link: str | None) -> str:
    stop = f", or here: {stop_link}" if stop_link else ""
    page = f"{base_url}{SECURITY_PATH}"
    return f"\n\nTurn this e-mail off on the page Login and security, {page}{stop}\n"


def _unsubscribe_headers(stop_link: str | None) -> dict[str, str]:
    """Return the headers by which a mail program shows Unsubscribe (RFC 8058)."""
    if stop_link is None:
        return {}
    return {
        "List-Unsubscribe": f"<{stop_link}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }


def _signed_stop_link(services: Services, store: Store, user: DashboardUser) -> str | None:
    """Return the signed address that turns a user's report off; None without a key."""
    base_url, secret_hash = services.settings.base_url, store.secrets.secret_hash
    if base_url is None or secret_hash is None:
        return None
    signature = sign_address(secret_hash, _stop_link_subject(user.user_id))[
        :_SIGNATURE_DIGITS
    ]
    named = {"store": store.domain, "user": user.user_id, "signature": signature}
    return f"{base_url}{STOP_PATH}?{urlencode(named)}"


def is_stop_signature_valid(
    secrets: SecretKeyHashes, user_id: str, signature: str, now_ms: int
) -> bool:
    """Return whether a link to turn a user's report off was signed for this user."""
    subject = _stop_link_subject(user_id)
    return secrets.accepts_signature(subject, signature, now_ms, _SIGNATURE_DIGITS)


def _stop_link_subject(user_id: str) -> str:
    return f"weekly-report:{user_id}"
