"""Assistant call repository: how often assistants called, and their attribution, by day."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.clock import DAY_MS
from productrecs.features.assistants.attributed_assistant_searches import (
    MAX_VALUES,
    OTHER,
    PARAMETERS,
)
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import assistant_attributions, assistant_calls
from productrecs.tenancy.accounts.repository import AccountRepository

if TYPE_CHECKING:
    from collections.abc import Sequence

    from productrecs.core.ids import StoreId
    from productrecs.features.assistants.attributed_assistant_searches import (
        AttributedAssistantSearch,
    )
    from productrecs.features.assistants.browser_tools import BrowserTool
    from productrecs.features.assistants.ucp_profile import CatalogOperation

CALL_DAYS: Final = 30
"""How many days of calls are kept and counted."""


MAX_AGENTS: Final = 50
"""The most assistants of one store that are told apart; further ones are `other`."""


class AssistantCall(NamedTuple):
    """One answered call, by its store, assistant, operation and day (UTC, since 1970)."""

    store_id: StoreId
    agent: str  # the host of its profile, or BROWSER
    operation: CatalogOperation | BrowserTool
    day: int
    at_ms: int

    @classmethod
    def of(
        cls,
        store_id: StoreId,
        operation: CatalogOperation | BrowserTool,
        agent: str,
        now_ms: int,
    ) -> AssistantCall:
        """Return the record of a call at a time."""
        return cls(store_id, agent, operation, now_ms // DAY_MS, now_ms)

    @property
    def key(self) -> None:
        """Every call counts."""


@dataclass(slots=True)
class RecentAssistantCalls:
    """The calls of one assistant in the last 30 days."""

    calls: dict[str, int] = field(default_factory=dict)  # by the operation's name
    last_ms: int = 0


class AssistantCallRepository(StoreScopedRepository):
    """One store's calls, inside one transaction; never commits."""

    def add_counts_and_delete_old(self, calls: Sequence[AssistantCall]) -> None:
        """Count calls on their days; older days than 30 are deleted."""
        known = self._agents()
        counts = Counter[tuple[str, str, int]]()
        last_times: dict[tuple[str, str, int], int] = {}
        for call in calls:
            if call.agent not in known and len(known) < MAX_AGENTS:
                known.add(call.agent)
            agent = call.agent if call.agent in known else OTHER
            key = (agent, call.operation.value, call.day)
            counts[key] += 1
            last_times[key] = max(call.at_ms, last_times.get(key, 0))
        for key in sorted(counts):
            agent, operation, day = key
            self._put_row(
                assistant_calls,
                summed_columns=("calls",),
                agent=agent,
                operation=operation,
                day=day,
                calls=counts[key],
                last_at=last_times[key],
            )
        oldest = max(call.day for call in calls) - CALL_DAYS
        self._delete_rows(assistant_calls, assistant_calls.c.day <= oldest)

    def _agents(self) -> set[str]:
        columns = assistant_calls.c
        query = sa.select(columns.agent).where(columns.store_id == self._store_id)
        return set(self._connection.scalars(query.distinct()))

    def recent_calls_by_agent(self, now_ms: int) -> dict[str, RecentAssistantCalls]:
        """Return the calls of each assistant of the last 30 days, the most first."""
        columns = assistant_calls.c
        names = (columns.agent, columns.operation)
        counts = (sa.func.sum(columns.calls), sa.func.max(columns.last_at))
        query = sa.select(*names, *counts).where(
            columns.store_id == self._store_id, columns.day > now_ms // DAY_MS - CALL_DAYS
        )
        by_agent: dict[str, RecentAssistantCalls] = {}
        for agent, operation, calls, last_ms in self._connection.execute(
            query.group_by(*names)
        ):
            recent = by_agent.setdefault(agent, RecentAssistantCalls())
            recent.calls[operation] = int(calls)
            recent.last_ms = max(recent.last_ms, int(last_ms))
        ranked = sorted(
            by_agent.items(), key=lambda item: (-sum(item[1].calls.values()), item[0])
        )
        return dict(ranked)


def add_assistant_call_counts(
    transaction: sa.Connection, batch: Sequence[AssistantCall]
) -> None:
    """Count a batch of calls of any stores."""
    for store_id, calls in AccountRepository(transaction).lock_each_store(batch):
        AssistantCallRepository(transaction, store_id).add_counts_and_delete_old(calls)


class AssistantSearchSourceRepository(StoreScopedRepository):
    """One store's counts, inside one transaction; never commits."""

    def add_counts_and_delete_old(
        self, searches: Sequence[AttributedAssistantSearch]
    ) -> None:
        """Count searches on their days; older days than 30 are deleted."""
        known = self._stored_values_by_parameter()
        counts = Counter[tuple[str, str, int]]()
        for search in searches:
            values = known[search.parameter]
            if len(values) < MAX_VALUES:
                values.add(search.value)
            value = search.value if search.value in values else OTHER
            counts[search.parameter, value, search.day] += 1
        for (parameter, value, day), count in sorted(counts.items()):
            self._put_row(
                assistant_attributions,
                summed_columns=("searches",),
                parameter=parameter,
                value=value,
                day=day,
                searches=count,
            )
        oldest = max(search.day for search in searches) - CALL_DAYS
        self._delete_rows(assistant_attributions, assistant_attributions.c.day <= oldest)

    def _stored_values_by_parameter(self) -> defaultdict[str, set[str]]:
        columns = assistant_attributions.c
        query = sa.select(columns.parameter, columns.value).where(
            columns.store_id == self._store_id
        )
        known = defaultdict[str, set[str]](set)
        for parameter, value in self._connection.execute(query.distinct()):
            known[parameter].add(value)
        return known

    def recent_searches_by_parameter(self, now_ms: int) -> dict[str, dict[str, int]]:
        """Return the searches of the last 30 days by parameter and value, most first."""
        columns = assistant_attributions.c
        total = sa.func.sum(columns.searches)
        query = (
            sa.select(columns.parameter, columns.value, total)
            .where(
                columns.store_id == self._store_id,
                columns.day > now_ms // DAY_MS - CALL_DAYS,
            )
            .group_by(columns.parameter, columns.value)
            .order_by(total.desc(), columns.value)
        )
        counts: dict[str, dict[str, int]] = {parameter: {} for parameter in PARAMETERS}
        for parameter, value, count in self._connection.execute(query):
            counts[parameter][value] = int(count)
        return counts


def add_attribution_parameter_counts(
    transaction: sa.Connection, batch: Sequence[AttributedAssistantSearch]
) -> None:
    """Count a batch of searches of any stores."""
    for store_id, searches in AccountRepository(transaction).lock_each_store(batch):
        AssistantSearchSourceRepository(transaction, store_id).add_counts_and_delete_old(
            searches
        )
