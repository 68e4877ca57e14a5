"""Search pages: what shoppers search for, a preview with reasons, and how to improve it."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

from productrecs.entrypoints.http.dashboard.page import (
    Form,
    Group,
    NotFoundError,
    Page,
    Reply,
    Visit,
)
from productrecs.entrypoints.http.dashboard.period import chosen_period, figures_of, rows_of
from productrecs.entrypoints.http.dashboard.product_rows import product_rows
from productrecs.entrypoints.http.dashboard.search_preview import SearchPreviews
from productrecs.features.search.product_search import truncate_query
from productrecs.features.search.rule_book import SearchRuleEditor
from productrecs.features.search.search_report import every_search_report
from productrecs.features.search.search_rules import (
    SearchRule,
    SearchRuleAction,
    SearchRuleError,
    Synonym,
    UnknownSearchRuleError,
    checked_rule,
    checked_synonym,
)

SEARCH_PATH: Final = "/dashboard/search"
IMPROVE_PATH: Final = f"{SEARCH_PATH}/improve"
REMOVE_PATH: Final = f"{SEARCH_PATH}/remove"
_ROWS: Final = 15
_TABLES: Final = (
    ("search-no-results", "Searches without results", "Every search found something."),
    ("search-no-clicks", "Searches without clicks", "Every search led to a click."),
    ("search", "Most frequent searches", "Nobody has searched in these days."),
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
            return checked_synonym([self.query, *texts], one_way=False)
        if self.action == "pin":
            rule = SearchRule(SearchRuleAction.PIN, self.query, items=self.pins)
        else:
            action, address = SearchRuleAction.REDIRECT, self.address
            rule = SearchRule(action, self.query, address=address)
        return checked_rule(rule)


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
            (name, title, nothing, reports[name], rows_of(reports[name]))
            for name, title, nothing in _TABLES
        ],
        figures=figures,
        synonyms=list(previews.synonyms.items()),
        rules=list(previews.rules.items()),
        is_empty=not figures["searches"] and not figures["clicks"],
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
    catalog = visit.opened.shop.catalog
    for item_id in wanted.pins if wanted.action == "pin" else ():
        if catalog.number(item_id) is None:
            message = "one of these products is no longer in the catalog; choose again"
            raise SearchRuleError(message)


def _improvement(visit: Visit, wanted: Improvement, error: str = "") -> Reply:
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
    Page(SEARCH_PATH, "Search", show_search, group=Group.ANALYSE),
    Page(IMPROVE_PATH, "Improve a search", show_improvement, save_improvement),
    Page(REMOVE_PATH, "Remove a search rule", change=remove_rule),
)
