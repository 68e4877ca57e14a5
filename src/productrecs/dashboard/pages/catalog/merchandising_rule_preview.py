"""Preview of a merchandising rule: a list before and after it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from productrecs.dashboard.formats import sentence
from productrecs.dashboard.list_explanations import (
    SOURCES,
    TRENDING,
    ExplainedList,
    explain_source_list,
    state_with_rules,
)
from productrecs.dashboard.page import SubmittedFields, Visit
from productrecs.dashboard.pages.catalog.merchandising_rule_draft import RuleDraft
from productrecs.dashboard.product_table import titles_of
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.merchandising.rule import (
    ListKind,
    Rule,
    RuleAction,
    RuleContent,
    RuleError,
    RuleListScope,
    validate_rule,
)

UNSAVED: Final = 2**50  # the id of a rule that is not stored: the youngest of its priority
_MOST_SELECTED: Final = 10  # of a rule's products, near which pages are looked for
_MOST_PAGES: Final = 40  # whose lists are compared


@dataclass(frozen=True, slots=True)
class RulePreview:
    """A list before and after a rule; `problem` says why a list is missing."""

    on: str  # the product on whose page the list is shown
    title: str  # of this product; "" for a list without a page
    source: str
    problem: str = ""
    before: ExplainedList | None = None
    after: ExplainedList | None = None
    selected: int = 0  # how many products the rule selects
    reach: str = ""  # a sentence on the lists that the rule changes, besides this one

    @property
    def lost_item_ids(self) -> frozenset[str]:
        """The products that leave the list."""
        if self.before is None or self.after is None:
            return frozenset()
        return frozenset(self.before.ids) - set(self.after.ids)


def build_rule_preview(
    visit: Visit,
    draft: RuleDraft,
    sent: SubmittedFields,
    rule_id: int,
    others: Sequence[Rule],
) -> RulePreview:
    """Return the preview of a rule beside the `others`: both lists, or the problem.

    Unless a page is chosen, it is one whose list the rule changes, if any was found.
    """
    source_names = {name for name, _, _ in SOURCES} | {TRENDING}
    source = sent["source"] if sent["source"] in source_names else SOURCES[0][0]
    state, with_rule, problem = visit.cached_store.state, None, ""
    try:
        content = validate_rule(draft.content_as_if_in_force(), visit.store.settings.zone)
    except RuleError as error:
        problem = sentence(error)
    else:
        rule = Rule(rule_id, content, visit.now_ms, visit.now_ms)
        with_rule = state_with_rules(visit, [*others, rule])
    on = sent["on"] or _find_example_product_id(visit, source, with_rule, rule_id)
    title = "" if source == TRENDING else titles_of(visit, [on]).get(on, on)
    preview = RulePreview(on, title, source, problem)
    if source != TRENDING and state.catalog.number(on) is None:
        problem = "Choose a product on whose page the list is shown."
        return replace(preview, problem=problem)
    before = explain_source_list(visit, state, source, on)
    preview = replace(preview, before=before)
    if with_rule is None:
        return preview
    return replace(
        preview,
        after=explain_source_list(visit, with_rule, source, on, before.ids),
        selected=selected_product_count(with_rule, rule_id),
        reach=_reach_warning(rule.content, source),
    )


def _reach_warning(content: RuleContent, source: str) -> str:
    """Return what a merchant could misread in the preview of one list."""
    lists = (
        (ListKind.TRENDING, None)
        if source == TRENDING
        else (ListKind.PRODUCT, ListKind(source))
    )
    if not content.places.matches(*lists):
        return "The rule does not apply to this list: choose another one to see it work."
    if content.action is RuleAction.EXCLUDE and content.places == RuleListScope():
        return "It acts in every list and in search, not only on this page."
    return ""


def selected_product_count(state: StoreState, rule_id: int) -> int:
    """Return how many products a rule selects."""
    return len(selected_item_numbers(state, rule_id))


def selected_item_numbers(state: StoreState, rule_id: int) -> list[int]:
    """Return the numbers of the items that a rule selects; none while it is inactive."""
    items = (
        None if state.rules_in_force is None else state.rules_in_force.selected.get(rule_id)
    )
    return [] if items is None else items.tolist()


def _find_example_product_id(
    visit: Visit, source: str, with_rule: StoreState | None, rule_id: int
) -> str:
    """Return a product whose list a rule changes; else one near its products."""
    selected = [] if with_rule is None else selected_item_numbers(with_rule, rule_id)
    pages = list(islice(_likely_product_ids(visit, selected), _MOST_PAGES))
    if with_rule is not None and source != TRENDING:
        state = visit.cached_store.state
        for page in pages:
            request = RecommendationRequest(Source(source), state.settings.rec_num, page)
            before = recommend(state, request, (), visit.now_ms)
            after = recommend(with_rule, request, (), visit.now_ms)
            if [pick.item for pick in before] != [pick.item for pick in after]:
                return page
    return next(iter(pages), "")


def _likely_product_ids(visit: Visit, selected: Sequence[int]) -> Iterator[str]:
    """Yield visible products: those bought with a rule's products, then popular ones."""
    state = visit.cached_store.state
    ids, visible = state.catalog.ids, state.visible(visit.now_ms)
    near = [
        item
        for selected_item in selected[:_MOST_SELECTED]
        for item in state.models.widest.evident_companions(selected_item).items.tolist()
    ]
    popular = state.models.trending[:_MOST_PAGES].tolist()
    for item in dict.fromkeys(
        [*near, *popular, *state.catalog.newest_items()[:_MOST_PAGES]]
    ):
        if item < len(visible) and visible[item] and ids[item] is not None:
            yield ids[item] or ""
