"""Rule editor: stored, changed atomically, logged, and separate by store."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from productrecs.records.merchandising import repository, rule_editor
from productrecs.records.merchandising.repository import read_rules
from productrecs.records.merchandising.rule import (
    ListKind,
    Rule,
    RuleAction,
    RuleContent,
    RuleError,
    RuleListScope,
    RuleTarget,
)
from productrecs.records.merchandising.rule_editor import (
    ChangeNotUndoableError,
    RuleEditor,
    UnknownRuleError,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.tenancy.accounts.store_management import (
    delete_store,
)
from tests.support.clock import FakeClock
from tests.support.stores import new_store

NOON = 1_000
BOOST = RuleContent(RuleAction.BOOST, RuleTarget(categories=("Sale",)))
EVERYTHING = RuleContent(
    RuleAction.BURY,
    RuleTarget(("ä/1", "b"), ("Zelte & Co",), ("alt",), 1.5, 99.0),
    name='Räumen "bald"',
    places=RuleListScope((ListKind.CART, ListKind.MIX), (ListKind.TRENDING,)),
    starts="2026-12-01",
    ends="2026-12-24T18:00:00",
    priority=-3,
    enabled=False,
    strength=2.5,
)


def rules_of(database: Database, domain: str) -> RuleEditor:
    store = new_store(database, domain)
    return RuleEditor(database, store, FakeClock(NOON, step=1), "anna@shop.example")


@pytest.fixture
def rules(database: Database) -> RuleEditor:
    return rules_of(database, "shop.example")


def as_views_read_them(rules: RuleEditor) -> list[Rule]:
    reader = rules.database.raw_reader()
    try:
        return list(read_rules(reader, rules.store.store_id))
    finally:
        reader.close()


def test_a_rule_is_stored_as_it_was_given(rules: RuleEditor) -> None:
    pin = RuleContent(RuleAction.PIN, RuleTarget(items=("gift",)), position=3)

    added = [rules.add(content) for content in (EVERYTHING, pin, BOOST)]

    assert rules.all() == added == as_views_read_them(rules)
    assert [rule.content for rule in added] == [EVERYTHING, pin, BOOST]


def test_a_change_replaces_what_it_says(rules: RuleEditor) -> None:
    rule = rules.add(BOOST)

    changed = rules.change(rule.rule_id, enabled=False, name=" Off ")

    assert changed.content == RuleContent(
        RuleAction.BOOST, BOOST.target, name="Off", enabled=False
    )
    assert changed.created_at == rule.created_at < changed.updated_at
    assert rules.all() == [changed] == as_views_read_them(rules)


def test_a_change_that_cannot_be_obeyed_changes_nothing(rules: RuleEditor) -> None:
    rule = rules.add(BOOST)

    with pytest.raises(RuleError, match="strength"):
        rules.change(rule.rule_id, strength=0.5)

    assert rules.all() == [rule]


def test_an_id_is_never_given_twice(rules: RuleEditor) -> None:
    first = rules.add(BOOST)
    rules.remove(first.rule_id)

    assert rules.add(BOOST).rule_id > first.rule_id


def test_a_rule_that_is_not_there_cannot_be_changed(rules: RuleEditor) -> None:
    with pytest.raises(UnknownRuleError, match="there are: none"):
        rules.remove(1)
    known = rules.add(BOOST).rule_id

    for attempt in (rules.remove, rules.change):
        with pytest.raises(UnknownRuleError, match=f"there are: {known}"):
            attempt(known + 7)


def test_who_changed_what_is_remembered_the_newest_first(rules: RuleEditor) -> None:
    rule = rules.add(EVERYTHING)
    rules.change(rule.rule_id, enabled=True)
    rules.change(rule.rule_id, enabled=True)  # which changes nothing
    removed = rules.remove(rule.rule_id)

    changes = rules.history()

    assert [(one.what, one.rule.content.enabled) for one in changes] == [
        ("removed", True),
        ("changed", True),
        ("added", False),
    ]
    assert changes[0].rule == removed
    assert changes[2].rule == rule
    assert {one.actor for one in changes} == {"anna@shop.example"}
    assert [one.changed_at for one in changes] == sorted(
        {one.changed_at for one in changes}, reverse=True
    )


def test_every_kind_of_change_is_undone_and_the_undo_too(rules: RuleEditor) -> None:
    rule = rules.add(BOOST)
    rules.change(rule.rule_id, name="New")
    undone = rules.undo(rules.history()[0].change_id)
    assert undone.content == BOOST
    assert rules.undo(rules.history()[0].change_id).content.name == "New"

    rules.remove(rule.rule_id)
    back = rules.undo(rules.history()[0].change_id)
    assert rules.all() == [back]
    assert back.rule_id == rule.rule_id
    assert back.content.name == "New"

    assert rules.undo(rules.history()[0].change_id).rule_id == rule.rule_id
    assert rules.all() == []
    assert [one.what for one in rules.history()[:2]] == ["removed", "restored"]


def test_only_the_last_change_of_a_rule_is_undone(rules: RuleEditor) -> None:
    rule = rules.add(BOOST)
    added = rules.history()[0].change_id
    rules.change(rule.rule_id, name="New")

    for change_id in (added, 9_999):
        with pytest.raises(ChangeNotUndoableError, match="cannot be undone"):
            rules.undo(change_id)
    assert rules.all()[0].content.name == "New"


def test_the_oldest_changes_are_forgotten(
    rules: RuleEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "MAX_STORED_CHANGES", 3)
    rule = rules.add(BOOST)
    for number in range(5):
        rules.change(rule.rule_id, name=f"name {number}")

    names = [one.rule.content.name for one in rules.history()]

    assert names == ["name 4", "name 3", "name 2"]


def test_a_store_has_so_many_rules_and_no_more(
    rules: RuleEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_editor, "MAX_RULES", 2)
    first = rules.add(BOOST)
    rules.add(BOOST)

    with pytest.raises(RuleError, match="remove some"):
        rules.add(BOOST)

    rules.remove(first.rule_id)
    rules.add(BOOST)


def test_each_store_has_its_own(database: Database, rules: RuleEditor) -> None:
    other = rules_of(database, "other.example")
    mine, theirs = rules.add(BOOST), other.add(EVERYTHING)

    assert rules.all() == [mine]
    assert other.all() == [theirs] == as_views_read_them(other)
    other.remove(theirs.rule_id)
    assert rules.all() == [mine]
    assert {one.what for one in rules.history()} == {"added"}


def test_changes_at_once_are_all_kept(rules: RuleEditor) -> None:
    together = threading.Barrier(6)

    def add(number: int) -> Rule:
        together.wait(10)
        return rules.add(RuleContent(RuleAction.BOOST, BOOST.target, name=str(number)))

    with ThreadPoolExecutor(6) as threads:
        added = list(threads.map(add, range(6), timeout=30))

    assert {rule.rule_id for rule in added} == {rule.rule_id for rule in rules.all()}
    assert {rule.content.name for rule in rules.all()} == set("012345")


def test_a_deleted_store_keeps_and_gets_no_rules(
    database: Database, rules: RuleEditor
) -> None:
    rules.add(BOOST)
    delete_store(database, rules.store)

    with pytest.raises(StoreDeletedError):
        rules.add(BOOST)

    assert rules.all() == []
    assert rules.history() == []
