"""Rule editor: lists and changes a store's rules, and records each change's author."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from productrecs.core.clock import Clock
from productrecs.core.errors import ProductRecsError
from productrecs.records.merchandising.repository import (
    MAX_STORED_CHANGES,
    RuleChange,
    RuleRepository,
)
from productrecs.records.merchandising.rule import (
    Rule,
    RuleContent,
    RuleError,
    validate_rule,
)
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store

MAX_RULES: Final = 500
_ADDED: Final = "added"
_CHANGED: Final = "changed"
_REMOVED: Final = "removed"
_RESTORED: Final = "restored"


class UnknownRuleError(ProductRecsError):
    """The store has no rule with that id."""


class ChangeNotUndoableError(ProductRecsError):
    """The change is not the last one of a rule, or the rule before it is not stored."""


@dataclass(frozen=True, slots=True)
class RuleEditor:
    """Reads and changes one store's rules; `actor` is the author of changes.

    A change is one transaction, and every process follows it within a second.
    """

    database: Database
    store: Store
    clock: Clock
    actor: str

    def all(self) -> list[Rule]:
        """Return every rule, oldest first."""
        with self.database.reading() as connection:
            return RuleRepository(connection, self.store.store_id).all()

    def add(self, content: RuleContent) -> Rule:
        """Store a new rule and return it.

        Raises:
            RuleError: when it is invalid, or there are too many.
            StoreDeletedError: when the store was deleted.
        """
        clean, now_ms = validate_rule(content, self.store.settings.zone), self.clock()
        with self.database.transaction() as transaction:
            repository = RuleRepository(transaction, self.store.store_id)
            seq = repository.lock_and_next_seq()
            if len(repository.all()) >= MAX_RULES:
                raise _limit_error()
            rule = Rule(seq, clean, created_at=now_ms, updated_at=now_ms)
            repository.add(rule)
            repository.add_change(seq, rule, now_ms, actor=self.actor, summary=_ADDED)
        return rule

    def change(self, rule_id: int, **changes: object) -> Rule:
        """Return the rule with some fields of its `RuleContent` replaced.

        Raises:
            UnknownRuleError: when there is no rule with that id.
            RuleError: when the result is invalid; nothing is changed.
            StoreDeletedError: when the store was deleted.
        """
        now_ms = self.clock()
        with self.database.transaction() as transaction:
            repository = RuleRepository(transaction, self.store.store_id)
            seq = repository.lock_and_next_seq()
            old = _find_rule(repository.all(), rule_id)
            content = replace(old.content, **changes)  # type: ignore[arg-type]  # checked right here
            clean = validate_rule(content, self.store.settings.zone)
            if clean == old.content:
                return old
            rule = replace(old, content=clean, updated_at=now_ms)
            repository.replace(rule)
            repository.add_change(seq, rule, now_ms, actor=self.actor, summary=_CHANGED)
        return rule

    def remove(self, rule_id: int) -> Rule:
        """Remove a rule and return it.

        Raises:
            UnknownRuleError: when there is no rule with that id.
            StoreDeletedError: when the store was deleted.
        """
        with self.database.transaction() as transaction:
            repository = RuleRepository(transaction, self.store.store_id)
            seq = repository.lock_and_next_seq()
            rule = _find_rule(repository.all(), rule_id)
            repository.remove(rule_id)
            repository.add_change(
                seq, rule, self.clock(), actor=self.actor, summary=_REMOVED
            )
        return rule

    def undo(self, change_id: int) -> Rule:
        """Undo a change; return the rule before it, or the removed rule for an addition.

        An added rule is removed; a removed one is restored with its id. Undone changes
        stay in the history, and can be undone too.

        Raises:
            ChangeNotUndoableError: when the change is not the last one of any rule.
            RuleError: when there are too many rules for one more.
            StoreDeletedError: when the store was deleted.
        """
        now_ms = self.clock()
        with self.database.transaction() as transaction:
            repository = RuleRepository(transaction, self.store.store_id)
            seq = repository.lock_and_next_seq()
            change, before = _last_change_and_rule_before(repository, change_id)
            if change.what in {_ADDED, _RESTORED}:
                repository.remove(change.rule.rule_id)
                repository.add_change(
                    seq, change.rule, now_ms, actor=self.actor, summary=_REMOVED
                )
                return change.rule
            rule = replace(before, updated_at=now_ms)
            if change.what == _REMOVED:
                if len(repository.all()) >= MAX_RULES:
                    raise _limit_error()
                repository.add(rule)
                done = _RESTORED
            else:
                repository.replace(rule)
                done = _CHANGED
            repository.add_change(seq, rule, now_ms, actor=self.actor, summary=done)
        return rule

    def history(self, limit: int = 50) -> list[RuleChange]:
        """Return the newest changes, newest first."""
        with self.database.reading() as connection:
            repository = RuleRepository(connection, self.store.store_id)
            return repository.newest_changes(limit)


def _last_change_and_rule_before(
    repository: RuleRepository, change_id: int
) -> tuple[RuleChange, Rule]:
    rule_id = next(
        (
            change.rule.rule_id
            for change in repository.newest_changes(MAX_STORED_CHANGES)
            if change.change_id == change_id
        ),
        None,
    )
    if rule_id is not None:
        last, *others = repository.newest_changes(2, rule_id)
        has_before = others or last.what != _CHANGED
        if last.change_id == change_id and has_before:
            before = others[0].rule if last.what == _CHANGED else last.rule
            return last, before
    message = "this change cannot be undone any more: its rule was changed after it"
    raise ChangeNotUndoableError(message)


def _limit_error() -> RuleError:
    message = f"a store may have at most {MAX_RULES} rules; remove some first"
    return RuleError(message, "rules")


def _find_rule(rules: Sequence[Rule], rule_id: int) -> Rule:
    for rule in rules:
        if rule.rule_id == rule_id:
            return rule
    known_ids = ", ".join(str(rule.rule_id) for rule in rules[:20]) or "none"
    message = f"there is no rule {rule_id}; there are: {known_ids}"
    raise UnknownRuleError(message)
