"""Search relevance pages: the query set, judgements by hand, and the measures over time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from productrecs.dashboard.charts import Chart, days_between, share_line_chart
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.mail_subscription_choices import (
    turn_user_mails_on_or_off,
    user_gets_mails,
)
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    Visit,
    form_pages,
)
from productrecs.dashboard.pages.settings.audit_log import AUDIT_PATH
from productrecs.dashboard.product_table import ProductRow, known_product_rows
from productrecs.dashboard.report_period import chosen_period
from productrecs.features.search.product_search import SearchRequest, find_products
from productrecs.features.search.relevance.click_judgements import (
    MIN_SHOPPERS_OF_PRODUCT,
    MIN_SHOPPERS_OF_QUERY,
)
from productrecs.features.search.relevance.query_set import (
    LOG_DAYS,
    MAX_TAIL,
    MAX_TOP,
    MIN_SEARCHERS,
    RefusedQuerySetChangeError,
    add_query_by_hand,
    find_query,
    refresh_query_set,
    remove_query,
    store_or_delete_hand_judgement,
)
from productrecs.features.search.relevance.relevance_measure import (
    MIN_JUDGED,
    RelevanceGrade,
    is_enough_judged,
    measure_relevance,
)
from productrecs.features.search.relevance.relevance_monitoring import (
    loss_text,
    newest_unresolved_alarm,
    read_measures,
)
from productrecs.features.search.relevance.repository import (
    HAND,
    REMOVED,
    ConfigurationChange,
    RelevanceRepository,
    StoredJudgement,
    StoredMeasure,
    to_judged_queries,
)
from productrecs.serving.cached_store import searchable_store
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.tenancy.users.mail_subscriptions.repository import (
    MailTopic,
)

RELEVANCE_PATH: Final = "/dashboard/search/relevance"
QUERY_PATH: Final = f"{RELEVANCE_PATH}/query"
_SHOWN: Final = 20
_ROWS: Final = 25  # queries that weigh most; others by hand too, or on request
_JOB: Final = "measure-search"
_GRADES: Final = MappingProxyType(
    {"good": RelevanceGrade.GOOD, "fair": RelevanceGrade.FAIR, "bad": RelevanceGrade.BAD}
)
_CHANGE_PATHS: Final = MappingProxyType(
    {
        "search": "/dashboard/search#rules",
        "rules": "/dashboard/merchandising",
        "settings": "/dashboard/merchandising/settings",
        "catalog": "/dashboard/products",
    }
)
_NAMES: Final = MappingProxyType({grade: name for name, grade in _GRADES.items()})
_ORIGINS: Final = MappingProxyType(
    {"top": "Frequent", "tail": "Sample", "hand": "Added by hand"}
)


@dataclass(frozen=True, slots=True)
class JudgedProduct:
    """A product beside its judgements for a query."""

    row: ProductRow
    place: int | None  # among the results, from 1; None: not found
    by_hand: str  # good, fair, bad or ""
    by_clicks: str
    shoppers: int  # who clicked


def show_relevance(visit: Visit) -> Reply:
    """Show the measures of the chosen days, and the query set."""
    return _relevance_page(visit, typed=visit.query["q"])


def measure_or_change_query_set(visit: Visit) -> Reply:
    """Measure now, refresh the set, add a query or remove one."""
    action, store, now_ms = visit.form["then"], visit.store, visit.now_ms
    if action == "measure":
        visit.enqueue_job(_JOB)
        message = "Search is measured now. Load this page again in a minute."
        return visit.redirect(RELEVANCE_PATH, message)
    if action == "refresh":
        queries = refresh_query_set(visit.database, store, now_ms)
        message = (
            f"Taken from the search log: {visit.formats.number(len(queries))} queries."
        )
        return visit.redirect(f"{RELEVANCE_PATH}#queries", message)
    if action == "remove":
        if not remove_query(visit.database, store, visit.form["q"], now_ms):
            message = "This query was removed already."
            raise PageOrRecordNotFoundError(message)
        return visit.redirect(f"{RELEVANCE_PATH}#queries", "Removed from the set.")
    if action != "add":
        raise PageOrRecordNotFoundError
    try:
        added = add_query_by_hand(visit.database, store, visit.form["q"], now_ms)
    except RefusedQuerySetChangeError as error:
        return _relevance_page(
            visit, typed=visit.form["q"], error=sentence(error), status=422
        )
    return visit.redirect(_query_address(added.text), "Added. Judge its results here.")


def _query_address(text: str) -> str:
    return f"{QUERY_PATH}?{urlencode({'q': text})}"


def _relevance_page(
    visit: Visit, *, typed: str = "", error: str = "", status: int = 200
) -> Reply:
    period = chosen_period(visit)
    with visit.database.reading() as connection:
        repository = RelevanceRepository(connection, visit.store.store_id)
        queries = [row for row in repository.queries() if row.origin != REMOVED]
        counts = Counter(
            intent
            for intent, _ in {(row.intent, row.item) for row in repository.judgements()}
        )
    measures = [
        row for row in read_measures(visit.database, visit.store.store_id) if row.queries
    ]
    newest = measures[-1] if measures else None
    alarm = newest_unresolved_alarm(measures, visit.now_ms)
    days = days_between(period.asked.first_day, period.asked.last_day)
    return visit.render(
        "relevance.html",
        status=status,
        period=period,
        newest=newest,
        is_enough_judged=newest is not None and _is_enough_judged(newest),
        alarm=None if alarm is None else loss_text(alarm),
        changes=[] if alarm is None else list(map(_change_text_and_address, alarm.changes)),
        chart=_relevance_chart(visit, measures, days),
        queries=queries,
        shown=[
            row
            for place, row in enumerate(queries)
            if place < _ROWS or row.origin == HAND or visit.query["all"]
        ],
        weight=sum(row.weight for row in queries) or 1.0,
        counts=counts,
        origins=_ORIGINS,
        address=_query_address,
        typed=typed,
        error=error,
        has_mails=user_gets_mails(visit, MailTopic.SEARCH_RELEVANCE),
        can_mail=visit.services.settings.smtp is not None and bool(visit.user.email),
        limits={
            "days": LOG_DAYS,
            "top": MAX_TOP,
            "tail": MAX_TAIL,
            "searchers": MIN_SEARCHERS,
            "query_shoppers": MIN_SHOPPERS_OF_QUERY,
            "product_shoppers": MIN_SHOPPERS_OF_PRODUCT,
            "judged": MIN_JUDGED,
        },
    )


def _is_enough_judged(measure: StoredMeasure) -> bool:
    return is_enough_judged(measure.judged_queries, measure.queries)


def _change_text_and_address(change: ConfigurationChange) -> tuple[str, str]:
    """Return a change's text, and the address of its audit line or its page."""
    if change.entry_id:  # the first line of the lines before a later id
        later = urlencode({"before": f"{change.entry_id}0"})
        return change.text, f"{AUDIT_PATH}?{later}"
    return change.text, _CHANGE_PATHS.get(change.kind, "")


