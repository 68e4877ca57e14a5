"""Search report and preview: what shoppers search for, reasons, how to improve it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

from productrecs.dashboard.page import (
    Form,
    Group,
    NotFoundError,
    Page,
    Removal,
    Reply,
    Visit,
)
from productrecs.dashboard.product_table import ProductRow, product_rows
from productrecs.dashboard.relevance_effect import EffectOnQueries, effect_on_queries
from productrecs.dashboard.report_period import (
    chosen_period,
    figures_of,
    rows_of,
)
from productrecs.engines.text.query_interpreter import QueryTerm
from productrecs.features.search.hits import Hit
from productrecs.features.search.product_search import (
    ResolvedQuery,
    SearchableStore,
    SearchRequest,
    find_products,
    resolve_query,
    truncate_query,
)
from productrecs.features.search.search_insights import every_search_report
from productrecs.features.search.search_rule_book import SearchRuleBook, SearchRuleEditor
from productrecs.features.search.search_rules import (
    SearchRule,
    SearchRuleAction,
    SearchRuleError,
    Synonym,
    UnknownSearchRuleError,
    validate_rule,
    validate_synonym,
)
from productrecs.serving.cached_store import searchable_store

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
        before = [one.row.item_id for one in self.now(query).products]
        return self._preview(query, self._book_with(added), before, has=True)

    def effect(self, added: Synonym | SearchRule) -> EffectOnQueries:
        """Return the effect of one more synonym or rule on the query set."""
        now = replace(self._shop, search_rules=SearchRuleBook(1, self.synonyms, self.rules))
        changed = replace(self._shop, search_rules=self._book_with(added))
        return effect_on_queries(self._visit, now, changed)

    def _book_with(self, added: Synonym | SearchRule) -> SearchRuleBook:
        synonyms, rules = dict(self.synonyms), dict(self.rules)
        if isinstance(added, Synonym):
            synonyms[max(synonyms, default=0) + 1] = added
        else:
            rules[max(rules, default=0) + 1] = added
        return SearchRuleBook(1, synonyms, rules)

    def _preview(
        self,
        query: str,
        book: SearchRuleBook,
        before: Sequence[str],
        *,
        has: bool = False,
    ) -> SearchPreview:
        visit, searchable = self._visit, replace(self._shop, search_rules=book)
        request = SearchRequest(f"{truncate_query(query).strip()} ", SHOWN)
        resolved = resolve_query(searchable, request, visit.now_ms)
        found = find_products(searchable, request, visit.now_ms)
        ids = [searchable.catalog.ids[hit.item] or "" for hit in found.hits]
        rows = {row.item_id: row for row in product_rows(visit, ids)}
        words = searchable.index.interpret(resolved.query, resolved.synonyms)
        plain = {one.typed: one for one in searchable.index.interpret(resolved.query)}
        products = tuple(
            FoundProduct(
                rows[item_id],
                hit.score,
                tuple(_reasons(searchable, resolved, hit, words, rows[item_id])),
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
        " ".join(one.words)
        for word in words
        for one in word.readings[:_MOST_MEANINGS]
        if stems.issuperset(one.stems)
    ]
    if matched:
        yield f"Title: {', '.join(dict.fromkeys(matched))}"
    else:
        yield "Brand, category, description or similar meaning"
    yield from _boosts(searchable, query, hit)
    if row.tone == "warn":
        yield row.state


def _boosts(searchable: SearchableStore, query: ResolvedQuery, hit: Hit) -> Iterator[str]:
    if query.click_boosts.get(hit.item, 0.0) > 0:
        yield "Shoppers choose it after this search"
    if searchable.popularity(hit.item) > 0:
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
class Improvement:
    """A typed change of one query: a synonym or a search rule."""

    query: str
    action: str
    texts: str  # of a synonym, separated by commas
    address: str
    find: str  # words of products to pin
    pins: tuple[str, ...]

    def checked(self) -> Synonym | SearchRule:
        """Return the change in its stored form.

        Raises:
            SearchRuleError: when it is invalid.
        """
        if self.action == "synonym":
            texts = [one for one in self.texts.split(",") if one.strip()]
            return validate_synonym([self.query, *texts], one_way=False)
        if self.action == "pin":
            rule = SearchRule(SearchRuleAction.PIN, self.query, items=self.pins)
        else:
            action, address = SearchRuleAction.REDIRECT, self.address
            rule = SearchRule(action, self.query, address=address)
        return validate_rule(rule)


def show_search(visit: Visit) -> Reply:
    """Show the searches of a period, and the preview of one query."""
    query, previews = truncate_query(visit.query["q"]).strip(), SearchPreviews(visit)
    preview: dict[str, Any] = {
        "q": query,
        "preview": previews.now(query) if query else None,
        "improve": _improve_address,
        "may_improve": visit.may_change,
    }
    if visit.is_partial:
        return visit.render("search_results.html", **preview)
    period = chosen_period(visit)
    reports = every_search_report(visit.database, visit.store, period.by(limit=_ROWS))
    figures = figures_of(reports["search"])
    return visit.render(
        "search.html",
        period=period,
        tables=[
            (
                name,
                title,
                nothing if figures["searches"] else "No searches in these days.",
                reports[name],
                rows_of(reports[name]),
            )
            for name, title, nothing in _TABLES
        ],
        figures=figures,
        synonyms=list(previews.synonyms.items()),
        rules=list(previews.rules.items()),
        is_empty=not any(
            figures[name] for name in ("searches", "clicks", "image_searches")
        ),
        **preview,
    )


def _improve_address(query: str, action: str) -> str:
    return f"{IMPROVE_PATH}?{urlencode({'q': query, 'action': action})}"


def _wanted(form: Form) -> Improvement:
    """Return the change of a form's fields."""
    return Improvement(
        query=truncate_query(form["q"]).strip(),
        action=form["action"] if form["action"] in ACTIONS else "synonym",
        texts=form["texts"],
        address=form["address"],
        find=truncate_query(form["find"]).strip(),
        pins=form.all("pin"),
    )


