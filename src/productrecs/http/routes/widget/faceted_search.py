"""Faceted search: filters, facets, sorting, paging and highlights of GET /v1/search."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

from fastapi import Query
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from productrecs.engines.text.highlight import Highlighter
from productrecs.engines.text.query_suggestions import Suggestion, spell_as_title
from productrecs.features.search.product_search import (
    SearchableStore,
    SearchRequest,
    SearchResults,
)
from productrecs.features.search.query_filters import (
    ALL_FIELDS,
    FilterField,
    QueryWordFilter,
)
from productrecs.features.search.refinement_question import RefinementQuestion
from productrecs.features.search.results_page import (
    MAX_OFFSET,
    Counts,
    Facet,
    InStockFacet,
    PriceFacet,
    ResultsPage,
    ResultsPageRequest,
    SortOrder,
)
from productrecs.features.widgets.widget_settings import widget_texts
from productrecs.http.openapi_responses import NULLABLE_TEXT
from productrecs.http.pipeline.fast_query_reader import BLANK_IS_FALSE
from productrecs.http.routes.widget.list_parameters import (
    parse_filter_parameters,
)
from productrecs.records.catalog.attribute_index import ValueCount
from productrecs.records.catalog.item_filters import attribute_kind
from productrecs.serving.card_replies import search_page_body
from productrecs.serving.product_cards import product_url_of, title_of

_ALL, _NONE = "all", "none"
_FIELD: Final = "|".join(FilterField)
_QUERY_FILTERS: Final = rf"^({_ALL}|{_NONE}|({_FIELD})(,({_FIELD}))*)?$"

MAX_SUGGESTIONS: Final = 10
_FACET: Final = "|".join(Facet)
_FACETS: Final = rf"^(({_FACET})(,({_FACET}))*)?$"
_LONGEST_FACETS: Final = 100
_LONGEST_ATTRIBUTE: Final = 200  # of a question, such as `attributes.Fit`


def _none_if_blank(value: object) -> object:
    return None if value == "" else value


def _check_facets(value: str) -> str:
    if re.fullmatch(_FACETS, value) is None or len(value) > _LONGEST_FACETS:
        message = f"facets are {', '.join(Facet)}, separated by commas"
        raise PydanticCustomError("facets", message)
    return value


FacetsQuery = Annotated[
    str,
    AfterValidator(_check_facets),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": _FACETS,
            "maxLength": _LONGEST_FACETS,
            "examples": ["categories,price"],
        }
    ),
    Query(
        description=(
            "The facets to count, comma-separated: `categories`, `price`, `in_stock`, "
            "`on_sale`, `brand`, `color`, `size`, `material`, and `attributes` for all "
            "further attributes, those that the most results have first."
        ),
    ),
]
QueryFiltersQuery = Annotated[
    str,
    Query(
        pattern=_QUERY_FILTERS,
        max_length=_LONGEST_FACETS,
        description=(
            "What words of the query may filter by: `all`, `none`, or some of `price`, "
            "`on_sale`, `size`, `brand`, `color` and `material`, comma-separated. Others "
            "stay words."
        ),
        examples=["price,size"],
    ),
]
SortQuery = Annotated[
    SortOrder | None,
    BeforeValidator(_none_if_blank),
    Query(description="The order of the results.", examples=["price_asc"]),
]
OffsetQuery = Annotated[
    Annotated[int, Field(ge=0, le=MAX_OFFSET)] | None,
    BeforeValidator(_none_if_blank),
    Query(
        description="How many results to skip: those of the pages before.",
        examples=[12],
    ),
]
HighlightQuery = Annotated[
    bool,
    BLANK_IS_FALSE,
    Query(
        description=(
            "Whether each result marks the parts of its texts that match the query."
        ),
        examples=[True],
    ),
]
CollapseQuery = Annotated[
    bool | None,
    BeforeValidator(_none_if_blank),
    Query(
        description=(
            "Whether products that differ only in size and colour are one result, with "
            "their number as `variants`. Default: `false`, unless the setting "
            "`search_collapse` is `always`."
        ),
        examples=[True],
    ),
]
RefineQuery = Annotated[
    bool,
    BLANK_IS_FALSE,
    Query(
        description="Whether to return the question that narrows the results most.",
        examples=[True],
    ),
]
AnsweredQuery = Annotated[
    str,
    Query(
        max_length=_LONGEST_ATTRIBUTE,
        description=(
            "The `attribute` of the question that this search answers with its filter, "
            "so that the answer counts."
        ),
        examples=["color"],
    ),
]
SuggestQuery = Annotated[
    int,
    Query(
        ge=0,
        le=MAX_SUGGESTIONS,
        description="How many queries to suggest; each has results.",
        examples=[5],
    ),
]


def parse_query_filter_fields(text: str) -> frozenset[FilterField]:
    """Return what words of a query may filter by; `text` has a valid form."""
    if text in {"", _ALL}:
        return ALL_FIELDS
    return frozenset() if text == _NONE else frozenset(map(FilterField, text.split(",")))


def redirect_of(
    searchable: SearchableStore, results: SearchResults | ResultsPage
) -> str | None:
    """Return the address that a reply leads to: that of a rule, or of a code's product."""
    if results.address is not None or not results.is_code or len(results.hits) != 1:
        return results.address
    card = searchable.catalog.cards[results.hits[0].item]
    return None if card is None else product_url_of(card)


