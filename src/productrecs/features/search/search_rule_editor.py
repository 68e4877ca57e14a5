"""Search rule editor: lists, adds and removes a store's synonyms and search rules."""

from productrecs.core.clock import Clock
from productrecs.features.search.repository import SearchRuleRepository
from productrecs.features.search.search_rules import (
    MAX_RULES,
    MAX_SYNONYMS,
    InvalidSynonymOrRuleError,
    SearchRule,
    Synonym,
    UnknownSynonymOrRuleError,
    validate_search_rule,
    validate_synonym,
)
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store


class SearchRuleEditor:
    """One store's synonyms and search rules, to list, add and remove."""

    def __init__(self, database: Database, store: Store, clock: Clock) -> None:
        """Work on `store` in `database`."""
        self._database = database
        self._store_id = store.store_id
        self._clock = clock

    def synonyms(self) -> dict[int, Synonym]:
        """Return the synonyms by id, the oldest first."""
        with self._database.reading() as connection:
            return SearchRuleRepository(connection, self._store_id).synonyms()

    def rules(self) -> dict[int, SearchRule]:
        """Return the rules by id, the oldest first."""
        with self._database.reading() as connection:
            return SearchRuleRepository(connection, self._store_id).rules()

    def add_synonym(self, *texts: str, one_way: bool = False) -> tuple[int, Synonym]:
        """Store a synonym; return it with its id.

        Raises:
            InvalidSynonymOrRuleError: when it is invalid, or above the limit.
            StoreDeletedError: when the store was deleted.
        """
        synonym = validate_synonym(texts, one_way=one_way)
        with self._database.transaction() as transaction:
            repository = SearchRuleRepository(transaction, self._store_id)
            number = repository.lock_and_next_id()
            _check_limit(len(repository.synonyms()), MAX_SYNONYMS)
            repository.add_synonym(number, synonym, self._clock())
        return number, synonym

    def add_rule(self, rule: SearchRule) -> tuple[int, SearchRule]:
        """Store a rule; return it as stored, with its id.

        Raises:
            InvalidSynonymOrRuleError: when it is invalid, or above the limit.
            StoreDeletedError: when the store was deleted.
        """
        valid_rule = validate_search_rule(rule)
        with self._database.transaction() as transaction:
            repository = SearchRuleRepository(transaction, self._store_id)
            number = repository.lock_and_next_id()
            _check_limit(len(repository.rules()), MAX_RULES)
            repository.add_rule(number, valid_rule, self._clock())
        return number, valid_rule

    def remove_synonym(self, number: int) -> None:
        """Delete a synonym.

        Raises:
            UnknownSynonymOrRuleError: when the id does not exist.
        """
        with self._database.transaction() as transaction:
            repository = SearchRuleRepository(transaction, self._store_id)
            repository.lock_and_next_id()
            _check_existed(number, was_present=repository.remove_synonym(number))

    def remove_rule(self, number: int) -> None:
        """Delete a rule.

        Raises:
            UnknownSynonymOrRuleError: when the id does not exist.
        """
        with self._database.transaction() as transaction:
            repository = SearchRuleRepository(transaction, self._store_id)
            repository.lock_and_next_id()
            _check_existed(number, was_present=repository.remove_rule(number))


def _check_limit(present: int, limit: int) -> None:
    if present >= limit:
        message = f"a store may have {limit}; remove some first"
        raise InvalidSynonymOrRuleError(message)


def _check_existed(number: int, *, was_present: bool) -> None:
    if not was_present:
        message = f"no rule or synonym has the id {number}; `list` shows all"
        raise UnknownSynonymOrRuleError(message)
