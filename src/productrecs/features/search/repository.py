"""Search repository: SQL for a store's synonyms and search rules."""

import json
from typing import Any, Final

from productrecs.core.ids import StoreId
from productrecs.features.search.search_rules import SearchRule, SearchRuleAction, Synonym
from productrecs.storage.sql.dialects import RawConnection, RawReader
from productrecs.storage.sql.sequence_and_item_numbers import increment_existing_counter
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import search_rules, synonyms

_SYNONYMS_SQL: Final = (
    "SELECT synonym_id, texts, one_way FROM synonyms WHERE store_id = ? ORDER BY synonym_id"
)
_RULES_SQL: Final = (
    "SELECT rule_id, action, query, items, address, starts, ends FROM search_rules "
    "WHERE store_id = ? ORDER BY rule_id"
)


def read_synonyms(
    reader: RawReader | RawConnection, store_id: StoreId
) -> dict[int, Synonym]:
    """Return a store's synonyms by id, the oldest first."""
    rows = reader.all(_SYNONYMS_SQL, (store_id,))
    return {
        int(number): Synonym(tuple(json.loads(texts)), bool(one_way))
        for number, texts, one_way in rows
    }


def read_search_rules(
    reader: RawReader | RawConnection, store_id: StoreId
) -> dict[int, SearchRule]:
    """Return a store's search rules by id, the oldest first."""
    return {
        int(row[0]): _to_search_rule(row[1:]) for row in reader.all(_RULES_SQL, (store_id,))
    }


class SearchRuleRepository(StoreScopedRepository):
    """One store's synonyms and search rules, inside one transaction; never commits."""

    def lock_and_next_id(self) -> int:
        """Lock the store's rules and return an id that was never used.

        Raises:
            StoreDeletedError: when the store was deleted.
        """
        return increment_existing_counter(self._connection, self._store_id, "search_seq")

    def synonyms(self) -> dict[int, Synonym]:
        """Return the synonyms by id, the oldest first."""
        return read_synonyms(self._raw, self._store_id)

    def rules(self) -> dict[int, SearchRule]:
        """Return the rules by id, the oldest first."""
        return read_search_rules(self._raw, self._store_id)

    def add_synonym(self, number: int, synonym: Synonym, now_ms: int) -> None:
        """Store a synonym."""
        self._insert_row(
            synonyms,
            synonym_id=number,
            texts=json.dumps(synonym.texts, ensure_ascii=False),
            one_way=synonym.one_way,
            created_at=now_ms,
        )

    def add_rule(self, number: int, rule: SearchRule, now_ms: int) -> None:
        """Store a rule."""
        self._insert_row(
            search_rules,
            rule_id=number,
            action=rule.action.value,
            query=rule.query,
            items=json.dumps(rule.items, ensure_ascii=False),
            address=rule.address,
            starts=rule.starts,
            ends=rule.ends,
            created_at=now_ms,
        )

    def remove_synonym(self, number: int) -> bool:
        """Delete a synonym; return whether there was one."""
        return self._delete_rows(synonyms, synonym_id=number) > 0

    def remove_rule(self, number: int) -> bool:
        """Delete a rule; return whether there was one."""
        return self._delete_rows(search_rules, rule_id=number) > 0


def _to_search_rule(row: Any) -> SearchRule:
    action, query, items, address, starts, ends = row
    return SearchRule(
        SearchRuleAction(action), query, tuple(json.loads(items)), address, starts, ends
    )
