"""Search report and improvements: what shoppers search for, why, and synonyms and rules."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

from productrecs.dashboard.formats import Formats, sentence
from productrecs.dashboard.list_explanations import position_change
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    RowRemoval,
    SubmittedFields,
    Visit,
    parse_row_number,
)
from productrecs.dashboard.product_table import ProductRow, known_product_rows
from productrecs.dashboard.relevance_effect import (
    EffectOnQuerySet,
    measure_effect_on_query_set,
)
from productrecs.dashboard.report_period import chosen_period
from productrecs.dashboard.report_values import (
    figures_by_name,
    recount_note,
    rows_by_column,
)
from productrecs.engines.text.query_interpreter import QueryTerm
from productrecs.engines.text.search_index import QueryRelaxation
from productrecs.features.search.hits_and_variant_collapse import Hit
from productrecs.features.search.insights.search_insights import (
    search_question_counts,
    search_reports_by_name,
)
from productrecs.features.search.product_search import (
    ResolvedQuery,
    SearchableStore,
    SearchRequest,
    find_products,
    resolve_query,
    truncate_query,
)
from productrecs.features.search.query_filters import FilterField, QueryWordFilter
from productrecs.features.search.search_rule_editor import SearchRuleEditor
from productrecs.features.search.search_rule_set import SearchRuleSet
from productrecs.features.search.search_rules import (
    InvalidSynonymOrRuleError,
    SearchRule,
    SearchRuleAction,
    Synonym,
    UnknownSynonymOrRuleError,
    validate_search_rule,
    validate_synonym,
)
from productrecs.serving.cached_store import searchable_store

SHOWN: Final = 8
_MOST_MEANINGS: Final = 4
_RELAXED: Final = MappingProxyType(
    {
        "spelling": "Spelling was corrected.",
        "word": "Few products have this word, so products of similar meaning follow.",
        "words": "Few products have all words, so products with some of them, or of "
        "similar meaning, follow.",
        "meaning": "No product has any of these words. These are of similar meaning.",
    }
)


@dataclass(frozen=True, slots=True)
class PreviewedProduct:
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
    products: tuple[PreviewedProduct, ...]
    relaxed: str
    address: str | None  # the target of a redirect


class QueryOutcome(StrEnum):
    """What a query finds."""

    REDIRECT = "redirect"  # the page that a redirect leads to
    FOUND = "found"  # a product with all of its words
    SIMILAR = "similar"  # only some of the words, or a similar meaning
    NOTHING = "nothing"


class SearchPreviewer:
    """Preview searches of one visit, with the stored rules or with additional ones."""

    def __init__(self, visit: Visit) -> None:
        """Read the stored synonyms and rules: another process may have changed them."""
        self._visit = visit
        self._searchable = searchable_store(visit.cached_store)
        editor = SearchRuleEditor(visit.database, visit.store, visit.services.clock)
        self.synonyms, self.rules = editor.synonyms(), editor.rules()

    def preview_now(self, query: str) -> SearchPreview:
        """Return the present results."""
        return self._preview_search(query, SearchRuleSet(1, self.synonyms, self.rules), ())

    def preview_with_change(self, query: str, added: Synonym | SearchRule) -> SearchPreview:
        """Return the results with one more synonym or rule."""
        before = [product.row.item_id for product in self.preview_now(query).products]
        return self._preview_search(
            query, self._rule_set_with(added), before, has_before=True
        )

    def find_outcome(self, query: str) -> QueryOutcome:
        """Return what the query finds now."""
        searchable = replace(
            self._searchable, search_rules=SearchRuleSet(1, self.synonyms, self.rules)
        )
        request = SearchRequest(f"{truncate_query(query).strip()} ", 1)
        results = find_products(searchable, request, self._visit.now_ms)
        if results.address is not None:
            return QueryOutcome.REDIRECT
        if not results.hits:
            return QueryOutcome.NOTHING
        return QueryOutcome.FOUND if results.has_every_word else QueryOutcome.SIMILAR

    def synonyms_without_products(self, added: Synonym | SearchRule) -> list[str]:
        """Return the texts of a synonym that find nothing, as its query does now.

        A query that finds products needs none: it is what the others then find.
        """
        if not isinstance(added, Synonym):
            return []
        query, *others = added.texts
        if self.find_outcome(query) is not QueryOutcome.NOTHING:
            return []
        return [text for text in others if self.find_outcome(text) is QueryOutcome.NOTHING]

    def measure_effect(self, added: Synonym | SearchRule) -> EffectOnQuerySet:
        """Return the effect of one more synonym or rule on the query set."""
        now = replace(
            self._searchable, search_rules=SearchRuleSet(1, self.synonyms, self.rules)
        )
        changed = replace(self._searchable, search_rules=self._rule_set_with(added))
        return measure_effect_on_query_set(self._visit, now, changed)

    def _rule_set_with(self, added: Synonym | SearchRule) -> SearchRuleSet:
        synonyms, rules = dict(self.synonyms), dict(self.rules)
        if isinstance(added, Synonym):
            synonyms[max(synonyms, default=0) + 1] = added
        else:
            rules[max(rules, default=0) + 1] = added
        return SearchRuleSet(1, synonyms, rules)

    def _preview_search(
        self,
        query: str,
        rule_set: SearchRuleSet,
        ids_before: Sequence[str],
        *,
        has_before: bool = False,
    ) -> SearchPreview:
        visit, searchable = self._visit, replace(self._searchable, search_rules=rule_set)
        request = SearchRequest(f"{truncate_query(query).strip()} ", SHOWN)
        resolved = resolve_query(searchable, request, visit.now_ms)
        results = find_products(searchable, request, visit.now_ms)
        ids = [searchable.catalog.ids[hit.item] or "" for hit in results.hits]
        rows_by_id = {row.item_id: row for row in known_product_rows(visit, ids)}
        filter_words = {
            word
            for found in results.filters
            for word in searchable.index.analyse(found.text).words
        }
        words = [
            term
            for term in searchable.index.interpret(resolved.query, resolved.synonyms)
            if term.typed not in filter_words
        ]
        terms_without_synonyms = {
            term.typed: term for term in searchable.index.interpret(resolved.query)
        }
        products = tuple(
            PreviewedProduct(
                rows_by_id[item_id],
                hit.score,
                tuple(
                    _result_reasons(searchable, resolved, hit, words, rows_by_id[item_id])
                ),
                position_change(item_id, place, ids_before) if has_before else "",
            )
            for place, (item_id, hit) in enumerate(zip(ids, results.hits, strict=True))
            if item_id in rows_by_id
        )
        return SearchPreview(
            query=query,
            words=(
                *(_explain_filter(found, visit.formats) for found in results.filters),
                *(
                    _explain_word(term, terms_without_synonyms.get(term.typed))
                    for term in words
                ),
            ),
            products=products,
            relaxed=relaxation_text(results.relaxed, len(words)) if products else "",
            address=results.address,
        )


def _explain_filter(word_filter: QueryWordFilter, formats: Formats) -> ExplainedWord:
    """Return the filter that words of the query were read as."""
    prices = [
        f"{name} {formats.money(price)}"
        for name, price in (("from", word_filter.low), ("up to", word_filter.high))
        if price is not None
    ]
    value = " ".join(prices) or word_filter.value
    if word_filter.field is FilterField.ON_SALE:
        return ExplainedWord(word_filter.text, "filters by reduced products", "good")
    return ExplainedWord(
        word_filter.text, f"filters by {word_filter.field.value}: {value}", "good"
    )


def relaxation_text(relaxed: QueryRelaxation, words: int) -> str:
    """Return how a query of so many words was relaxed to find enough, as a sentence."""
    name = "word" if relaxed is QueryRelaxation.WORDS and words == 1 else relaxed.value
    return _RELAXED.get(name, "")


def _explain_word(word: QueryTerm, without_synonyms: QueryTerm | None) -> ExplainedWord:
    """Return how a word is interpreted: unchanged, corrected, by a synonym, or ignored."""
    reading_texts = [" ".join(reading.words) for reading in word.readings]
    plain_texts = (
        {" ".join(reading.words) for reading in without_synonyms.readings}
        if without_synonyms
        else set()
    )
    other_texts = [text for text in reading_texts if text != word.typed]
    if not reading_texts:
        return ExplainedWord(word.typed, "no product has this word", "bad")
    synonyms = [text for text in other_texts if text not in plain_texts]
    if synonyms:
        listed_texts = ", ".join(synonyms[:_MOST_MEANINGS])
        return ExplainedWord(word.typed, f"also finds {listed_texts} (synonym)", "good")
    if not word.is_known:
        return ExplainedWord(
            word.typed,
            f"read as {other_texts[0] if other_texts else reading_texts[0]}",
            "warn",
        )
    if other_texts:
        listed_texts = ", ".join(other_texts[:_MOST_MEANINGS])
        return ExplainedWord(word.typed, f"also finds {listed_texts}", "good")
    return ExplainedWord(word.typed, "found as written", "good")


def _result_reasons(
    searchable: SearchableStore,
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
    stems = set(searchable.index.analyse(row.title).stems)
    matched = [
        " ".join(reading.words)
        for word in words
        for reading in word.readings[:_MOST_MEANINGS]
        if stems.issuperset(reading.stems)
    ]
    if matched:
        yield f"Title: {', '.join(dict.fromkeys(matched))}"
    else:
        yield "Brand, category, description or similar meaning"
    yield from _boost_reasons(searchable, query, hit)
    if row.tone == "warn":
        yield row.state


def _boost_reasons(
    searchable: SearchableStore, query: ResolvedQuery, hit: Hit
) -> Iterator[str]:
    if query.click_boosts.get(hit.item, 0.0) > 0:
        yield "Shoppers choose it after this search"
    if searchable.sells_well(hit.item):
        yield "Sells well"
    if query.factors is not None:
        factor = float(query.factors[min(hit.item, len(query.factors) - 1)])
        if factor != 1.0:
            yield "Boosted by a rule" if factor > 1.0 else "Lowered by a rule"


SEARCH_PATH: Final = "/dashboard/search"
IMPROVE_PATH: Final = f"{SEARCH_PATH}/improve"
REMOVE_PATH: Final = f"{SEARCH_PATH}/remove"
_ROWS: Final = 15
_TABLES: Final = (
    (
        "search-no-results",
        "Searches without results",
        "Every search found at least one product.",
    ),
    (
        "search-no-clicks",
        "Searches without clicks",
        "Each search term that found products was clicked at least once.",
    ),
    ("search", "Most frequent searches", "No searches in these days."),
)
ACTIONS: Final = MappingProxyType(
    {"synonym": "Add a synonym", "pin": "Pin products", "redirect": "Redirect"}
)
_MOST_OFFERED: Final = 8


@dataclass(frozen=True, slots=True)
class TypedQueryChange:
    """A typed change of one query: a synonym or a search rule."""

    query: str
    action: str
    texts: str  # of a synonym, separated by commas
    address: str
    find: str  # words of products to pin
    pins: tuple[str, ...]

    def validated_change(self) -> Synonym | SearchRule:
        """Return the change in its stored form.

        Raises:
            InvalidSynonymOrRuleError: when it is invalid.
        """
        if self.action == "synonym":
            texts = [text for text in self.texts.split(",") if text.strip()]
            return validate_synonym([self.query, *(texts or [""])], one_way=False)
        if self.action == "pin":
            rule = SearchRule(SearchRuleAction.PIN, self.query, items=self.pins)
        else:
            action, address = SearchRuleAction.REDIRECT, self.address
            rule = SearchRule(action, self.query, address=address)
        return validate_search_rule(rule)


def show_search_report_and_preview(visit: Visit) -> Reply:
    """Show the searches of a period, and the preview of one query."""
    query, previews = truncate_query(visit.query["q"]).strip(), SearchPreviewer(visit)
    preview: dict[str, Any] = {
        "q": query,
        "preview": previews.preview_now(query) if query else None,
        "improve": _improve_address,
        "may_improve": visit.may_change,
    }
    if visit.is_partial:
        return visit.render("search_results.html", **preview)
    period = chosen_period(visit)
    reports = search_reports_by_name(
        visit.database, visit.store, period.query_by(limit=_ROWS)
    )
    figures, recount = figures_by_name(reports["search"]), recount_note(visit)
    return visit.render(
        "search.html",
        period=period,
        tables=[
            (
                name,
                title,
                nothing if figures["searches"] else "No searches in these days.",
                reports[name],
                rows_by_column(reports[name]),
            )
            for name, title, nothing in _TABLES
            if not recount or name != "search-no-clicks"
        ],
        recount=recount,
        most_rows=_ROWS,
        figures=figures,
        outcome=previews.find_outcome,
        questions=search_question_counts(
            visit.database, visit.store, (period.asked.first_day, period.asked.last_day)
        ),
        synonyms=list(previews.synonyms.items()),
        rules=list(previews.rules.items()),
        is_empty=not any(
            figures[name] for name in ("searches", "clicks", "image_searches")
        ),
        **preview,
    )


def _improve_address(query: str, action: str) -> str:
    return f"{IMPROVE_PATH}?{urlencode({'q': query, 'action': action})}"


def _read_query_change(form: SubmittedFields) -> TypedQueryChange:
    """Return the change of a form's fields."""
    return TypedQueryChange(
        query=truncate_query(form["q"]).strip(),
        action=form["action"] if form["action"] in ACTIONS else "synonym",
        texts=form["texts"],
        address=form["address"],
        find=truncate_query(form["find"]).strip(),
        pins=form.all("pin"),
    )


