"""Reading tools: reports, searches, stock, explained lists, and what the merchant set."""

from dataclasses import asdict, replace
from typing import Annotated, Final, Literal

from msgspec import Meta

from productrecs.core.report import ReportQuery, parse_report_query
from productrecs.dashboard.assistant_tools.tool import (
    ReadingTool,
    Result,
    ToolArguments,
    ToolError,
)
from productrecs.dashboard.list_explanations import (
    TRENDING,
    ExplainedList,
    explain_source_list,
)
from productrecs.dashboard.page import SubmittedFields, Visit
from productrecs.dashboard.pages.analyse.demand_forecast import stock_status_and_colour
from productrecs.dashboard.pages.analyse.search_report_and_improvements import (
    SearchPreviewer,
)
from productrecs.dashboard.pages.catalog.merchandising import RuleRow, show_rules
from productrecs.dashboard.pages.catalog.placements import (
    PlacementPreview,
    placement_editor_of,
    show_placement_form,
)
from productrecs.dashboard.product_table import find_product_ids_and_titles
from productrecs.dashboard.report_values import (
    column_meanings,
    figures_by_name,
    rows_by_column,
)
from productrecs.features.forecast.forecast_replies import today_of
from productrecs.features.search.insights.search_insights import search_reports_by_name
from productrecs.report_registry import REPORT_TYPES, make_report, report_to_dict

_PERSONAL: Final = "customer-list"  # names customers; an assistant gets no shopper's data
REPORTS: Final = tuple(name for name in REPORT_TYPES if name != _PERSONAL)
_REPORT_TEXT: Final = "; ".join(f"{name}: {REPORT_TYPES[name].summary}" for name in REPORTS)
_MOST_FOUND: Final = 20

Day = Annotated[str | None, Meta(description="A day of the store such as 2026-03-01.")]
Rows = Annotated[int, Meta(description="At most so many rows.", ge=1, le=1000)]


class _ReportArguments(ToolArguments):
    report: Annotated[str, Meta(description=_REPORT_TEXT)]
    first_day: Day = None
    last_day: Day = None
    by: Annotated[str, Meta(description="Columns to group by, such as day.")] = ""
    rows: Rows = 100


class _PeriodArguments(ToolArguments):
    first_day: Day = None
    last_day: Day = None
    rows: Rows = 50


class _RowLimitArguments(ToolArguments):
    rows: Rows = 50


class _ExplainedListArguments(ToolArguments):
    source: Annotated[
        Literal["mix", "buy", "browse", "similar", "trending"],
        Meta(description="The kind of list; not used with a placement."),
    ] = "mix"
    placement: Annotated[str, Meta(description="The name of a placement.")] = ""
    product: Annotated[
        str, Meta(description="The id of the product on whose page the list is.")
    ] = ""


class _FindProductsArguments(ToolArguments):
    words: Annotated[str, Meta(description="Words of a title, or an id.", max_length=256)]


def read_report(visit: Visit, arguments: _ReportArguments) -> Result:
    """Return a report as its page and its file show it."""
    if arguments.report not in REPORTS:
        message = f"there is no report {arguments.report!r}; there are {', '.join(REPORTS)}"
        raise ToolError(message)
    query = _report_query(visit, arguments, by=arguments.by)
    return report_to_dict(make_report(visit.services, visit.store, arguments.report, query))


def list_searches_without_results(visit: Visit, arguments: _PeriodArguments) -> Result:
    """Return the queries that found nothing, the most frequent first."""
    query = _report_query(visit, arguments)
    reports = search_reports_by_name(visit.database, visit.store, query)
    return report_to_dict(reports["search-no-results"])


def list_foreseen_stockouts(visit: Visit, arguments: _RowLimitArguments) -> Result:
    """Return the products that sell out, the first to sell out first."""
    zone = visit.store.settings.zone
    query = parse_report_query(visit.now_ms, zone, by="stockout_date", limit=arguments.rows)
    report = make_report(visit.services, visit.store, "demand", query)
    today = today_of(visit.now_ms, zone)
    return {
        "title": report.title,
        "figures": figures_by_name(report),
        "columns": column_meanings(report),
        "products": [
            row | {"status": stock_status_and_colour(row, today)[0]}
            for row in rows_by_column(report)
            if row["stockout_date"] is not None
        ],
        "notes": list(report.notes),
    }


def list_products_to_order(visit: Visit, arguments: _RowLimitArguments) -> Result:
    """Return the order sheets of today, as their page and its files show them."""
    zone = visit.store.settings.zone
    query = parse_report_query(visit.now_ms, zone, limit=arguments.rows)
    return report_to_dict(make_report(visit.services, visit.store, "order-sheet", query))


def explain_list(visit: Visit, arguments: _ExplainedListArguments) -> Result:
    """Return a list with the reasons for each product, and what it leaves out."""
    product, source = arguments.product, arguments.source
    if arguments.placement:
        form = SubmittedFields([("placement", arguments.placement), ("on", product)])
        reply = show_placement_form(replace(visit, query=form))
        preview = reply.values["preview"]
        if not isinstance(preview, PlacementPreview) or preview.found is None:
            raise ToolError(getattr(preview, "problem", "") or "this list has no preview")
        return {
            "list": preview.title or arguments.placement,
            "hidden_below": preview.hidden_below,
            **explained_list_fields(preview.found),
        }
    state = visit.cached_store.state
    if source != TRENDING and state.catalog.number(product) is None:
        message = "name a product of the catalog; find_products finds its id"
        raise ToolError(message)
    found = explain_source_list(visit, state, source, product or None)
    return {"list": source, **explained_list_fields(found)}