def _relevance_chart(
    visit: Visit, measures: Sequence[StoredMeasure], days: Sequence[str]
) -> Chart | None:
    """Return the last measure of each day; None without any."""
    zone = visit.store.settings.zone
    by_day = {
        datetime.fromtimestamp(measure.measured_at / 1000, UTC)
        .astimezone(zone)
        .date()
        .isoformat(): measure
        for measure in measures
    }
    measures_by_day = [by_day.get(day) for day in days]
    if not any(measures_by_day):
        return None
    values = {
        "Relevance": [
            None if measure is None or not _is_enough_judged(measure) else measure.ndcg
            for measure in measures_by_day
        ],
        "Without results": [
            None if measure is None else measure.no_results for measure in measures_by_day
        ],
        "Click-through": [
            None if measure is None else measure.click_through
            for measure in measures_by_day
        ],
    }
    return share_line_chart(days, values, visit.formats)


def show_query(visit: Visit) -> Reply:
    """Show the results of one query of the set, to judge them."""
    return _judged_query_page(visit, "relevance_query.html", visit.query["q"])


def save_or_delete_judgement(visit: Visit) -> Reply:
    """Store or delete a judgement by hand."""
    text, grade = visit.form["q"], visit.form["grade"]
    number = visit.cached_store.state.catalog.number(visit.form["item"])
    if number is None or (grade and grade not in _GRADES):
        raise PageOrRecordNotFoundError
    try:
        store_or_delete_hand_judgement(
            visit.database, visit.store, text, number, _GRADES.get(grade), visit.now_ms
        )
    except RefusedQuerySetChangeError as error:
        raise PageOrRecordNotFoundError(sentence(error)) from error
    if visit.is_partial:
        return _judged_query_page(visit, "relevance_judge.html", text)
    return visit.redirect(f"{_query_address(text)}#p-{number}", "Judged.")