def show_improvement(visit: Visit) -> Reply:
    """Show a change to one query, with the results before and after it."""
    return _improvement_page(visit, _read_query_change(visit.query))


def preview_synonym_or_rule(visit: Visit) -> Reply:
    """Show the results with an unsaved change; the form keeps its fields."""
    return _improvement_page(visit, _read_query_change(visit.form))


def show_improvement_effect_on_query_set(visit: Visit) -> Reply:
    """Show what an unsaved change does to the query set; the form keeps its fields."""
    typed_change = _read_query_change(visit.form)
    try:
        effect = SearchPreviewer(visit).measure_effect(typed_change.validated_change())
    except InvalidSynonymOrRuleError as error:
        return _improvement_page(visit, typed_change, str(error))
    return _improvement_page(visit, typed_change, effect=effect)


def save_synonym_or_rule(visit: Visit) -> Reply:
    """Store a synonym or a rule; an error is shown next to its field."""
    typed_change = _read_query_change(visit.form)
    editor = SearchRuleEditor(visit.database, visit.store, visit.services.clock)
    try:
        change = typed_change.validated_change()
        _check_pinned_products_exist(visit, typed_change)
        unfound = SearchPreviewer(visit).synonyms_without_products(change)
        if isinstance(change, Synonym):
            editor.add_synonym(*change.texts)
        else:
            editor.add_rule(change)
    except InvalidSynonymOrRuleError as error:
        return _improvement_page(visit, typed_change, str(error))
    message = "Saved. Shoppers get these results within a second."
    if unfound:
        message = f"Saved. {_no_match_warning(unfound)}"
    return visit.redirect(f"{SEARCH_PATH}?{urlencode({'q': typed_change.query})}", message)