def show_improvement(visit: Visit) -> Reply:
    """Show a change to one query, with the results before and after it."""
    return _improvement(visit, _wanted(visit.query))


def show_effect(visit: Visit) -> Reply:
    """Show what an unsaved change does to the query set; the form keeps its fields."""
    wanted = _wanted(visit.form)
    try:
        effect = SearchPreviews(visit).effect(wanted.checked())
    except SearchRuleError as error:
        return _improvement(visit, wanted, str(error))
    return _improvement(visit, wanted, effect=effect)


def save_improvement(visit: Visit) -> Reply:
    """Store a synonym or a rule; an error is shown next to its field."""
    form = visit.form
    wanted = _wanted(form)
    if "preview" in form:
        return _improvement(visit, wanted)
    editor = SearchRuleEditor(visit.database, visit.store, visit.services.clock)
    try:
        change = wanted.checked()
        _check_known(visit, wanted)
        if isinstance(change, Synonym):
            editor.add_synonym(*change.texts)
        else:
            editor.add_rule(change)
    except SearchRuleError as error:
        return _improvement(visit, wanted, str(error))
    message = "Saved. Shoppers get these results within a second."
    return visit.redirect(f"{SEARCH_PATH}?{urlencode({'q': wanted.query})}", message)


def _check_known(visit: Visit, wanted: Improvement) -> None:
    catalog = visit.opened.state.catalog
    for item_id in wanted.pins if wanted.action == "pin" else ():
        if catalog.number(item_id) is None:
            message = "one of these products is no longer in the catalog; choose again"
            raise SearchRuleError(message)


def _improvement(
    visit: Visit,
    wanted: Improvement,
    error: str = "",
    effect: EffectOnQueries | None = None,
) -> Reply:
    previews = SearchPreviews(visit)
    after, hint = None, ""
    if wanted.query:
        try:
            after = previews.with_change(wanted.query, wanted.checked())
        except SearchRuleError as wrong:
            hint = str(wrong)
    offered = []
    if wanted.action == "pin":
        looked_for = wanted.find or wanted.query
        offered = list(previews.now(looked_for).products) if looked_for else []
    pinned = set(wanted.pins)
    return visit.render(
        "search_effect.html" if visit.is_partial else "search_improve.html",
        status=422 if error else 200,
        wanted=wanted,
        actions=list(ACTIONS.items()),
        before=previews.now(wanted.query) if wanted.query else None,
        after=after,
        error=f"{error[:1].upper()}{error[1:]}." if error else "",
        hint=hint,
        effect=effect,
        offered=[one.row for one in offered if one.row.item_id not in pinned][
            :_MOST_OFFERED
        ],
        chosen=product_rows(visit, wanted.pins),
        improve=_improve_address,
    )


def remove_rule(visit: Visit) -> Reply:
    """Remove a synonym or a search rule."""
    editor = SearchRuleEditor(visit.database, visit.store, visit.services.clock)
    synonym, rule = visit.form["synonym"], visit.form["search_rule"]
    number = synonym or rule
    if not (number.isascii() and number.isdigit() and len(number) < 10):  # noqa: PLR2004 - digits
        raise NotFoundError
    remove = editor.remove_synonym if synonym else editor.remove_rule
    try:
        remove(int(number))
    except UnknownSearchRuleError as error:
        message = "This rule was removed already."
        raise NotFoundError(message) from error
    return visit.redirect(f"{SEARCH_PATH}#rules", "Removed. Results follow in a second.")


PAGES: Final = (
    Page(SEARCH_PATH, "Search", show_search, group=Group.ANALYSE, shows_pictures=True),
    Page(
        IMPROVE_PATH,
        "Improve a search",
        show_improvement,
        save_improvement,
        shows_pictures=True,
    ),
    Page(
        f"{IMPROVE_PATH}/effect",
        "Improve a search",
        change=show_effect,
        is_audited=False,
        shows_pictures=True,
    ),
    Page(
        REMOVE_PATH,
        "Remove a search rule",
        change=remove_rule,
        action="Removed a synonym or search rule",
        removes=(
            Removal("synonyms", "search_seq", {"synonym_id": "synonym"}),
            Removal("search_rules", "search_seq", {"rule_id": "search_rule"}),
        ),
    ),
)