def filters_and_redirect_fields(
    searchable: SearchableStore, results: SearchResults | ResultsPage
) -> dict[str, object]:
    """Return the filters that words named and the redirect, where there are any."""
    fields: dict[str, object] = {}
    if results.filters:
        fields["filters"] = [
            _query_filter_fields(word_filter) for word_filter in results.filters
        ]
    address = redirect_of(searchable, results)
    return fields if address is None else fields | {"redirect": address}


def _query_filter_fields(word_filter: QueryWordFilter) -> dict[str, object]:
    limits = {"value": word_filter.value, "min": word_filter.low, "max": word_filter.high}
    given = {name: value for name, value in limits.items() if value is not None}
    return {"field": word_filter.field.value, **given, "text": word_filter.text}


def build_page_request(
    search: SearchRequest,
    *,
    filters: list[str],
    facets: str,
    sort: SortOrder | None,
    offset: int | None,
    highlight: bool,
    suggest: int,
    refine: bool,
) -> ResultsPageRequest | None:
    """Return the requested page options; None for a plain search.

    Raises:
        InvalidInputError: when a filter is invalid and its pattern cannot express it.
    """
    counts = bool(filters or facets) or sort is not None or offset is not None
    if not counts and not highlight and not suggest and not refine:
        return None
    return ResultsPageRequest(
        request=search,
        filters=parse_filter_parameters(filters),
        facets=tuple(dict.fromkeys(Facet(name) for name in facets.split(",") if name)),
        sort=sort or SortOrder.RELEVANCE,
        offset=offset or 0,
        suggest=suggest,
        highlight=highlight,
        counts=counts,
        refine=refine,
    )


def encode_results_page(
    searchable: SearchableStore,
    listing: ResultsPageRequest,
    page: ResultsPage,
    highlights: Mapping[int, Mapping[str, str | None]] | None,
) -> bytes:
    """Return the body of a reply; `highlights` are what `highlight_products` returns."""
    source = "search" if listing.request.query.strip() else "trending"
    cards = searchable.catalog.cards
    results = [
        (card, hit, source, None if highlights is None else highlights.get(hit.item))
        for hit in page.hits
        if (card := cards[hit.item]) is not None
    ]
    extra_fields = filters_and_redirect_fields(searchable, page)
    if page.total is not None:
        extra_fields["total"] = page.total
    if page.facets:
        extra_fields["facets"] = {
            facet.value: _facet_fields(page.facets[facet]) for facet in page.facets
        }
    if page.refinement is not None:
        language = searchable.language_setting
        extra_fields["refine"] = _refinement_fields(page.refinement, language)
    if listing.suggest:
        typed = listing.request.query
        texts = [
            _suggestion_text(searchable, suggestion, typed) for suggestion in page.next
        ]
        extra_fields["suggestions"] = list(dict.fromkeys(text for text in texts if text))
        extra_fields["did_you_mean"] = (
            _suggestion_text(searchable, page.meant, typed) if page.meant else None
        )
    return search_page_body(results, extra_fields)