def _no_match_warning(texts: Sequence[str]) -> str:
    """Return the warning about synonyms that find nothing."""
    quoted = ", ".join(f"“{text}”" for text in texts)
    return f"No product matches {quoted}. Use words of your catalog."


def _check_pinned_products_exist(visit: Visit, typed_change: TypedQueryChange) -> None:
    catalog = visit.cached_store.state.catalog
    for item_id in typed_change.pins if typed_change.action == "pin" else ():
        if catalog.number(item_id) is None:
            message = "one of these products is no longer in the catalog; choose again"
            raise InvalidSynonymOrRuleError(message)


def _improvement_page(
    visit: Visit,
    typed_change: TypedQueryChange,
    error: str = "",
    effect: EffectOnQuerySet | None = None,
) -> Reply:
    previews = SearchPreviewer(visit)
    after, hint, unfound = None, "", list[str]()
    if typed_change.query:
        try:
            change = typed_change.validated_change()
            after = previews.preview_with_change(typed_change.query, change)
            unfound = previews.synonyms_without_products(change)
        except InvalidSynonymOrRuleError as wrong:
            hint = str(wrong)
    offered_products = []
    if typed_change.action == "pin":
        pin_query = typed_change.find or typed_change.query
        offered_products = (
            list(previews.preview_now(pin_query).products) if pin_query else []
        )
    pinned = set(typed_change.pins)
    return visit.render(
        "search_effect.html" if visit.is_partial else "search_improve.html",
        status=422 if error else 200,
        wanted=typed_change,
        actions=list(ACTIONS.items()),
        before=previews.preview_now(typed_change.query) if typed_change.query else None,
        after=after,
        error=sentence(error) if error else "",
        hint=hint,
        warning=_no_match_warning(unfound) if unfound else "",
        effect=effect,
        offered=[
            product.row for product in offered_products if product.row.item_id not in pinned
        ][:_MOST_OFFERED],
        chosen=known_product_rows(visit, typed_change.pins),
        improve=_improve_address,
    )


