"""Alert e-mails: products to order, a fall of search relevance, and a feed to look at.

Each goes to the users who subscribed to it. A stock e-mail names a product when it becomes
due, and again only after it was not due.
"""

from collections.abc import Sequence
from typing import Final

from productrecs.features.forecast.forecast_replies import today_of
from productrecs.features.forecast.repository import ForecastRepository
from productrecs.features.forecast.stock_actions import (
    ORDER_ALERTS,
    StockAction,
    StockAlert,
    plan_stock_actions,
)
from productrecs.features.search.relevance.relevance_monitoring import (
    alarm_text,
    read_measures,
)
from productrecs.mail import TeamMail, send_to_team
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.mail_subscriptions.repository import (
    MailSubscriptionRepository,
    MailTopic,
)

_MAX_PRODUCTS: Final = 2_000  # products considered, by money at stake
_MAX_NAMED: Final = 30  # products named in one e-mail
_WORDS: Final = {
    StockAlert.OUT_OF_STOCK: "sold out",
    StockAlert.RUNS_OUT: "will sell out before an order placed today arrives",
    StockAlert.ORDER_NOW: "order now",
}
FEED_PATH: Final = "/dashboard/imports/scheduled-feed"
RELEVANCE_PATH: Final = "/dashboard/search/relevance"


def alerted_products(services: Services, store: Store) -> frozenset[str]:
    """Return the products that e-mails have named; call before the next forecast."""
    with services.database.reading() as connection:
        return ForecastRepository(connection, store.store_id).alerted_item_ids()


def mail_and_record_stock_alerts(
    services: Services, store: Store, already_reported: frozenset[str]
) -> int:
    """Mail the products that are newly due; return how many e-mails were sent.

    `already_reported` are the products that earlier e-mails have named. A failed e-mail is
    logged, and the next nightly run retries it.
    """
    server = services.settings.smtp
    with services.database.reading() as connection:
        readers = MailSubscriptionRepository(connection, store.store_id).readers(
            MailTopic.STOCK
        )
    if server is None or not readers:
        return 0
    due_actions = due_stock_actions(services, store)
    new_actions = [
        action for action in due_actions if action.item_id not in already_reported
    ]
    count = f"{len(new_actions)} product{'s' if len(new_actions) > 1 else ''}"
    mail = TeamMail(
        "stock alert",
        f"{store.domain}: {count} to order",
        _stock_alert_text(new_actions, store, services.settings.base_url or ""),
    )
    sent_count = send_to_team(server, store, readers if new_actions else (), mail)
    if new_actions and not sent_count:
        return 0
    with services.database.transaction() as transaction:
        repository = ForecastRepository(transaction, store.store_id)
        repository.replace_alerted_item_ids({action.item_id for action in due_actions})
    return sent_count


def due_stock_actions(services: Services, store: Store) -> list[StockAction]:
    """Return the products to order, by money at stake; not those with enough on order."""
    with services.database.reading() as connection:
        repository = ForecastRepository(connection, store.store_id)
        run, stocked = repository.newest_run(), repository.items_with_expected_sales()
    if run is None:
        return []
    now_ms = services.clock()
    today = today_of(now_ms, store.settings.zone)
    actions = plan_stock_actions(stocked, run, store.settings, now_ms)
    some = [] if actions is None else actions.top_actions(_MAX_PRODUCTS)
    return [
        one
        for one in some
        if one.alert in ORDER_ALERTS and (not one.on_order or one.order_date == today)
    ]


def format_stock_actions(actions: Sequence[StockAction], most: int) -> str:
    """Return a line for each product to order, of which at most `most` are named."""
    lines = [
        f"- {action.title or action.item_id} ({action.item_id}): {_WORDS[action.alert]}"
        + (f"; order {action.order_quantity}" if action.order_quantity else "")
        for action in actions[:most]
        if action.alert is not None
    ]
    if len(actions) > most:
        lines.append(f"and {len(actions) - most} more")
    return "\n".join(lines)


def _stock_alert_text(
    new_actions: Sequence[StockAction], store: Store, base_url: str
) -> str:
    listed_actions = format_stock_actions(new_actions, _MAX_NAMED)
    return (
        f"Last night's forecast of {store.domain} says:\n\n{listed_actions}\n\n"
        f"What to order, and by when: {base_url}/dashboard/demand\n\n"
        "You can turn these e-mails off on the same page.\n"
    )


def mail_newest_search_alarm(services: Services, store: Store, since_ms: int) -> int:
    """Mail the newest measure if it is an alarm since a time; return the e-mails sent."""
    server = services.settings.smtp
    measures = read_measures(services.database, store.store_id, since_ms)
    if server is None or not measures or not measures[-1].is_alarm:
        return 0
    with services.database.reading() as connection:
        readers = MailSubscriptionRepository(connection, store.store_id).readers(
            MailTopic.SEARCH_RELEVANCE
        )
    base_url = services.settings.base_url or ""
    mail = TeamMail(
        "search alarm",
        f"{store.domain}: search results got worse",
        f"{alarm_text(measures[-1])}\n\n"
        f"Which queries, and what to do: {base_url}{RELEVANCE_PATH}\n\n"
        "You can turn these e-mails off on the same page.\n",
    )
    return send_to_team(server, store, readers, mail)


def mail_feed_alarm(services: Services, store: Store, title: str, text: str) -> int:
    """Mail that the scheduled feed needs a look; return the e-mails sent."""
    server = services.settings.smtp
    if server is None:
        return 0
    with services.database.reading() as connection:
        readers = MailSubscriptionRepository(connection, store.store_id).readers(
            MailTopic.SCHEDULED_FEED
        )
    base_url = services.settings.base_url or ""
    mail = TeamMail(
        "feed alarm",
        f"{store.domain}: {title}",
        f"{text}\n\nWhat the feed holds, and what to do: {base_url}{FEED_PATH}\n\n"
        "You can turn these e-mails off on the same page.\n",
    )
    return send_to_team(server, store, readers, mail)
