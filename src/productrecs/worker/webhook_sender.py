"""Webhook sender: sends due messages of all stores, in a process that waits for others.

One process of all machines sends at a time. If it is killed, another takes over after its
lease, and messages whose result was not stored are sent again with the same id. A store has
one request at a time, so slow receivers of one store do not block those of another.
"""

import contextlib
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from productrecs.core.errors import StorageError, operator_text
from productrecs.core.ids import StoreId
from productrecs.core.outage_log_limiter import OutageLogLimiter
from productrecs.features.webhooks.repository import WebhookRepository, due_messages
from productrecs.features.webhooks.send_webhook_message import send_message
from productrecs.features.webhooks.webhook import DeliveryAttemptResult, DueWebhookMessage
from productrecs.services import Services
from productrecs.storage.jobs.leases import LEASE_MS, Lease
from productrecs.tenancy.users.stored_secret_cipher import UnreadableSecretError

_log = logging.getLogger(__name__)

MAX_CONCURRENT: Final = 16
_IDLE_SECONDS: Final = 1.0
_RENEW_SECONDS: Final = LEASE_MS / 1_000 / 3
_UNREADABLE: Final = "not sent: its secret cannot be read; make a new secret"


class WebhookSender:
    """Sends until `stop`."""

    def __init__(self, services: Services, idle_seconds: float = _IDLE_SECONDS) -> None:
        """Send nothing yet; look for due messages every `idle_seconds`."""
        self._services = services
        self._idle_seconds = idle_seconds
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._busy = set[StoreId]()
        self._guard = threading.Lock()
        self._lease = Lease(services.database, "webhooks", services.system_clock)
        self._renew_at = 0.0
        self._outage = OutageLogLimiter()

    def run(self) -> None:
        """Send what is due until `stop` is called."""
        with ThreadPoolExecutor(MAX_CONCURRENT, "webhook") as threads:
            while not self._stopping.is_set():
                self._wake.clear()
                try:
                    self._start_due_requests(threads)
                    if self._outage.should_log_recovery():
                        _log.info("webhooks sent again")
                except StorageError as error:
                    if self._outage.should_log_failure():
                        facts = {"error": operator_text(error)}
                        _log.warning("webhooks not sent", extra=facts)
                self._wake.wait(self._idle_seconds)
        if self._renew_at:
            with contextlib.suppress(StorageError):
                self._lease.release()

    def stop(self) -> None:
        """Let `run` return after the current requests; thread-safe."""
        self._stopping.set()
        self._wake.set()

    def _start_due_requests(self, threads: ThreadPoolExecutor) -> None:
        """Start requests for due messages, as many as there are free threads."""
        with self._guard:
            busy = frozenset(self._busy)
        free = MAX_CONCURRENT - len(busy)
        services = self._services
        with services.database.reading() as connection:
            found = due_messages(
                connection, services.system_clock(), 8 * MAX_CONCURRENT, busy
            )
        if not self._hold_lease_if_needed(is_needed=bool(found or busy)):
            return
        first_by_store = dict[StoreId, DueWebhookMessage]()
        for due in found:
            first_by_store.setdefault(due.store_id, due)
        for due in list(first_by_store.values())[:free]:
            with self._guard:
                self._busy.add(due.store_id)
            threads.submit(self._send_and_record, due)

    def _hold_lease_if_needed(self, *, is_needed: bool) -> bool:
        """Renew the lease while there is work; idle processes write nothing."""
        if is_needed and time.monotonic() >= self._renew_at:
            self._renew_at = 0.0
            if self._lease.take_or_renew():
                self._renew_at = time.monotonic() + _RENEW_SECONDS
        return self._renew_at > 0.0

    def _send_and_record(self, due: DueWebhookMessage) -> None:
        services = self._services
        try:
            attempt = self._attempt_delivery(due)
            with services.database.transaction() as transaction:
                webhooks = WebhookRepository(transaction, due.store_id)
                webhooks.record_attempt_and_schedule_retry(
                    due.message, attempt, services.system_clock()
                )
        except StorageError as error:  # it is sent again, with the same id
            if self._outage.should_log_failure():
                _log.warning("webhooks not sent", extra={"error": operator_text(error)})
        except Exception:
            _log.exception("webhook failed", extra={"store": due.store_id})
        finally:
            with self._guard:
                self._busy.discard(due.store_id)
            self._wake.set()

    def _attempt_delivery(self, due: DueWebhookMessage) -> DeliveryAttemptResult:
        services = self._services
        try:
            secret = services.cipher.decrypt(due.endpoint.secret)
        except UnreadableSecretError:
            return DeliveryAttemptResult(None, _UNREADABLE)
        trusted = services.settings.webhook_hosts
        now_ms = services.system_clock()
        return send_message(due.message, due.endpoint.url, secret, now_ms, trusted)