_ASKED: Final = re.compile(rb'"refine":\{"attribute":("(?:[^"\\]|\\.)*")')


def filter_kind_asked_for(reply_body: bytes) -> str:
    """Return the kind of filter that the question of a reply asks for; "" without one."""
    found = _ASKED.search(
        reply_body
    )  # no text of a product matches: it has its quotes escaped
    if found is None:
        return ""
    return filter_kind(str(json.loads(found[1])))


def filter_kind(attribute: str) -> str:
    """Return the kind of filter of a question's attribute, such as `attributes.Fit`."""
    kind, _, name = attribute.partition(".")
    return attribute_kind(name) if name else kind


def _refinement_fields(refinement: RefinementQuestion, language: str) -> dict[str, object]:
    texts = widget_texts("search", language)
    text = texts.get(f"question_{refinement.attribute}", texts["question_other"])
    return {
        "attribute": refinement.attribute,
        "question": text.replace("{q}", refinement.name),
        "options": [
            {
                "value": answer.value,
                "count": answer.count,
                "filter": refinement.filter_of(answer),
            }
            for answer in refinement.answers
        ],
    }


def highlight_products(
    searchable: SearchableStore,
    page: ResultsPage,
    marker: Highlighter,
    descriptions: Mapping[int, str],
) -> dict[int, Mapping[str, str | None]]:
    """Return which parts of a page's products answer its query, by item number."""
    cards = searchable.catalog.cards
    highlights: dict[int, Mapping[str, str | None]] = {}
    for hit in page.hits:
        card = cards[hit.item]
        if card is not None:
            highlights[hit.item] = {
                "title": marker.highlight(title_of(card)),
                "description": marker.highlighted_fragment(descriptions.get(hit.item, "")),
            }
    return highlights


def _suggestion_text(
    searchable: SearchableStore, suggestion: Suggestion, typed: str
) -> str | None:
    card = searchable.catalog.cards[suggestion.item]
    return None if card is None else spell_as_title(suggestion.words, title_of(card), typed)


def _facet_fields(counts: Counts) -> object:
    if isinstance(counts, InStockFacet):
        return {"true": counts.yes, "false": counts.no}
    if isinstance(counts, PriceFacet):
        return {
            "min": counts.low,
            "max": counts.high,
            "ranges": [
                {
                    "from": price_range.low,
                    "to": price_range.high,
                    "count": price_range.count,
                    "filter": (
                        f"price:{_number_text(price_range.low)}.."
                        f"{_upper_bound_text(price_range.high)}"
                    ),
                }
                for price_range in counts.ranges
            ],
        }
    if isinstance(counts, dict):
        return [{"name": name, "values": _value_fields(counts[name])} for name in counts]
    return _value_fields(counts)


def _value_fields(counts: Iterable[ValueCount]) -> list[dict[str, object]]:
    return [
        {"value": value_count.value, "count": value_count.count} for value_count in counts
    ]


def _number_text(price: float | None) -> str:
    return "" if price is None else f"{price:f}".rstrip("0").rstrip(".")


def _upper_bound_text(price: float | None) -> str:
    return "" if price is None else f"<{_number_text(price)}"


