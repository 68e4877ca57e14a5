"""Rule editor: lists and changes a store's rules, and records who made each change."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from productrecs.core.clock import Clock
from productrecs.core.errors import ProductRecsError
from productrecs.records.merchandising.repository import RuleRepository
from productrecs.records.merchandising.rule import Rule, RuleContent
from productrecs.records.merchandising.rule_validation import RuleError, validate_rule
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.store import Store

MAX_RULES: Final = 500


class UnknownRuleError(ProductRecsError):
    """The store has no rule of that id."""


@dataclass(frozen=True, slots=True)
class RuleChange:
    """What somebody did to a rule: `added`, `changed` or `removed`."""

    changed_at: int
    actor: str
    what: str
    rule: Rule


@dataclass(frozen=True, slots=True)
class RuleEditor:
    """Reads and changes one store's rules; `actor` is who changes them.

    A change is one transaction, and every process follows it within a second.
    """

    database: Database
    store: Store
    clock: Clock
    actor: str

    def all(self) -> list[Rule]:
        """Return every rule, the oldest first."""
        with self.database.reading() as connection:
            return RuleRepository(connection, self.store.store_id).all()

    def add(self, content: RuleContent) -> Rule:
        """Return the new rule.

        Raises:
            RuleError: when it cannot be obeyed as it is, or there are too many.
            StoreDeletedError: when the store was deleted.
        """
        clean, now_ms = validate_rule(content, self.store.settings.zone), self.clock()
        with self.database.transaction() as transaction:
            repository = RuleRepository(transaction, self.store.store_id)
            seq = repository.next_seq()
            if len(repository.all()) >= MAX_RULES:
                message = f"a store may have at most {MAX_RULES} rules; remove some first"
                raise RuleError(message, "rules")
            rule = Rule(seq, clean, created_at=now_ms, updated_at=now_ms)
            repository.add(rule)
            repository.note_change(seq, rule, now_ms, (self.actor, "added"))
        return rule

    def change(self, rule_id: int, **changes: object) -> Rule:
        """Return the rule with some fields of its `RuleContent` replaced.

        Raises:
            UnknownRuleError: when there is none of that id.
            RuleError: when it could not be obeyed; nothing is changed.
            StoreDeletedError: when the store was deleted.
        """
        now_ms = self.clock()
        with self.database.transaction() as transaction:
            repository = RuleRepository(transaction, self.store.store_id)
            seq = repository.next_seq()
            old = _found(repository.all(), rule_id)
            content = replace(old.content, **changes)  # type: ignore[arg-type]  # checked right here
            clean = validate_rule(content, self.store.settings.zone)
            if clean == old.content:
                return old
            rule = replace(old, content=clean, updated_at=now_ms)
            repository.put(rule)
            repository.note_change(seq, rule, now_ms, (self.actor, "changed"))
        return rule

    def remove(self, rule_id: int) -> Rule:
        """Return the rule that was removed.

        Raises:
            UnknownRuleError: when there is none of that id.
            StoreDeletedError: when the store was deleted.
        """
        with self.database.transaction() as transaction:
            repository = RuleRepository(transaction, self.store.store_id)
            seq = repository.next_seq()
            rule = _found(repository.all(), rule_id)
            repository.remove(rule_id)
            repository.note_change(seq, rule, self.clock(), (self.actor, "removed"))
        return rule

    def history(self, limit: int = 50) -> list[RuleChange]:
        """Return the newest changes, the newest first."""
        with self.database.reading() as connection:
            repository = RuleRepository(connection, self.store.store_id)
            return [RuleChange(*change) for change in repository.changes(limit)]


def _found(rules: Sequence[Rule], rule_id: int) -> Rule:
    for rule in rules:
        if rule.rule_id == rule_id:
            return rule
    known = ", ".join(str(rule.rule_id) for rule in rules[:20]) or "none"
    message = f"there is no rule {rule_id}; there are: {known}"
    raise UnknownRuleError(message)
