"""Mail subscription repository: SQL of who receives which e-mails about a store."""

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Final

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import dashboard_users
from productrecs.tenancy.users.dashboard_user import DashboardUser
from productrecs.tenancy.users.repository import user_of_row

_users: Final = dashboard_users.c


class MailTopic(Enum):
    """What an e-mail is about that users can turn on."""

    STOCK = auto()
    SEARCH_RELEVANCE = auto()
    SCHEDULED_FEED = auto()
    WEEKLY_REPORT = auto()


_COLUMNS: Final[Mapping[MailTopic, sa.Column[bool]]] = MappingProxyType(
    {
        MailTopic.STOCK: _users.stock_mails,
        MailTopic.SEARCH_RELEVANCE: _users.search_mails,
        MailTopic.SCHEDULED_FEED: _users.feed_mails,
        MailTopic.WEEKLY_REPORT: _users.weekly_mails,
    }
)


class MailSubscriptionRepository(StoreScopedRepository):
    """The e-mails that one store's users asked for, inside one transaction."""

    def set_subscription(self, user_id: str, topic: MailTopic, *, is_on: bool) -> None:
        """Store whether a user receives e-mails about a topic."""
        self._set(user_id, **{_COLUMNS[topic].name: is_on})

    def readers(self, topic: MailTopic) -> list[DashboardUser]:
        """Return the users who receive e-mails about a topic."""
        return self._users_where(_COLUMNS[topic].is_(True))

    def weekly_report_readers_due(self, before_ms: int) -> list[DashboardUser]:
        """Return the users of the weekly report who were not sent one since a time."""
        return self._users_where(
            _users.weekly_mails.is_(True), _users.weekly_mailed_at < before_ms
        )

    def record_weekly_report(self, user_id: str, now_ms: int) -> None:
        """Store when a user was sent the weekly report, or asked for it."""
        self._set(user_id, weekly_mailed_at=now_ms)

    def _users_where(self, *conditions: sa.ColumnElement[bool]) -> list[DashboardUser]:
        query = sa.select(dashboard_users).where(
            _users.store_id == self._store_id, _users.email.is_not(None), *conditions
        )
        return [user_of_row(row) for row in self._connection.execute(query).mappings()]

    def _set(self, user_id: str, **values: object) -> None:
        self._update_rows(dashboard_users, _users.user_id == user_id, **values)


def oldest_weekly_report_times(connection: sa.Connection) -> dict[StoreId, int]:
    """Return the stores whose users receive weekly reports, with the time of the oldest."""
    query = (
        sa.select(_users.store_id, sa.func.min(_users.weekly_mailed_at))
        .where(_users.weekly_mails.is_(True), _users.email.is_not(None))
        .group_by(_users.store_id)
    )
    return {StoreId(store_id): at or 0 for store_id, at in connection.execute(query)}
