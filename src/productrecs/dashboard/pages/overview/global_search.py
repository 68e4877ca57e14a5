"""Global search: finds pages, products, rules and customers, from every page's top."""

from typing import Final

from productrecs.dashboard.page import Page, Reply, Visit
from productrecs.dashboard.pages.catalog.merchandising import (
    editor_of,
    titles_of_rule_products,
)
from productrecs.dashboard.product_table import matching_products
from productrecs.features.privacy.shopper_export import exported_shopper, shopper_names
from productrecs.features.search.product_search import truncate_query
from productrecs.records.merchandising.rule import describe_rule

FIND_PATH: Final = "/dashboard/find"
_MOST: Final = 6  # of a kind
_MOST_RULES: Final = 3


def find_anything(visit: Visit) -> Reply:
    """Show what matches the typed text; htmx requests only the results."""
    text = truncate_query(visit.query["q"])
    folded = text.casefold()
    rules = (
        [one for one in _matching_rules(visit) if folded in one[1].casefold()]
        if text
        else []
    )
    return visit.render(
        "find_results.html" if visit.is_partial else "find.html",
        q=text,
        products=matching_products(visit, text, _MOST) if text else [],
        rules=rules[:_MOST_RULES],
        customer=text if text and _is_customer(visit, text) else "",
    )


def _matching_rules(visit: Visit) -> list[tuple[int, str]]:
    """Return each rule's id and title."""
    stored = editor_of(visit).all()
    titles = titles_of_rule_products(visit, stored)
    return [
        (one.rule_id, one.content.name or describe_rule(one.content, titles))
        for one in stored
    ]


def _is_customer(visit: Visit, name: str) -> bool:
    """Return whether a shopper has exactly this id."""
    database, store_id = visit.database, visit.store.store_id
    records = exported_shopper(database, store_id, shopper_names(database, store_id, name))
    return next(iter(records), None) is not None


PAGES: Final = (Page(FIND_PATH, "Find", find_anything),)
