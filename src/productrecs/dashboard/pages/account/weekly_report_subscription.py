"""Weekly report subscription: the user's choice, and the mailed link that ends it."""

from typing import Final

from productrecs.dashboard.page import Page, Reply, Visit, form_pages
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.tenancy.users.mail_subscriptions.repository import (
    MailSubscriptionRepository,
    MailTopic,
)
from productrecs.worker.weekly_report_mail import (
    SECURITY_PATH,
    STOP_PATH,
    is_stop_signature_valid,
)

_PAGE: Final = "Weekly report"


def turn_weekly_report_on_or_off(visit: Visit) -> Reply:
    """Turn the user's weekly report on or off; the first one comes after this week."""
    is_on = visit.form["mails"] == "on"
    _store_subscription_and_skip_this_week(
        visit, visit.store, visit.user.user_id, is_on=is_on
    )
    message = "Your weekly report is off."
    if is_on:
        message = f"From next week on, {visit.user.email} gets the weekly report."
    return visit.redirect(f"{SECURITY_PATH}#weekly", message)


def ask_before_stopping(visit: Visit) -> Reply:
    """Ask before a link ends the report: programs that scan mails open links too."""
    return _weekly_report_stop_page(visit, _find_store_of_signed_link(visit))


def stop_weekly_report(visit: Visit) -> Reply:
    """End the report of a link's user."""
    store = _find_store_of_signed_link(visit)
    if store is not None:
        _store_subscription_and_skip_this_week(
            visit, store, visit.query["user"], is_on=False
        )
    return _weekly_report_stop_page(visit, store, is_stopped=True)


def _store_subscription_and_skip_this_week(
    visit: Visit, store: Store, user_id: str, *, is_on: bool
) -> None:
    with visit.database.transaction() as transaction:
        subscriptions = MailSubscriptionRepository(transaction, store.store_id)
        subscriptions.set_subscription(user_id, MailTopic.WEEKLY_REPORT, is_on=is_on)
        subscriptions.record_weekly_report(user_id, visit.now_ms)


def _find_store_of_signed_link(visit: Visit) -> Store | None:
    """Return the store that a link names, if its signature is right."""
    store = visit.context.accounts.by_domain(visit.query["store"])
    if store is None or not is_stop_signature_valid(
        store.secrets, visit.query["user"], visit.query["signature"], visit.system_ms
    ):
        return None
    return store


def _weekly_report_stop_page(
    visit: Visit, store: Store | None, *, is_stopped: bool = False
) -> Reply:
    return visit.render(
        "weekly_report_stop.html",
        status=404 if store is None else 200,
        domain="" if store is None else store.domain,
        is_stopped=is_stopped,
    )


PAGES: Final = (
    *form_pages(
        SECURITY_PATH,
        _PAGE,
        (
            "weekly-report",
            turn_weekly_report_on_or_off,
            "Turned the own weekly report on or off",
        ),
        may_change=Role.VIEWER,
        is_of_login=True,
    ),
    Page(
        STOP_PATH,
        _PAGE,
        ask_before_stopping,
        stop_weekly_report,
        is_public=True,
        is_signed=True,
    ),
)