def explained_list_fields(explained: ExplainedList) -> Result:
    """Return an explained list as JSON."""
    return {
        "products": [
            {
                "product": product.item_id,
                "title": product.title,
                "price": product.price,
                "engine": product.engine,
                "reasons": list(product.reasons),
                **({"change": product.change} if product.change else {}),
            }
            for product in explained.products
        ],
        "left_out": [
            {
                "product": candidate.item_id,
                "title": candidate.title,
                "reason": candidate.why,
            }
            for candidate in explained.left_out
        ],
    }


def find_products(visit: Visit, arguments: _FindProductsArguments) -> Result:
    """Return ids and titles of the products that match."""
    found = find_product_ids_and_titles(visit, arguments.words, _MOST_FOUND)
    return {"products": [{"product": item_id, "title": title} for item_id, title in found]}


def list_rules(visit: Visit, _: ToolArguments) -> Result:
    """Return every rule, in the order in which they apply."""
    rows = show_rules(visit).values["rows"]
    return {"rules": [rule_row_fields(row) for row in rows]}  # type: ignore[attr-defined]  # a list


def rule_row_fields(row: RuleRow) -> Result:
    """Return a rule as the page shows it."""
    return {
        "rule": row.rule.rule_id,
        "title": row.title,
        "action": row.action,
        "products": row.description,
        "lists": row.places,
        "schedule": row.schedule,
        "state": row.state,
        "priority": row.rule.content.priority,
        "products_selected": row.selected,
    }


def list_search_rules(visit: Visit, _: ToolArguments) -> Result:
    """Return the synonyms and the rules of single queries."""
    previews = SearchPreviewer(visit)
    return {
        "synonyms": [
            {"synonym": number, "texts": list(synonym.texts), "one_way": synonym.one_way}
            for number, synonym in previews.synonyms.items()
        ],
        "search_rules": [
            {
                "search_rule": number,
                "action": rule.action.value,
                "query": rule.query,
                "products": list(rule.items),
                "address": rule.address,
                "starts": rule.starts,
                "ends": rule.ends,
            }
            for number, rule in previews.rules.items()
        ],
    }


def list_placements(visit: Visit, _: ToolArguments) -> Result:
    """Return every placement with its settings."""
    return {
        "placements": [
            {"placement": placement.name, **asdict(placement.content)}
            for placement in placement_editor_of(visit).all()
        ]
    }


def _report_query(
    visit: Visit, arguments: _ReportArguments | _PeriodArguments, by: str = ""
) -> ReportQuery:
    return parse_report_query(
        visit.now_ms,
        visit.store.settings.zone,
        first_day=arguments.first_day,
        last_day=arguments.last_day,
        by=by,
        limit=arguments.rows,
    )


READING_TOOLS: Final = (
    ReadingTool(
        "read_report",
        "Read a report",
        "Sales after recommendations, searches, widgets, tests, customers by segment, "
        "earnings, demand: one report with the meaning of each number. The default is the "
        "last 30 days.",
        _ReportArguments,
        read_report,
    ),
    ReadingTool(
        "list_searches_without_results",
        "Searches without results",
        "What shoppers searched for and did not find, the most frequent first. A synonym "
        "(add_synonym) or a pin (pin_search) helps.",
        _PeriodArguments,
        list_searches_without_results,
    ),
    ReadingTool(
        "list_foreseen_stockouts",
        "Foreseen stockouts",
        "Products that will sell out, by day, from the demand forecast.",
        _RowLimitArguments,
        list_foreseen_stockouts,
    ),
    ReadingTool(
        "list_products_to_order",
        "What to order",
        "What to order today from each supplier: units, packs and cost, within the "
        "budget, the most urgent product first.",
        _RowLimitArguments,
        list_products_to_order,
    ),
    ReadingTool(
        "explain_list",
        "Explain a list",
        "Why a list of recommendations shows each product, and what it leaves out: of a "
        "placement, or of a source on a product's page.",
        _ExplainedListArguments,
        explain_list,
    ),
    ReadingTool(
        "find_products",
        "Find products",
        "Ids of products by words of their titles.",
        _FindProductsArguments,
        find_products,
    ),
    ReadingTool(
        "list_rules",
        "List the rules",
        "Merchandising rules: what is excluded, boosted, buried or pinned, and where.",
        ToolArguments,
        list_rules,
    ),
    ReadingTool(
        "list_search_rules",
        "List synonyms and search rules",
        "Synonyms of search, and pins and redirects of single queries.",
        ToolArguments,
        list_search_rules,
    ),
    ReadingTool(
        "list_placements",
        "List the placements",
        "The named places of lists, with their settings.",
        ToolArguments,
        list_placements,
    ),
)