_COUNT: Final = {"type": "integer", "minimum": 0}
_VALUES: Final = {
    "type": "array",
    "description": "Sorted by the number of results, at most a hundred.",
    "items": {
        "type": "object",
        "title": "FacetValue",
        "required": ["value", "count"],
        "properties": {"value": {"type": "string"}, "count": _COUNT},
    },
}
_YES_AND_NO: Final = {
    "type": "object",
    "title": "YesNoFacet",
    "required": ["true", "false"],
    "properties": {"true": _COUNT, "false": _COUNT},
}
_AMOUNT: Final = {"type": ["number", "null"]}
EXTRA_PROPERTIES: Final[Mapping[str, Any]] = {
    "filters": {
        "type": "array",
        "description": (
            "The filters that words of the query named, if any: a `value`, or a price "
            "`min` or `max`. `text` is those words."
        ),
        "items": {
            "type": "object",
            "title": "QueryFilter",
            "required": ["field", "text"],
            "properties": {
                "field": {"type": "string", "enum": [field.value for field in FilterField]},
                "value": {"type": "string"},
                "min": {"type": "number"},
                "max": {"type": "number"},
                "text": {"type": "string"},
            },
        },
    },
    "redirect": {
        "type": "string",
        "description": (
            "Where Enter leads: the merchant's redirect for this query, or the page of the "
            "only product with the code that the query is. Otherwise absent."
        ),
    },
    "total": {
        **_COUNT,
        "description": (
            "The number of results, up to 20,000; with any of `filter`, "
            "`facets`, `sort` and `offset`."
        ),
    },
    "facets": {
        "type": "object",
        "title": "Facets",
        "description": (
            "With `facets`: the number of results by facet. A facet is "
            "counted without its own filters."
        ),
        "properties": {
            **dict.fromkeys(("categories", "brand", "color", "size", "material"), _VALUES),
            "attributes": {
                "type": "array",
                "description": "Those that the most results have come first.",
                "items": {
                    "type": "object",
                    "title": "AttributeFacet",
                    "required": ["name", "values"],
                    "properties": {"name": {"type": "string"}, "values": _VALUES},
                },
            },
            "price": {
                "type": "object",
                "title": "PriceFacet",
                "required": ["min", "max", "ranges"],
                "properties": {
                    "min": _AMOUNT,
                    "max": _AMOUNT,
                    "ranges": {
                        "type": "array",
                        "description": (
                            "Price ranges `from` a price to below `to`; "
                            "`filter` selects one."
                        ),
                        "items": {
                            "type": "object",
                            "title": "PriceRange",
                            "required": ["from", "to", "count", "filter"],
                            "properties": {
                                "from": _AMOUNT,
                                "to": _AMOUNT,
                                "count": _COUNT,
                                "filter": {"type": "string"},
                            },
                        },
                    },
                },
            },
            **dict.fromkeys(("in_stock", "on_sale"), _YES_AND_NO),
        },
    },
    "refine": {
        "type": "object",
        "title": "Refinement",
        "description": (
            "With `refine`: the question that narrows the results most; absent without one "
            "that halves them. `filter` selects the results of an option."
        ),
        "required": ["attribute", "question", "options"],
        "properties": {
            "attribute": {"type": "string"},
            "question": {"type": "string"},
            "options": {
                "type": "array",
                "items": {
                    "type": "object",
                    "title": "RefinementOption",
                    "required": ["value", "count", "filter"],
                    "properties": {
                        "value": {"type": "string"},
                        "count": _COUNT,
                        "filter": {"type": "string"},
                    },
                },
            },
        },
    },
    "suggestions": {
        "type": "array",
        "items": {"type": "string"},
        "description": "With `suggest`: completions of the query, most likely first.",
    },
    "did_you_mean": {
        **NULLABLE_TEXT,
        "description": (
            "With `suggest`: the corrected query; null if there seems to be no mistake."
        ),
    },
}
"""The schemas of the optional members next to `results`."""
