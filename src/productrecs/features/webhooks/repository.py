"""Webhook repository: SQL of endpoints, messages, and positions of their sources."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.features.webhooks.webhook import (
    LOG_DAYS,
    MAX_WAIT_MS,
    DeliveryAttemptResult,
    DueWebhookMessage,
    WebhookBacklog,
    WebhookEndpoint,
    WebhookEndpointState,
    WebhookEvent,
    WebhookMessage,
    WebhookMessageState,
    message_body,
    next_attempt_at,
)
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import (
    webhook_endpoints,
    webhook_messages,
    webhook_positions,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_endpoints, _messages = webhook_endpoints.c, webhook_messages.c


def stores_with_webhooks(connection: sa.Connection) -> list[StoreId]:
    """Return the stores that have an endpoint."""
    query = sa.select(_endpoints.store_id).distinct().order_by(_endpoints.store_id)
    return [StoreId(row[0]) for row in connection.execute(query)]


def due_messages(
    connection: sa.Connection, now_ms: int, limit: int, busy: Collection[StoreId] = ()
) -> list[DueWebhookMessage]:
    """Return the messages of all stores to send now: new ones before retries.

    Of each endpoint and event, only the first pending message can be due. One that is due
    later than the longest wait was stored before the clock was set back: it is due now.
    Stores that are `busy` are left out.
    """
    earlier = webhook_messages.alias("earlier")
    is_blocked = sa.exists().where(
        earlier.c.store_id == _messages.store_id,
        earlier.c.endpoint_id == _messages.endpoint_id,
        earlier.c.event == _messages.event,
        earlier.c.state == _state_literal(WebhookMessageState.PENDING),
        earlier.c.number < _messages.number,
    )
    endpoint = [column.label(f"endpoint_{column.name}") for column in webhook_endpoints.c]
    query = (
        sa.select(webhook_messages, *endpoint)
        .join(
            webhook_endpoints,
            (_endpoints.store_id == _messages.store_id)
            & (_endpoints.endpoint_id == _messages.endpoint_id),
        )
        .where(
            _messages.state == _state_literal(WebhookMessageState.PENDING),
            _endpoints.state == WebhookEndpointState.ON.value,
            sa.or_(_messages.next_at <= now_ms, _messages.next_at > now_ms + MAX_WAIT_MS),
            _messages.store_id.not_in(busy),
            ~is_blocked,
        )
        .order_by(_messages.attempts, _messages.next_at, _messages.number)
        .limit(limit)
    )
    return [
        DueWebhookMessage(
            StoreId(row["store_id"]),
            _to_webhook_message(row),
            _to_webhook_endpoint(row, "endpoint_"),
        )
        for row in connection.execute(query).mappings()
    ]


def webhook_backlog(connection: sa.Connection) -> WebhookBacklog:
    """Return the endpoints of all stores by state, and what waits for those that are on."""
    by_state = sa.select(_endpoints.state, sa.func.count()).group_by(_endpoints.state)
    endpoints = dict.fromkeys(WebhookEndpointState, 0)
    for state, count in connection.execute(by_state):
        endpoints[WebhookEndpointState(state)] = int(count)
    waiting = (
        sa.select(sa.func.count(), sa.func.min(_messages.created_at))
        .join(
            webhook_endpoints,
            (_endpoints.store_id == _messages.store_id)
            & (_endpoints.endpoint_id == _messages.endpoint_id),
        )
        .where(
            _messages.state == _state_literal(WebhookMessageState.PENDING),
            _endpoints.state == WebhookEndpointState.ON.value,
        )
    )
    count, since_ms = connection.execute(waiting).one()
    return WebhookBacklog(endpoints, int(count), since_ms)


class WebhookRepository(StoreScopedRepository):
    """One store's webhooks, inside one transaction; never commits."""

    def endpoints(self) -> list[WebhookEndpoint]:
        """Return the store's endpoints, oldest first."""
        query = (
            sa.select(webhook_endpoints)
            .where(_endpoints.store_id == self._store_id)
            .order_by(_endpoints.created_at, _endpoints.endpoint_id)
        )
        return [
            _to_webhook_endpoint(row) for row in self._connection.execute(query).mappings()
        ]

    def add_endpoint(self, endpoint: WebhookEndpoint) -> None:
        """Store a new endpoint."""
        self._insert_row(
            webhook_endpoints,
            endpoint_id=endpoint.endpoint_id,
            url=endpoint.url,
            secret=endpoint.secret,
            state=endpoint.state.value,
            created_at=endpoint.created_at,
            last_number=0,
        )

    def remove_endpoint_with_messages(self, endpoint_id: str) -> None:
        """Delete an endpoint with its messages; the last one with the positions."""
        for table in (webhook_messages, webhook_endpoints):
            self._delete_rows(table, endpoint_id=endpoint_id)
        if not self.endpoints():
            self._delete_rows(webhook_positions)

    def set_state(self, endpoint_id: str, state: WebhookEndpointState) -> None:
        """Switch an endpoint on or off; its pending messages wait meanwhile."""
        self._connection.execute(self._endpoint_update(endpoint_id, state=state.value))

    def set_secret(self, endpoint_id: str, stored_secret: str) -> None:
        """Replace an endpoint's secret."""
        self._connection.execute(self._endpoint_update(endpoint_id, secret=stored_secret))

    def set_excluded_events(
        self, endpoint_id: str, events: Collection[WebhookEvent]
    ) -> None:
        """Choose the events that an endpoint does not get from now on."""
        left_out = " ".join(sorted(events)) or None
        self._connection.execute(self._endpoint_update(endpoint_id, left_out=left_out))

    def enqueue_for_subscribed_endpoints(
        self, event: WebhookEvent, data: Mapping[str, object], now_ms: int
    ) -> None:
        """Store a message for each endpoint that is on and gets this event."""
        for endpoint in self.endpoints():
            if endpoint.wants(event):
                self.enqueue(endpoint.endpoint_id, event, data, now_ms)

    def enqueue(
        self,
        endpoint_id: str,
        event: WebhookEvent,
        data: Mapping[str, object],
        now_ms: int,
    ) -> None:
        """Store a message for an endpoint; nothing for one that was removed."""
        numbered = self._endpoint_update(
            endpoint_id, last_number=_endpoints.last_number + 1
        )
        number = self._connection.execute(
            numbered.returning(_endpoints.last_number)
        ).scalar()
        if number is None:
            return
        self._insert_row(
            webhook_messages,
            endpoint_id=endpoint_id,
            number=number,
            event=event.value,
            body=message_body(event, data, now_ms),
            created_at=now_ms,
            state=WebhookMessageState.PENDING.value,
            attempts=0,
            next_at=now_ms,
        )

    def record_attempt_and_schedule_retry(
        self, message: WebhookMessage, attempt: DeliveryAttemptResult, now_ms: int
    ) -> None:
        """Store what an attempt got, unless another process has stored one meanwhile."""
        state, next_at = WebhookMessageState.DELIVERED, now_ms
        if not attempt.is_delivered:
            due_at = next_attempt_at(message, attempt, now_ms)
            state = (
                WebhookMessageState.FAILED
                if due_at is None
                else WebhookMessageState.PENDING
            )
            next_at = now_ms if due_at is None else due_at
        changed = self._update_message(
            message.endpoint_id,
            message.number,
            _messages.state == WebhookMessageState.PENDING.value,
            _messages.attempts == message.attempts,
            state=state.value,
            attempts=message.attempts + 1,
            next_at=next_at,
            tried_at=now_ms,
            reply=attempt.reply,
        )
        if changed and attempt.is_gone:
            self.set_state(message.endpoint_id, WebhookEndpointState.GONE)

    def requeue(self, endpoint_id: str, number: int, now_ms: int) -> bool:
        """Make a message due now, again if it was sent; return whether it is known."""
        return self._update_message(
            endpoint_id,
            number,
            state=WebhookMessageState.PENDING.value,
            attempts=0,
            next_at=now_ms,
        )

    def newest_messages(
        self, endpoint_id: str, limit: int, before: int | None = None
    ) -> list[WebhookMessage]:
        """Return an endpoint's messages, newest first, of numbers below `before`."""
        query = (
            sa.select(webhook_messages)
            .where(
                _messages.store_id == self._store_id,
                _messages.endpoint_id == endpoint_id,
                sa.true() if before is None else _messages.number < before,
            )
            .order_by(_messages.number.desc())
            .limit(limit)
        )
        return [
            _to_webhook_message(row) for row in self._connection.execute(query).mappings()
        ]

    def oldest_pending_message(self, endpoint_id: str) -> WebhookMessage | None:
        """Return the endpoint's message that has waited longest, or None."""
        query = (
            sa.select(webhook_messages)
            .where(
                _messages.store_id == self._store_id,
                _messages.endpoint_id == endpoint_id,
                _messages.state == _state_literal(WebhookMessageState.PENDING),
            )
            .order_by(_messages.created_at, _messages.number)
            .limit(1)
        )
        row = self._connection.execute(query).mappings().first()
        return None if row is None else _to_webhook_message(row)

    def counts_by_state(self) -> dict[str, dict[WebhookMessageState, int]]:
        """Return how many messages of the log are in each state, by endpoint."""
        query = (
            sa.select(_messages.endpoint_id, _messages.state, sa.func.count())
            .where(_messages.store_id == self._store_id)
            .group_by(_messages.endpoint_id, _messages.state)
        )
        counts: dict[str, dict[WebhookMessageState, int]] = {}
        for endpoint_id, state, count in self._connection.execute(query):
            by_state = counts.setdefault(endpoint_id, dict.fromkeys(WebhookMessageState, 0))
            by_state[WebhookMessageState(state)] = int(count)
        return counts

    def delete_old_messages(self, now_ms: int) -> None:
        """Delete messages older than the log."""
        is_old = _messages.created_at < now_ms - LOG_DAYS * DAY_MS
        self._delete_rows(webhook_messages, is_old)

    def source_positions(self) -> dict[str, Any]:
        """Return up to where the facts of each source have become messages."""
        columns = webhook_positions.c
        query = sa.select(columns.source, columns.position).where(
            columns.store_id == self._store_id
        )
        return {
            source: json.loads(text) for source, text in self._connection.execute(query)
        }

    def set_source_position(self, source: str, position: object) -> None:
        """Store up to where the facts of a source have become messages."""
        self._put_row(
            webhook_positions,
            source=source,
            position=json.dumps(position),
        )

    def _endpoint_update(self, endpoint_id: str, **values: object) -> sa.Update:
        own = self._own_rows(webhook_endpoints, endpoint_id=endpoint_id)
        return webhook_endpoints.update().where(own).values(**values)

    def _update_message(
        self,
        endpoint_id: str,
        number: int,
        *conditions: sa.ColumnElement[bool],
        **values: object,
    ) -> bool:
        key = (_messages.endpoint_id == endpoint_id, _messages.number == number)
        return self._update_rows(webhook_messages, *key, *conditions, **values) == 1


def _state_literal(state: WebhookMessageState) -> sa.BindParameter[str]:
    # A literal: a partial index is used only if the query repeats its condition.
    return sa.literal(state.value, literal_execute=True)


def _to_webhook_endpoint(row: sa.RowMapping, prefix: str = "") -> WebhookEndpoint:
    return WebhookEndpoint(
        endpoint_id=row[f"{prefix}endpoint_id"],
        url=row[f"{prefix}url"],
        secret=row[f"{prefix}secret"],
        state=WebhookEndpointState(row[f"{prefix}state"]),
        created_at=row[f"{prefix}created_at"],
        left_out=frozenset(map(WebhookEvent, (row[f"{prefix}left_out"] or "").split())),
    )


def _to_webhook_message(row: sa.RowMapping) -> WebhookMessage:
    return WebhookMessage(
        endpoint_id=row["endpoint_id"],
        number=row["number"],
        event=WebhookEvent(row["event"]),
        body=row["body"],
        created_at=row["created_at"],
        state=WebhookMessageState(row["state"]),
        attempts=row["attempts"],
        next_at=row["next_at"],
        tried_at=row["tried_at"],
        reply=row["reply"] or "",
    )
