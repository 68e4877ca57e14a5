"""Rule repository: SQL of rules, their history, and titles for matching."""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.merchandising.rule import (
    Rule,
    RuleAction,
    RuleContent,
    RuleListScope,
    RuleTarget,
)
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.sequence_and_item_numbers import increment_existing_counter
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import rule_changes, rules

MAX_STORED_CHANGES: Final = 1_000
_COLUMNS: Final = tuple(column.name for column in rules.c if column.name != "store_id")
_RULES_SQL: Final = (
    f"SELECT {', '.join(_COLUMNS)} FROM rules "  # noqa: S608 - own names
    "WHERE store_id = ? ORDER BY rule_id"
)


class RuleChange(NamedTuple):
    """A change of a rule: `added`, `changed`, `removed` or `restored`."""

    changed_at: int
    actor: str
    what: str
    rule: Rule  # after the change, or before its removal
    change_id: int


def read_rules(reader: RawReader, store_id: StoreId) -> tuple[Rule, ...]:
    """Return a store's current rules, oldest first."""
    return tuple(_to_rule(row) for row in reader.all(_RULES_SQL, (store_id,)))


class RuleRepository(StoreScopedRepository):
    """One store's rules, inside one transaction; never commits."""

    def lock_and_next_seq(self) -> int:
        """Lock the store's rules and return the number of this change.

        Raises:
            StoreDeletedError: when the store was deleted.
        """
        return increment_existing_counter(self._connection, self._store_id, "rules_seq")

    def all(self) -> list[Rule]:
        """Return every rule, oldest first."""
        query = sa.select(rules).where(rules.c.store_id == self._store_id)
        rows = self._connection.execute(query.order_by(rules.c.rule_id)).all()
        return [_to_rule(row[1:]) for row in rows]

    def add(self, rule: Rule) -> None:
        """Store a new rule."""
        self._insert_row(rules, **_rule_columns(rule))

    def replace(self, rule: Rule) -> None:
        """Replace a rule."""
        self._update_rows(rules, rules.c.rule_id == rule.rule_id, **_rule_columns(rule))

    def remove(self, rule_id: int) -> None:
        """Delete a rule."""
        self._delete_rows(rules, rule_id=rule_id)

    def add_change(
        self, seq: int, rule: Rule, now_ms: int, *, actor: str, summary: str
    ) -> None:
        """Store a change of a rule in the history.

        Only the last `MAX_STORED_CHANGES` changes are stored.
        """
        self._insert_row(
            rule_changes,
            change_id=seq,
            rule_id=rule.rule_id,
            changed_at=now_ms,
            actor=actor,
            what=summary,
            rule=json.dumps(_rule_columns(rule), ensure_ascii=False),
        )
        self._delete_rows(
            rule_changes, rule_changes.c.change_id <= seq - MAX_STORED_CHANGES
        )

    def newest_changes(self, limit: int, rule_id: int | None = None) -> list[RuleChange]:
        """Return the newest changes, newest first; with `rule_id`, of that rule only."""
        query = sa.select(
            rule_changes.c.changed_at,
            rule_changes.c.actor,
            rule_changes.c.what,
            rule_changes.c.rule,
            rule_changes.c.change_id,
        ).where(rule_changes.c.store_id == self._store_id)
        if rule_id is not None:
            query = query.where(rule_changes.c.rule_id == rule_id)
        query = query.order_by(rule_changes.c.change_id.desc()).limit(limit)
        return [
            RuleChange(
                *(int(row[0]), row[1], row[2]),
                rule=_to_rule(list(map(stored.get, _COLUMNS))),
                change_id=row[4],
            )
            for row in self._connection.execute(query)
            for stored in (json.loads(row[3]),)
        ]


def _rule_columns(rule: Rule) -> dict[str, object]:
    """Return a rule's columns, except its store."""
    content = rule.content
    return {
        "rule_id": rule.rule_id,
        "name": content.name,
        "action": content.action.value,
        "target": msgspec.json.encode(content.target).decode(),
        "places": msgspec.json.encode(content.places).decode(),
        "starts": content.starts,
        "ends": content.ends,
        "priority": content.priority,
        "enabled": content.enabled,
        "strength": content.strength,
        "position": content.position,
        "created_at": rule.created_at,
        "updated_at": rule.updated_at,
    }


def _to_rule(row: Sequence[Any]) -> Rule:
    """Return the rule of a row with `_COLUMNS`."""
    content = RuleContent(
        name=row[1],
        action=RuleAction(row[2]),
        target=msgspec.json.decode(row[3], type=RuleTarget),
        places=msgspec.json.decode(row[4], type=RuleListScope),
        starts=row[5],
        ends=row[6],
        priority=int(row[7]),
        enabled=bool(row[8]),
        strength=row[9],
        position=row[10],
    )
    return Rule(int(row[0]), content, created_at=int(row[11]), updated_at=int(row[12]))
