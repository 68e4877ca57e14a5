"""Scheduled feed page: the address of a store's products, its log, and what waits."""

from typing import Any, Final

from productrecs.dashboard.mail_subscription_choices import (
    turn_user_mails_on_or_off,
    user_gets_mails,
)
from productrecs.dashboard.page import Page, Reply, Visit, form_pages, parse_whole_number
from productrecs.dashboard.pages.connect.file_imports import (
    FILE_PATH,
    IMPORTS_PATH,
    status_text_and_tone,
)
from productrecs.features.imports.scheduled_feeds.feed_editor import (
    NoScheduledFeedError,
    ScheduledFeedEditor,
    ScheduledFeedForm,
)
from productrecs.features.imports.scheduled_feeds.repository import ScheduledFeedRepository
from productrecs.features.imports.scheduled_feeds.scheduled_feed import (
    INTERVALS,
    LOG_DAYS,
    FeedSourceError,
    ScheduledFeedFetch,
    ScheduledFetchOutcome,
)
from productrecs.records.uploads.file_import import FileImport, ImportStatus
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.tenancy.users.mail_subscriptions.repository import (
    MailTopic,
)

FEED_PATH: Final = f"{IMPORTS_PATH}/scheduled-feed"
_NO_FEED: Final = "Your store has no scheduled feed."
_SHOWN_FETCHES: Final = 100
_OUTCOMES: Final = {
    ScheduledFetchOutcome.UNCHANGED: ("Unchanged", ""),
    ScheduledFetchOutcome.RECEIVED: ("Received", ""),
    ScheduledFetchOutcome.FAILED: ("Failed", "bad"),
}


def save_feed_and_request_fetch(visit: Visit) -> Reply:
    """Store the feed, and fetch it.

    The address may have a password: the audit log leaves out fields named `secret`.
    """
    form = visit.form
    entered = ScheduledFeedForm(
        form["secret_url"],
        form["secret_header"],
        parse_whole_number(form["every"]) or 0,
        is_complete="complete" in form,
        drops_header="drop_header" in form,
        hour=parse_whole_number(form["hour"]),
    )
    try:
        _editor(visit).save_and_enqueue_fetch(entered, visit.system_ms)
    except FeedSourceError as error:
        return show_scheduled_feed(visit, status=422, error=str(error), entered=entered)
    return visit.redirect(FEED_PATH, "The feed is saved. It is fetched now: see below.")


def request_feed_fetch(visit: Visit) -> Reply:
    """Fetch the feed now."""
    message = "The feed is fetched now: see below."
    try:
        _editor(visit).enqueue_full_fetch(visit.system_ms)
    except NoScheduledFeedError:
        message = _NO_FEED
    return visit.redirect(FEED_PATH, message)


def remove_scheduled_feed(visit: Visit) -> Reply:
    """Remove the feed."""
    message = "The feed is removed. Your products stay."
    try:
        _editor(visit).remove_feed_and_its_file()
    except NoScheduledFeedError:
        message = _NO_FEED
    return visit.redirect(FEED_PATH, message)


def turn_feed_mails_on_or_off(visit: Visit) -> Reply:
    """Turn the user's e-mails about the feed on or off."""
    message = "E-mails about the feed are off."
    if turn_user_mails_on_or_off(visit, MailTopic.SCHEDULED_FEED):
        message = f"When the feed waits or fails, {visit.user.email} gets an e-mail."
    return visit.redirect(f"{FEED_PATH}#mails", message)


def show_scheduled_feed(
    visit: Visit,
    *,
    status: int = 200,
    error: str = "",
    entered: ScheduledFeedForm | None = None,
) -> Reply:
    """Show the form, what waits, and the log."""
    feed, last = _editor(visit).find_with_last_import()
    store_id = visit.store.store_id
    with visit.database.reading() as connection:
        fetches = ScheduledFeedRepository(connection, store_id).newest_fetches(
            _SHOWN_FETCHES
        )
        imports = FileImportRepository(connection, store_id)
        rows = [
            _fetch_log_row(
                fetch, imports.find(fetch.import_id) if fetch.import_id else None
            )
            for fetch in fetches
        ]
    if entered is None and feed is not None:
        entered = ScheduledFeedForm(
            feed.url, "", feed.every_minutes, feed.is_complete, hour=feed.hour
        )
    is_waiting = last is not None and last.status is ImportStatus.CHECKED
    return visit.render(
        "scheduled_feed.html",
        status=status,
        error=error,
        feed=feed,
        entered=entered or ScheduledFeedForm(""),
        waiting=last if is_waiting else None,
        is_fetching=(feed is not None and feed.next_ms <= visit.system_ms)
        or (last is not None and last.is_in_progress),
        hours=[("", "Any hour"), *((str(hour), f"{hour:02}:00") for hour in range(24))],
        intervals=[(str(minutes), text) for minutes, text in INTERVALS.items()],
        rows=rows,
        log_days=LOG_DAYS,
        file_path=FILE_PATH,
        can_mail=visit.services.settings.smtp is not None and bool(visit.user.email),
        has_mails=user_gets_mails(visit, MailTopic.SCHEDULED_FEED),
    )


def _fetch_log_row(
    fetch: ScheduledFeedFetch, file_import: FileImport | None
) -> dict[str, Any]:
    """Return a line of the log; a file's state is that of its import."""
    result = {} if file_import is None else file_import.result
    return {
        "fetch": fetch,
        "state": _OUTCOMES[fetch.outcome]
        if file_import is None
        else status_text_and_tone(file_import),
        "problem": fetch.problem or result.get("problem") or result.get("brake") or "",
        "counts": result.get("counts", {}),
        "import_id": None if file_import is None else file_import.import_id,
    }


def _editor(visit: Visit) -> ScheduledFeedEditor:
    services = visit.services
    return ScheduledFeedEditor(
        visit.database,
        services.queue,
        services.cipher,
        services.upload_folder,
        services.settings.feed_hosts,
        visit.store.store_id,
    )


PAGES: Final = (
    Page(
        FEED_PATH,
        "Scheduled feed",
        show_scheduled_feed,
        save_feed_and_request_fetch,
        action="Saved the scheduled feed",
    ),
    *form_pages(
        FEED_PATH,
        "Scheduled feed",
        ("fetch", request_feed_fetch, "Fetched the scheduled feed"),
        ("remove", remove_scheduled_feed, "Removed the scheduled feed"),
    ),
    *form_pages(
        FEED_PATH,
        "E-mails",
        ("mails", turn_feed_mails_on_or_off, "Changed e-mails about the scheduled feed"),
        may_change=Role.VIEWER,
    ),
)
