"""Feed and webhook checks: a store's exchange with other systems."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from productrecs.cli.doctor.check_result import CheckResult, notice, problem
from productrecs.core.clock import MINUTE_MS
from productrecs.core.timestamps import iso
from productrecs.features.imports.scheduled_feeds.repository import ScheduledFeedRepository
from productrecs.features.webhooks.repository import WebhookRepository
from productrecs.features.webhooks.webhook import (
    LOG_DAYS,
    WebhookEndpointState,
    WebhookMessage,
    WebhookMessageState,
)
from productrecs.records.uploads.file_import import ImportStatus
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store

_UNSENT_MS: Final = 10 * MINUTE_MS
_PAGE: Final = "dashboard, Settings, Webhooks"


def check_scheduled_feed(services: Services, store: Store) -> Iterator[CheckResult]:
    """Yield whether a scheduled feed fails, or a file of it waits for the merchant."""
    with services.database.reading() as connection:
        repository = ScheduledFeedRepository(connection, store.store_id)
        feed, newest = repository.find(), repository.newest_fetches(1)
        imports = FileImportRepository(connection, store.store_id)
        last = imports.find(feed.import_id) if feed and feed.import_id else None
    if feed is None:
        return
    if feed.failures and newest:
        message = f"its scheduled feed cannot be fetched: {newest[0].problem}"
        yield problem(store.domain, message, f"productrecs feed show {store.domain}")
    elif last is not None and last.status in {ImportStatus.CHECKED, ImportStatus.FAILED}:
        reason = last.result.get("problem") or last.result.get("brake") or "it failed"
        message = f"the last file of its scheduled feed was not imported: {reason}"
        yield notice(store.domain, message, f"productrecs feed show {store.domain}")


def check_webhooks(services: Services, store: Store) -> Iterator[CheckResult]:
    """Yield the addresses of webhooks that fail, have failed, or want nothing more."""
    with services.database.reading() as connection:
        repository = WebhookRepository(connection, store.store_id)
        for endpoint in repository.endpoints():
            counts = repository.counts_by_state().get(endpoint.endpoint_id, {})
            oldest = repository.oldest_pending_message(endpoint.endpoint_id)
            # Only the host: an address can contain a password.
            subject = f"its webhooks to {urlsplit(endpoint.url).hostname}"
            if endpoint.state is WebhookEndpointState.GONE:
                message = f"{subject} are off, because the receiver answered 410"
                yield problem(store.domain, message, f"remove it, or switch it on: {_PAGE}")
            elif endpoint.state is WebhookEndpointState.ON and oldest is not None:
                yield from _check_waiting_webhooks(
                    store,
                    f"{counts[WebhookMessageState.PENDING]:,} of {subject}",
                    oldest,
                    services.system_clock(),
                )
            if failed := counts.get(WebhookMessageState.FAILED, 0):
                message = f"{failed:,} of {subject} failed in the last {LOG_DAYS} days"
                yield notice(store.domain, message, f"send them again: {_PAGE}")


def _check_waiting_webhooks(
    store: Store, subject: str, oldest: WebhookMessage, now_ms: int
) -> Iterator[CheckResult]:
    since = f"since {iso(oldest.created_at)}"
    if oldest.attempts:
        message = f"{subject} wait {since}; the last answer: {oldest.reply}"
        yield problem(store.domain, message, f"repair the receiver; {_PAGE}")
    elif oldest.created_at < now_ms - _UNSENT_MS:
        remedy = "start productrecs serve or productrecs worker, and check its log"
        yield problem(store.domain, f"{subject} were not sent {since}", remedy)
