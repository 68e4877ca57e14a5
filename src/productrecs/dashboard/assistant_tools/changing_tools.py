"""Changing tools: rules, pins, synonyms and placements, by the forms of their pages."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from productrecs.core.written_numbers import typed_amount
from productrecs.dashboard.assistant_tools.reading_tools import (
    explained_list_fields,
    list_rules,
    list_search_rules,
)
from productrecs.dashboard.assistant_tools.tool import (
    ChangingTool,
    FormFields,
    Result,
    ToolArguments,
    ToolError,
)
from productrecs.dashboard.page import Visit
from productrecs.dashboard.pages.analyse.search_report_and_improvements import (
    IMPROVE_PATH,
    REMOVE_PATH,
    SearchPreview,
    preview_synonym_or_rule,
)
from productrecs.dashboard.pages.catalog import merchandising, placements
from productrecs.dashboard.pages.catalog.merchandising import (
    MERCHANDISING_PATH,
    RULE_PATH,
    preview_rule,
)
from productrecs.dashboard.pages.catalog.merchandising_rule_draft import RuleDraft
from productrecs.dashboard.pages.catalog.merchandising_rule_preview import RulePreview
from productrecs.dashboard.pages.catalog.placements import (
    PLACEMENT_PATH,
    PlacementDraft,
    PlacementPreview,
    preview_placement,
)
from productrecs.records.merchandising.rule import ListKind, RuleAction
from productrecs.records.placements.placement import RelativeFilter, Strategy

_Texts: TypeAlias = list[Annotated[str, Meta(max_length=1000)]]
_Shown = Annotated[
    str, Meta(description="A product on whose page the dry run shows the list.")
]
_Id = Annotated[
    int, Meta(description="The number that the list tool gives.", ge=0, lt=10**9)
]


class _RuleArguments(ToolArguments):
    """The fields of a rule; those that are not given stay as they are."""

    name: Annotated[str | UnsetType, Meta(description="For the merchant.")] = UNSET
    products: Annotated[_Texts | UnsetType, Meta(description="Ids of products.")] = UNSET
    categories: Annotated[
        _Texts | UnsetType,
        Meta(description="Categories as the catalog names them."),
    ] = UNSET
    attributes: Annotated[
        _Texts | UnsetType,
        Meta(description="Attributes such as `brand: Acme`."),
    ] = UNSET
    title_words: Annotated[
        str | UnsetType, Meta(description="Words that the title must have.")
    ] = UNSET
    price_min: Annotated[
        float | UnsetType | None, Meta(description="The lowest price.")
    ] = UNSET
    price_max: Annotated[
        float | UnsetType | None, Meta(description="The highest price.")
    ] = UNSET
    strength: Annotated[
        float | UnsetType | None, Meta(description="The factor of a boost or bury.")
    ] = UNSET
    position: Annotated[
        int | UnsetType, Meta(description="Of the first pinned product, from 1.")
    ] = UNSET
    only_in: Annotated[
        list[ListKind] | UnsetType, Meta(description="Only in these lists.")
    ] = UNSET
    not_in: Annotated[
        list[ListKind] | UnsetType, Meta(description="Not in these lists.")
    ] = UNSET
    placements: Annotated[
        _Texts | UnsetType, Meta(description="Only in these placements.")
    ] = UNSET
    starts: Annotated[
        str | UnsetType, Meta(description="The first day, such as 2026-12-01.")
    ] = UNSET
    ends: Annotated[str | UnsetType, Meta(description="The last day.")] = UNSET
    priority: Annotated[
        int | UnsetType, Meta(description="The higher one wins a conflict.")
    ] = UNSET
    enabled: Annotated[bool | UnsetType, Meta(description="Whether it is on.")] = UNSET
    shown_on: _Shown = ""


class _NewRuleArguments(_RuleArguments, kw_only=True):
    action: Annotated[
        RuleAction, Meta(description="Never show, show earlier, later, or at a position.")
    ]


class _ChangedRuleArguments(_RuleArguments, kw_only=True):
    rule: _Id
    action: Annotated[RuleAction | UnsetType, Meta(description="Its new action.")] = UNSET


class _RemovedRuleArguments(ToolArguments):
    rule: _Id


class _SynonymArguments(ToolArguments):
    query: Annotated[str, Meta(description="What shoppers search for.", max_length=256)]
    texts: Annotated[
        _Texts, Meta(description="Words that mean the same.", min_length=1, max_length=20)
    ]


class _PinArguments(ToolArguments):
    query: Annotated[str, Meta(description="The search.", max_length=256)]
    products: Annotated[
        _Texts,
        Meta(description="Ids of the products that come first.", min_length=1),
    ]


class _RemovedSynonymArguments(ToolArguments):
    synonym: _Id


class _RemovedSearchRuleArguments(ToolArguments):
    search_rule: _Id


class _PlacementArguments(ToolArguments):
    placement: Annotated[str, Meta(description="The name of a stored placement.")]
    strategy: Annotated[
        Strategy | UnsetType, Meta(description="How its products are chosen.")
    ] = UNSET
    title: Annotated[str | UnsetType, Meta(description="What shoppers read above it.")] = (
        UNSET
    )
    filters: Annotated[
        _Texts | UnsetType,
        Meta(description="Filters such as `brand:Acme`."),
    ] = UNSET
    relative: Annotated[
        list[RelativeFilter] | UnsetType, Meta(description="As the page's product.")
    ] = UNSET
    num: Annotated[
        int | UnsetType | None, Meta(description="How many products; null: the default.")
    ] = UNSET
    minimum: Annotated[
        int | UnsetType, Meta(description="With fewer products it is hidden.")
    ] = UNSET
    most_per_category: Annotated[
        int | UnsetType | None, Meta(description="At most so many of one category.")
    ] = UNSET
    most_per_brand: Annotated[
        int | UnsetType | None, Meta(description="At most so many of one brand.")
    ] = UNSET
    fallback: Annotated[
        Strategy | UnsetType | None, Meta(description="What fills a short list up.")
    ] = UNSET
    shown_on: _Shown = ""


def _to_typed_text(value: object) -> str:
    """Return a value as somebody types it: several on lines."""
    if isinstance(value, list):
        return "\n".join(value)
    if isinstance(value, float):
        return typed_amount(value)
    return "" if value is None else str(value)


def _given_fields(arguments: ToolArguments, names: Sequence[str]) -> dict[str, Any]:
    found = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in found.items() if value is not UNSET}


_LINES: Final = ("categories", "attributes")
_TEXTS: Final = (
    *("name", "title_words", "price_min", "price_max", "strength", "position"),
    *("starts", "ends", "priority"),
)
_LISTS: Final = ("only_in", "not_in", "placements")


def _rule_form_fields(draft: RuleDraft, arguments: _RuleArguments) -> FormFields:
    """Return the form of a rule with the fields that the call has."""
    texts = _given_fields(arguments, (*_LINES, *_TEXTS)).items()
    changes: dict[str, Any] = {name: _to_typed_text(value) for name, value in texts}
    changes |= _given_fields(arguments, ("action", "enabled", *_LISTS))
    draft = replace(draft, **changes)
    if arguments.products is not UNSET:
        draft = replace(draft, items=tuple(arguments.products))
    return [
        ("rule", draft.rule_id),
        ("action", draft.action),
        ("having", draft.attributes),
        ("categories", draft.categories),
        *((name, getattr(draft, name)) for name in _TEXTS),
        *(("item", item) for item in draft.items),
        *(("only_in", kind) for kind in draft.only_in),
        *(("not_in", kind) for kind in draft.not_in),
        *(("placement", name) for name in draft.placements),
        *([("enabled", "1")] if draft.enabled else []),
        ("on", arguments.shown_on),
        ("source", "mix"),
    ]


def _changed_rule_form_fields(visit: Visit, arguments: _ChangedRuleArguments) -> FormFields:
    for rule in merchandising.rule_editor_of(visit).all():
        if rule.rule_id == arguments.rule:
            return _rule_form_fields(RuleDraft.of_rule(rule), arguments)
    message = f"there is no rule {arguments.rule}; list_rules has all"
    raise ToolError(message)


def _rule_preview(visit: Visit) -> Result:
    preview = preview_rule(visit).values["preview"]
    if not isinstance(preview, RulePreview):
        raise TypeError
    result: Result = {"products_selected": preview.selected}
    if preview.problem:
        return {"note": preview.problem}
    if preview.before is not None and preview.after is not None:
        result["list"] = {"source": preview.source, "shown_on": preview.on}
        result["before"] = explained_list_fields(preview.before)["products"]
        result["after"] = explained_list_fields(preview.after)["products"]
    return result


def _rule_to_remove(visit: Visit) -> Result:
    rules: Any = list_rules(visit, ToolArguments())["rules"]
    number = int(visit.form["rule"])
    return {"removes": next(rule for rule in rules if rule["rule"] == number)}


def _synonym_or_search_rule_to_remove(visit: Visit) -> Result:
    stored: Any = list_search_rules(visit, ToolArguments())
    for kind in ("synonym", "search_rule"):
        if visit.form[kind]:
            number = int(visit.form[kind])
            found = (rule for rule in stored[f"{kind}s"] if rule[kind] == number)
            return {"removes": next(found)}
    return {}


def _search_preview(visit: Visit) -> Result:
    values = preview_synonym_or_rule(visit).values
    return {name: _search_preview_products(values[name]) for name in ("before", "after")}


def _search_preview_products(preview: object) -> list[Result]:
    if not isinstance(preview, SearchPreview):
        return []
    return [
        {
            "product": found.row.item_id,
            "title": found.row.title,
            **({"change": found.change} if found.change else {}),
        }
        for found in preview.products
    ]


_NUMBERS: Final = ("num", "minimum", "most_per_category", "most_per_brand")


def _changed_placement_form_fields(
    visit: Visit, arguments: _PlacementArguments
) -> FormFields:
    stored = placements.placement_editor_of(visit).find(arguments.placement)
    draft = PlacementDraft.of_placement(stored)
    texts = _given_fields(arguments, ("strategy", "title", "filters", "fallback"))
    changes: dict[str, Any] = {name: _to_typed_text(value) for name, value in texts.items()}
    draft = replace(draft, **changes)
    numbers = {k: _to_typed_text(v) for k, v in _given_fields(arguments, _NUMBERS).items()}
    relative = draft.relative if arguments.relative is UNSET else arguments.relative
    return [
        ("stored", draft.name),
        ("strategy", draft.strategy),
        ("title", draft.title),
        ("filters", draft.filters),
        ("fallback", draft.fallback),
        *(draft.numbers | numbers).items(),
        *(("relative", condition) for condition in relative),
        ("on", arguments.shown_on),
    ]


def _placement_preview(visit: Visit) -> Result:
    preview = preview_placement(visit).values["preview"]
    if not isinstance(preview, PlacementPreview) or preview.found is None:
        return {"note": getattr(preview, "problem", "")}
    return {
        "title": preview.title,
        "hidden_below": preview.hidden_below,
        **explained_list_fields(preview.found),
    }


CHANGING_TOOLS: Final = (
    ChangingTool(
        "add_rule",
        "Add a rule",
        "Exclude, boost, bury or pin products: in all lists or some, always or for days.",
        _NewRuleArguments,
        RULE_PATH,
        "rules_seq",
        lambda _visit, arguments: _rule_form_fields(RuleDraft(), arguments),
        _rule_preview,
    ),
    ChangingTool(
        "change_rule",
        "Change a rule",
        "Change a rule, or switch it on or off; what is not given stays.",
        _ChangedRuleArguments,
        RULE_PATH,
        "rules_seq",
        _changed_rule_form_fields,
        _rule_preview,
    ),
    ChangingTool(
        "remove_rule",
        "Remove a rule",
        "Remove a rule; the merchant can bring it back in the dashboard.",
        _RemovedRuleArguments,
        f"{MERCHANDISING_PATH}/remove",
        "rules_seq",
        lambda _visit, arguments: [("rule", str(arguments.rule))],
        _rule_to_remove,
    ),
    ChangingTool(
        "add_synonym",
        "Add a synonym",
        "Let a search also find other words, in both directions.",
        _SynonymArguments,
        IMPROVE_PATH,
        "search_seq",
        lambda _visit, arguments: [
            ("q", arguments.query),
            ("action", "synonym"),
            ("texts", ", ".join(arguments.texts)),
        ],
        _search_preview,
    ),
    ChangingTool(
        "pin_search",
        "Pin products for a search",
        "Let products come first in the results of one search.",
        _PinArguments,
        IMPROVE_PATH,
        "search_seq",
        lambda _visit, arguments: [
            ("q", arguments.query),
            ("action", "pin"),
            *(("pin", product) for product in arguments.products),
        ],
        _search_preview,
    ),
    ChangingTool(
        "remove_synonym",
        "Remove a synonym",
        "Remove a synonym; the merchant can bring it back in the dashboard.",
        _RemovedSynonymArguments,
        REMOVE_PATH,
        "search_seq",
        lambda _visit, arguments: [("synonym", str(arguments.synonym))],
        _synonym_or_search_rule_to_remove,
    ),
    ChangingTool(
        "remove_search_rule",
        "Remove a search rule",
        "Remove a pin or redirect of a search; the merchant can bring it back.",
        _RemovedSearchRuleArguments,
        REMOVE_PATH,
        "search_seq",
        lambda _visit, arguments: [("search_rule", str(arguments.search_rule))],
        _synonym_or_search_rule_to_remove,
    ),
    ChangingTool(
        "change_placement",
        "Change a placement",
        "Change the settings of a placement: strategy, title, filters, numbers.",
        _PlacementArguments,
        PLACEMENT_PATH,
        "placements_seq",
        _changed_placement_form_fields,
        _placement_preview,
    ),
)
