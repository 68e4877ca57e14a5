"""Search rule book: a store's synonyms and rules, in memory by their stems, and edits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo

from productrecs.core.clock import Clock
from productrecs.core.ids import StoreId
from productrecs.engines.text.language_detection_and_stemming import (
    AnalysedQuery,
    LanguageAnalyzer,
)
from productrecs.engines.text.query_interpreter import NO_SYNONYMS, Synonyms, Words
from productrecs.engines.text.tokenizer import query_words
from productrecs.features.search.repository import (
    SearchRuleRepository,
    read_rules,
    read_synonyms,
)
from productrecs.features.search.search_rules import (
    MAX_RULES,
    MAX_SYNONYMS,
    SearchRule,
    SearchRuleAction,
    SearchRuleError,
    Synonym,
    UnknownSearchRuleError,
    validate_rule,
    validate_synonym,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader
from productrecs.tenancy.accounts.store import Store


@dataclass(frozen=True, slots=True)
class SearchRuleBook:
    """An immutable snapshot of a store's synonyms and rules."""

    seq: int = 0
    synonyms: Mapping[int, Synonym] = field(default_factory=dict)
    rules: Mapping[int, SearchRule] = field(default_factory=dict)
    _by_language: dict[str, tuple[Synonyms, dict[Words, list[SearchRule]]]] = field(
        default_factory=dict
    )

    @classmethod
    def load(cls, reader: RawReader, store_id: StoreId, seq: int) -> "SearchRuleBook":
        """Return the current snapshot; `seq` is the version that was read before."""
        if seq == 0:
            return cls()
        return cls(seq, read_synonyms(reader, store_id), read_rules(reader, store_id))

    def synonyms_in(self, language: LanguageAnalyzer) -> Synonyms:
        """Return the synonyms by stems of a language."""
        return self._synonyms_and_rules_by_stems(language)[0]

    def rules_for(
        self, query: AnalysedQuery, now_ms: int, zone: tzinfo
    ) -> list[SearchRule]:
        """Return the active rules of a query, in any form of its words."""
        if not self.rules:
            return []
        rules = self._synonyms_and_rules_by_stems(query.language)[1].get(query.stems, [])
        return [rule for rule in rules if rule.is_active(now_ms, zone)]

    def _synonyms_and_rules_by_stems(
        self, language: LanguageAnalyzer
    ) -> tuple[Synonyms, dict[Words, list[SearchRule]]]:
        cached = self._by_language.get(language.code)
        if cached is None:
            by_query: dict[Words, list[SearchRule]] = {}
            for rule in self.rules.values():
                key = AnalysedQuery.of(rule.query, language).stems
                by_query.setdefault(key, []).append(rule)
            cached = self._by_language[language.code] = (
                self._synonyms_by_stems(language),
                by_query,
            )
        return cached

    def _synonyms_by_stems(self, language: LanguageAnalyzer) -> Synonyms:
        if not self.synonyms:
            return NO_SYNONYMS
        synonyms: dict[Words, list[Words]] = {}
        for synonym in self.synonyms.values():
            texts = [tuple(query_words(text)) for text in synonym.texts]
            for source in texts[:1] if synonym.one_way else texts:
                other_texts = [other for other in texts if other and other != source]
                key = tuple(language.stems(source))
                if key:
                    synonyms.setdefault(key, []).extend(other_texts)
        return {
            key: tuple(dict.fromkeys(other_texts)) for key, other_texts in synonyms.items()
        }


def item_ids_of(rules: list[SearchRule], action: SearchRuleAction) -> list[str]:
    """Return the item ids of the rules of one kind, in the rules' order."""
    return [item for rule in rules if rule.action is action for item in rule.items]


def redirect_address(rules: list[SearchRule]) -> str | None:
    """Return the address of the newest redirect; None without one."""
    return next((rule.address for rule in reversed(rules) if rule.address), None)


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
            SearchRuleError: when it is invalid, or above the limit.
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
            SearchRuleError: when it is invalid, or above the limit.
            StoreDeletedError: when the store was deleted.
        """
        valid_rule = validate_rule(rule)
        with self._database.transaction() as transaction:
            repository = SearchRuleRepository(transaction, self._store_id)
            number = repository.lock_and_next_id()
            _check_limit(len(repository.rules()), MAX_RULES)
            repository.add_rule(number, valid_rule, self._clock())
        return number, valid_rule

    def remove_synonym(self, number: int) -> None:
        """Delete a synonym.

        Raises:
            UnknownSearchRuleError: when the id does not exist.
        """
        with self._database.transaction() as transaction:
            repository = SearchRuleRepository(transaction, self._store_id)
            repository.lock_and_next_id()
            _check_existed(number, was_present=repository.remove_synonym(number))

    def remove_rule(self, number: int) -> None:
        """Delete a rule.

        Raises:
            UnknownSearchRuleError: when the id does not exist.
        """
        with self._database.transaction() as transaction:
            repository = SearchRuleRepository(transaction, self._store_id)
            repository.lock_and_next_id()
            _check_existed(number, was_present=repository.remove_rule(number))


def _check_limit(present: int, limit: int) -> None:
    if present >= limit:
        message = f"a store may have {limit}; remove some first"
        raise SearchRuleError(message)


def _check_existed(number: int, *, was_present: bool) -> None:
    if not was_present:
        message = f"no rule or synonym has the id {number}; `list` shows all"
        raise UnknownSearchRuleError(message)
