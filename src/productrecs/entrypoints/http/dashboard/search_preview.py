"""Search preview: the results of a query, with the reasons for each match."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from productrecs.engines.text.query_interpreter import QueryTerm
from productrecs.entrypoints.http.caches.store_cache import searchable_store
from productrecs.entrypoints.http.dashboard.page import Visit
from productrecs.entrypoints.http.dashboard.product_rows import ProductRow, product_rows
from productrecs.features.search.product_search import (
    Hit,
    ResolvedQuery,
    SearchableStore,
    SearchRequest,
    find_products,
    resolve_query,
    truncate_query,
)
from productrecs.features.search.rule_book import SearchRuleBook, SearchRuleEditor
from productrecs.features.search.search_rules import SearchRule, Synonym

SHOWN: Final = 8
_MOST_MEANINGS: Final = 4
_RELAXED: Final = MappingProxyType(
    {
        "spelling": "Spelling was corrected.",
        "words": "Few products have all words, so products with some of them, or of "
        "similar meaning, follow.",
        "meaning": "No product has any of these words. These are of similar meaning.",
    }
)


@dataclass(frozen=True, slots=True)
class FoundProduct:
    """One result: the product, its score, and the reasons for its position."""

    row: ProductRow
    score: float
    reasons: tuple[str, ...]
    change: str = ""  # compared with another result list: new, up, down


@dataclass(frozen=True, slots=True)
class ExplainedWord:
    """One word of the query, and its interpretation."""

    typed: str
    text: str
    tone: str


@dataclass(frozen=True, slots=True)
class SearchPreview:
    """The results of one query, now or with a change."""

    query: str
    words: tuple[ExplainedWord, ...]
    products: tuple[FoundProduct, ...]
    relaxed: str
    address: str | None  # the target of a redirect


class SearchPreviews:
    """Preview searches of one visit, with the stored rules or with additional ones."""

    def __init__(self, visit: Visit) -> None:
        """Read the stored synonyms and rules: another process may have changed them."""
        self._visit = visit
        self._shop = searchable_store(visit.opened)
        editor = SearchRuleEditor(visit.database, visit.store, visit.services.clock)
        self.synonyms, self.rules = editor.synonyms(), editor.rules()

    def now(self, query: str) -> SearchPreview:
        """Return the present results."""
        return self._preview(query, SearchRuleBook(1, self.synonyms, self.rules), ())

    def with_change(self, query: str, added: Synonym | SearchRule) -> SearchPreview:
        """Return the results with one more synonym or rule."""
        synonyms, rules = dict(self.synonyms), dict(self.rules)
        if isinstance(added, Synonym):
            synonyms[max(synonyms, default=0) + 1] = added
        else:
            rules[max(rules, default=0) + 1] = added
        before = [one.row.item_id for one in self.now(query).products]
        return self._preview(query, SearchRuleBook(1, synonyms, rules), before, has=True)

    def _preview(
        self,
        query: str,
        book: SearchRuleBook,
        before: Sequence[str],
        *,
        has: bool = False,
    ) -> SearchPreview:
        visit, shop = self._visit, replace(self._shop, search_rules=book)
        request = SearchRequest(f"{truncate_query(query).strip()} ", SHOWN)
        resolved = resolve_query(shop, request, visit.now_ms)
        found = find_products(shop, request, visit.now_ms)
        ids = [shop.catalog.ids[hit.item] or "" for hit in found.hits]
        rows = {row.item_id: row for row in product_rows(visit, ids)}
        words = shop.index.interpret(resolved.query, resolved.synonyms)
        plain = {one.typed: one for one in shop.index.interpret(resolved.query)}
        products = tuple(
            FoundProduct(
                rows[item_id],
                hit.score,
                tuple(_reasons(shop, resolved, hit, words, rows[item_id])),
                _change(item_id, place, before) if has else "",
            )
            for place, (item_id, hit) in enumerate(zip(ids, found.hits, strict=True))
            if item_id in rows
        )
        return SearchPreview(
            query=query,
            words=tuple(_meaning(one, plain.get(one.typed)) for one in words),
            products=products,
            relaxed=_RELAXED.get(found.relaxed.value, "") if products else "",
            address=found.address,
        )


def _change(item_id: str, place: int, before: Sequence[str]) -> str:
    if item_id not in before:
        return "new"
    was = before.index(item_id)
    return "up" if place < was else "down" if place > was else ""


def _meaning(word: QueryTerm, plain: QueryTerm | None) -> ExplainedWord:
    """Return how a word is interpreted: unchanged, corrected, by a synonym, or ignored."""
    read = [" ".join(one.words) for one in word.readings]
    without = {" ".join(one.words) for one in plain.readings} if plain else set()
    others = [one for one in read if one != word.typed]
    if not read:
        return ExplainedWord(word.typed, "no product has this word", "bad")
    synonyms = [one for one in others if one not in without]
    if synonyms:
        named = ", ".join(synonyms[:_MOST_MEANINGS])
        return ExplainedWord(word.typed, f"also finds {named} (synonym)", "good")
    if not word.is_known:
        return ExplainedWord(
            word.typed, f"read as {others[0] if others else read[0]}", "warn"
        )
    if others:
        named = ", ".join(others[:_MOST_MEANINGS])
        return ExplainedWord(word.typed, f"also finds {named}", "good")
    return ExplainedWord(word.typed, "found as written", "good")


def _reasons(
    shop: SearchableStore,
    query: ResolvedQuery,
    hit: Hit,
    words: Sequence[QueryTerm],
    row: ProductRow,
) -> Iterator[str]:
    if hit.item in query.pinned:
        yield "Pinned for this query"
        return
    item = row.item
    if query.query.text.strip().lower() in {item.item_id.lower(), (item.sku or "").lower()}:
        yield "The product id or SKU itself"
    stems = set(shop.index.analyse(row.title).stems)
    matched = [
        " ".join(one.words)
        for word in words
        for one in word.readings[:_MOST_MEANINGS]
        if stems.issuperset(one.stems)
    ]
    if matched:
        yield f"Title: {', '.join(dict.fromkeys(matched))}"
    else:
        yield "Brand, category, description or similar meaning"
    yield from _boosts(shop, query, hit)
    if row.tone == "warn":
        yield row.state


def _boosts(shop: SearchableStore, query: ResolvedQuery, hit: Hit) -> Iterator[str]:
    if query.click_boosts.get(hit.item, 0.0) > 0:
        yield "Shoppers choose it after this search"
    if shop.popularity(hit.item) > 0:
        yield "Sells well"
    if query.factors is not None:
        factor = float(query.factors[min(hit.item, len(query.factors) - 1)])
        if factor != 1.0:
            yield "Boosted by a rule" if factor > 1.0 else "Lowered by a rule"
