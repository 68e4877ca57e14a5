"""The SQL of synonyms and search rules."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.features.search.rules import Action, SearchRule, Synonym
from productrecs.records.events.event import EventKind
from productrecs.storage.dialects import HotReader
from productrecs.storage.store_log import next_of
from productrecs.storage.tables import events, search_rules, store_heads, synonyms

_SYNONYMS_SQL: Final = (
    "SELECT synonym_id, texts, one_way FROM synonyms WHERE store_id = ? ORDER BY synonym_id"
)
_RULES_SQL: Final = (
    "SELECT rule_id, action, query, items, address, starts, ends FROM search_rules "
    "WHERE store_id = ? ORDER BY rule_id"
)
_DESCRIPTIONS_SQL: Final = (
    "SELECT number, description FROM items WHERE store_id = ? AND number IN ({})"
)


def read_descriptions(
    reader: HotReader, store_id: StoreId, numbers: Sequence[int]
) -> dict[int, str]:
    """Return the descriptions of a few items by number, of those that have one."""
    if not numbers:
        return {}
    sql = _DESCRIPTIONS_SQL.format(", ".join("?" * len(numbers)))
    rows = reader.all(sql, (store_id, *numbers))
    return {int(number): text for number, text in rows if text}


def read_synonyms(reader: HotReader, store_id: StoreId) -> dict[int, Synonym]:
    """Return a store's synonyms by id, the oldest first."""
    rows = reader.all(_SYNONYMS_SQL, (store_id,))
    return {
        int(number): Synonym(tuple(json.loads(texts)), bool(one_way))
        for number, texts, one_way in rows
    }


def read_rules(reader: HotReader, store_id: StoreId) -> dict[int, SearchRule]:
    """Return a store's search rules by id, the oldest first."""
    return {int(row[0]): _rule(row[1:]) for row in reader.all(_RULES_SQL, (store_id,))}


class Click(NamedTuple):
    """A click on a result: on which words, by whom, and where it stood if that was told."""

    term: str
    ts: int
    shopper: str
    position: int | None


class SearchClickRepository:
    """One store's clicks on results of searches, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def clicks(self, since_ms: int, until_ms: int) -> Iterator[Click]:
        """Give the clicks that name their words, since_ms <= time < until_ms, in order.

        Reads the store's whole log: a large one takes seconds.
        """
        log = events.c
        query = sa.select(log.term, log.ts, log.person, log.position).where(
            log.store_id == self._store_id,
            log.kind == int(EventKind.SEARCH_CLICK),
            log.ts >= since_ms,
            log.ts < until_ms,
            log.term.is_not(None),
        )
        for row in self._transaction.execute(query.order_by(log.seq)):
            yield Click(*row)

    def image_clicks(self, since_ms: int, until_ms: int) -> int:
        """Return how many results of image searches were clicked on."""
        log = events.c
        query = sa.select(sa.func.count()).where(
            log.store_id == self._store_id,
            log.kind == int(EventKind.IMAGE_SEARCH_CLICK),
            log.ts >= since_ms,
            log.ts < until_ms,
        )
        return int(self._transaction.execute(query).scalar_one())


class SearchRuleRepository:
    """One store's synonyms and search rules, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def next_id(self) -> int:
        """Lock the store's rules and return an id that none of them ever had.

        Raises:
            StoreGoneError: when the store was deleted.
        """
        return next_of(self._transaction, self._store_id, store_heads.c.search_seq)

    def synonyms(self) -> dict[int, Synonym]:
        """Return the synonyms by id, the oldest first."""
        query = (
            sa.select(synonyms.c.synonym_id, synonyms.c.texts, synonyms.c.one_way)
            .where(synonyms.c.store_id == self._store_id)
            .order_by(synonyms.c.synonym_id)
        )
        rows = self._transaction.execute(query)
        return {
            int(number): Synonym(tuple(json.loads(texts)), bool(one_way))
            for number, texts, one_way in rows
        }

    def rules(self) -> dict[int, SearchRule]:
        """Return the rules by id, the oldest first."""
        kept = search_rules.c
        query = (
            sa.select(
                kept.rule_id,
                kept.action,
                kept.query,
                kept["items"],
                kept.address,
                kept.starts,
                kept.ends,
            )
            .where(kept.store_id == self._store_id)
            .order_by(kept.rule_id)
        )
        return {int(row[0]): _rule(row[1:]) for row in self._transaction.execute(query)}

    def add_synonym(self, number: int, one: Synonym, now_ms: int) -> None:
        """Keep a synonym."""
        self._transaction.execute(
            synonyms.insert().values(
                store_id=self._store_id,
                synonym_id=number,
                texts=json.dumps(one.texts, ensure_ascii=False),
                one_way=one.one_way,
                created_at=now_ms,
            )
        )

    def add_rule(self, number: int, rule: SearchRule, now_ms: int) -> None:
        """Keep a rule."""
        self._transaction.execute(
            search_rules.insert().values(
                store_id=self._store_id,
                rule_id=number,
                action=rule.action.value,
                query=rule.query,
                items=json.dumps(rule.items, ensure_ascii=False),
                address=rule.address,
                starts=rule.starts,
                ends=rule.ends,
                created_at=now_ms,
            )
        )

    def remove_synonym(self, number: int) -> bool:
        """Forget a synonym; return whether there was one."""
        query = synonyms.delete().where(
            synonyms.c.store_id == self._store_id, synonyms.c.synonym_id == number
        )
        return self._transaction.execute(query).rowcount > 0

    def remove_rule(self, number: int) -> bool:
        """Forget a rule; return whether there was one."""
        query = search_rules.delete().where(
            search_rules.c.store_id == self._store_id, search_rules.c.rule_id == number
        )
        return self._transaction.execute(query).rowcount > 0


def _rule(row: Any) -> SearchRule:
    action, query, items, address, starts, ends = row
    return SearchRule(
        Action(action), query, tuple(json.loads(items)), address, starts, ends
    )