def remove_synonym_or_rule(visit: Visit) -> Reply:
    """Remove a synonym or a search rule."""
    editor = SearchRuleEditor(visit.database, visit.store, visit.services.clock)
    synonym, rule = visit.form["synonym"], visit.form["search_rule"]
    number = parse_row_number(synonym or rule)
    remove = editor.remove_synonym if synonym else editor.remove_rule
    try:
        remove(number)
    except UnknownSynonymOrRuleError as error:
        message = "This rule was removed already."
        raise PageOrRecordNotFoundError(message) from error
    return visit.redirect(f"{SEARCH_PATH}#rules", "Removed. Results follow in a second.")


PAGES: Final = (
    Page(
        SEARCH_PATH,
        "Search",
        show_search_report_and_preview,
        group=NavigationGroup.ANALYSE,
        shows_pictures=True,
    ),
    Page(
        IMPROVE_PATH,
        "Improve a search",
        show_improvement,
        save_synonym_or_rule,
        action="Saved a synonym or search rule",
        shows_pictures=True,
    ),
    Page(
        f"{IMPROVE_PATH}/preview",
        "Improve a search",
        change=preview_synonym_or_rule,
        is_audited=False,
        shows_pictures=True,
    ),
    Page(
        f"{IMPROVE_PATH}/effect",
        "Improve a search",
        change=show_improvement_effect_on_query_set,
        is_audited=False,
        shows_pictures=True,
    ),
    Page(
        REMOVE_PATH,
        "Remove a search rule",
        change=remove_synonym_or_rule,
        action="Removed a synonym or search rule",
        removes=(
            RowRemoval("synonyms", "search_seq", {"synonym_id": "synonym"}),
            RowRemoval("search_rules", "search_seq", {"rule_id": "search_rule"}),
        ),
    ),
)
