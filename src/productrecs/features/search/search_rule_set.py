"""Search rule set: synonyms and search rules in memory, found by their stems."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo

from productrecs.core.ids import StoreId
from productrecs.engines.text.analysed_query import (
    AnalysedQuery,
)
from productrecs.engines.text.language_detection_and_stemming import (
    LanguageAnalyzer,
)
from productrecs.engines.text.query_interpreter import NO_SYNONYMS, Synonyms, Words
from productrecs.engines.text.tokenizer import query_words
from productrecs.features.search.repository import (
    read_search_rules,
    read_synonyms,
)
from productrecs.features.search.search_rules import (
    SearchRule,
    SearchRuleAction,
    Synonym,
)
from productrecs.storage.sql.dialects import RawReader


@dataclass(frozen=True, slots=True)
class SearchRuleSet:
    """An immutable set of synonyms and rules: a store's at one moment, or unsaved ones."""

    seq: int = 0
    synonyms: Mapping[int, Synonym] = field(default_factory=dict)
    rules: Mapping[int, SearchRule] = field(default_factory=dict)
    _by_language: dict[str, tuple[Synonyms, dict[Words, list[SearchRule]]]] = field(
        default_factory=dict
    )

    @classmethod
    def load(cls, reader: RawReader, store_id: StoreId, seq: int) -> "SearchRuleSet":
        """Return the store's current set; `seq` is the version that was read before."""
        if seq == 0:
            return cls()
        return cls(
            seq, read_synonyms(reader, store_id), read_search_rules(reader, store_id)
        )

    def synonyms_in(self, language: LanguageAnalyzer) -> Synonyms:
        """Return the synonyms by stems of a language."""
        return self._synonyms_and_rules_by_stems(language)[0]

    def active_rules_for(
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