def _judged_query_page(visit: Visit, template: str, query_text: str) -> Reply:
    with visit.database.reading() as connection:
        repository = RelevanceRepository(connection, visit.store.store_id)
        query = find_query(visit.store, repository.queries(), query_text)
        judgements = [] if query is None else repository.judgements(query.intent)
    if query is None:
        message = "This query is not in the set. Add it on the page Search relevance."
        raise PageOrRecordNotFoundError(message)
    searchable = searchable_store(visit.cached_store)
    measure = measure_relevance(
        searchable, to_judged_queries([query], judgements), visit.now_ms
    )
    results = find_products(
        searchable, SearchRequest(f"{query.text} ", _SHOWN, collapse=True), visit.now_ms
    )
    numbers = [hit.item for hit in results.hits]
    products = _results_and_judged_products(visit, numbers, judgements)
    return visit.render(
        template,
        query=query,
        ndcg=measure.ndcg,
        address=results.address,
        found=[product for product in products if product.place is not None],
        missing=[product for product in products if product.place is None],
        grades=list(_GRADES),
        action=QUERY_PATH,
    )


def _results_and_judged_products(
    visit: Visit, numbers: Sequence[int], judgements: Sequence[StoredJudgement]
) -> list[JudgedProduct]:
    """Return the results, then other judged products."""
    catalog = visit.cached_store.state.catalog
    by_hand = {judgement.item: judgement for judgement in judgements if judgement.by_hand}
    by_clicks = {
        judgement.item: judgement for judgement in judgements if not judgement.by_hand
    }
    items = dict.fromkeys([*numbers, *by_hand, *by_clicks])
    ids = [catalog.ids[item] or "" for item in items if item < len(catalog)]
    positions = {item: position for position, item in enumerate(numbers, start=1)}
    return [
        JudgedProduct(
            row,
            positions.get(row.number),
            _grade_name(by_hand, row.number),
            _grade_name(by_clicks, row.number),
            by_clicks[row.number].shoppers if row.number in by_clicks else 0,
        )
        for row in known_product_rows(visit, ids)
    ]


def _grade_name(judgements: dict[int, StoredJudgement], number: int) -> str:
    return _NAMES[judgements[number].grade] if number in judgements else ""


def turn_relevance_mails_on_or_off(visit: Visit) -> Reply:
    """Turn the user's e-mails about search relevance on or off."""
    message = "E-mails about search relevance are off."
    if turn_user_mails_on_or_off(visit, MailTopic.SEARCH_RELEVANCE):
        message = f"When search gets worse, {visit.user.email} gets an e-mail."
    return visit.redirect(f"{RELEVANCE_PATH}#mails", message)


PAGES: Final = (
    Page(
        RELEVANCE_PATH,
        "Search relevance",
        show_relevance,
        measure_or_change_query_set,
        group=NavigationGroup.ANALYSE,
        actions={
            "measure": "Measured search relevance",
            "refresh": "Refreshed the queries of search relevance",
            "add": "Added a query to search relevance",
            "remove": "Removed a query from search relevance",
        },
    ),
    Page(
        QUERY_PATH,
        "Judge a search",
        show_query,
        save_or_delete_judgement,
        action="Judged a search result",
        shows_pictures=True,
    ),
    *form_pages(
        RELEVANCE_PATH,
        "E-mails",
        ("mails", turn_relevance_mails_on_or_off, "Changed e-mails about search relevance"),
        may_change=Role.VIEWER,
    ),
)
