"""Merchandising pages: a store's rules and their history; one rule's form and preview."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Final

from productrecs.dashboard.formats import sentence
from productrecs.dashboard.list_explanations import (
    SOURCES,
    TRENDING,
    state_with_rules,
)
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    RowRemoval,
    SubmittedFields,
    Visit,
    form_pages,
    parse_row_number,
)
from productrecs.dashboard.pages.catalog.merchandising_rule_draft import (
    ACTIONS,
    PLACES,
    STRENGTHS,
    RuleDraft,
)
from productrecs.dashboard.pages.catalog.merchandising_rule_preview import (
    UNSAVED,
    RulePreview,
    build_rule_preview,
    selected_item_numbers,
    selected_product_count,
)
from productrecs.dashboard.product_table import titles_of
from productrecs.dashboard.relevance_effect import (
    EffectOnQuerySet,
    measure_effect_on_query_set,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.experiments.experiment import ExperimentState
from productrecs.records.experiments.experiment_editor import ExperimentEditor
from productrecs.records.merchandising.repository import RuleChange
from productrecs.records.merchandising.rule import (
    Rule,
    RuleAction,
    RuleError,
    RuleState,
    describe_rule,
    validate_rule,
)
from productrecs.records.merchandising.rule_editor import (
    ChangeNotUndoableError,
    RuleEditor,
    UnknownRuleError,
)
from productrecs.serving.cached_store import searchable_store

MERCHANDISING_PATH: Final = "/dashboard/merchandising"
AT_ONCE: Final = "Every list follows within a second."
_STATES: Final = MappingProxyType(
    {
        RuleState.ON: ("In force", "good"),
        RuleState.WAITING: ("Scheduled", ""),
        RuleState.OVER: ("Ended", ""),
        RuleState.OFF: ("Off", "warn"),
    }
)
_CHANGES: Final = 20
_NAMED: Final = 3  # products of a rule that its description names


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule in the table."""

    rule: Rule
    action: str
    description: str
    places: str
    schedule: str
    state: str
    tone: str
    selected: int | None  # how many products it selects; None while inactive

    @property
    def title(self) -> str:
        """The rule's name, else its description."""
        return self.rule.content.name or self.description


@dataclass(frozen=True, slots=True)
class RuleChangeRow:
    """One line of the history."""

    change: RuleChange
    description: str
    can_undo: bool  # the last change of its rule

    @property
    def title(self) -> str:
        """The rule's name, else its description."""
        return self.change.rule.content.name or self.description


def rule_editor_of(visit: Visit) -> RuleEditor:
    """Return the editor of the store's rules, which records who changes them."""
    who = visit.user.email or visit.user.role.label
    return RuleEditor(visit.database, visit.store, visit.context.clock, who)


def show_rules(visit: Visit) -> Reply:
    """Show every rule and the newest changes."""
    editor = rule_editor_of(visit)
    stored = sorted(editor.all(), key=lambda rule: (-rule.content.priority, rule.rule_id))
    changes = editor.history(_CHANGES)
    titles = titles_of_rule_products(visit, [*stored, *(change.rule for change in changes)])
    return visit.render(
        "merchandising.html",
        rows=[_rule_row(visit, rule, titles) for rule in stored],
        changes=_rule_change_rows(changes, titles),
        actions=list(ACTIONS.items()),
    )


def rule_title(visit: Visit, rule: Rule) -> str:
    """Return a rule's name, else its description with the titles of its products."""
    return rule.content.name or describe_rule(
        rule.content, titles_of_rule_products(visit, [rule])
    )


def titles_of_rule_products(visit: Visit, rules: Sequence[Rule]) -> dict[str, str]:
    """Return the titles of the products that the descriptions of rules name."""
    named = {item for rule in rules for item in rule.content.target.items[:_NAMED]}
    return titles_of(visit, sorted(named))


def switch_rule(visit: Visit) -> Reply:
    """Switch a rule on or off."""
    on = visit.form["to"] == "on"
    with _translate_rule_errors_to_not_found():
        rule = rule_editor_of(visit).change(
            parse_row_number(visit.form["rule"]), enabled=on
        )
    visit.refresh_store()
    done = "is on" if on else "is off"
    return visit.redirect(
        MERCHANDISING_PATH, f"“{rule_title(visit, rule)}” {done}. {AT_ONCE}"
    )


def remove_rule(visit: Visit) -> Reply:
    """Remove a rule; the history can bring it back."""
    with _translate_rule_errors_to_not_found():
        rule = rule_editor_of(visit).remove(parse_row_number(visit.form["rule"]))
    visit.refresh_store()
    message = (
        f"“{rule_title(visit, rule)}” is removed. {AT_ONCE} The history can bring it back."
    )
    return visit.redirect(MERCHANDISING_PATH, message)


def undo_rule_change(visit: Visit) -> Reply:
    """Undo the last change of a rule."""
    with _translate_rule_errors_to_not_found():
        rule = rule_editor_of(visit).undo(parse_row_number(visit.form["change"]))
    visit.refresh_store()
    message = f"Undone: “{rule_title(visit, rule)}”. {AT_ONCE}"
    return visit.redirect(f"{MERCHANDISING_PATH}#history", message)


@contextmanager
def _translate_rule_errors_to_not_found() -> Iterator[None]:
    """Convert the errors of unknown rules and undo into `PageOrRecordNotFoundError`."""
    try:
        yield
    except (UnknownRuleError, ChangeNotUndoableError) as error:
        raise PageOrRecordNotFoundError(sentence(error)) from error


def _rule_row(visit: Visit, rule: Rule, titles: Mapping[str, str]) -> RuleRow:
    content, zone = rule.content, visit.store.settings.zone
    in_force = visit.cached_store.state.rules_in_force
    selected = None if in_force is None else in_force.selected.get(rule.rule_id)
    state, tone = _STATES[content.state(visit.now_ms, zone)]
    return RuleRow(
        rule=rule,
        action=ACTIONS[content.action.value][0],
        description=describe_rule(content, titles),
        places=_describe_places(rule),
        schedule=_describe_schedule(visit, rule),
        state=state,
        tone=tone,
        selected=None if selected is None else len(selected),
    )


def _describe_places(rule: Rule) -> str:
    places = rule.content.places
    only = ", ".join(PLACES[place.value] for place in places.only_in)
    without = ", ".join(PLACES[place.value] for place in places.not_in)
    named = f" in {', '.join(places.placements)}" if places.placements else ""
    if only and without:
        return f"{only}{named}, not {without}"
    if without:
        return f"All except {without}{named}"
    return f"{only or 'All lists'}{named}"


def _describe_schedule(visit: Visit, rule: Rule) -> str:
    starts, ends = rule.content.starts, rule.content.ends
    parts = [
        f"from {format_schedule_moment(visit, starts)}" if starts else "",
        f"until {format_schedule_moment(visit, ends)}" if ends else "",
    ]
    return " ".join(part for part in parts if part) or "Always"


def format_schedule_moment(visit: Visit, text: str) -> str:
    """Return the day of a schedule, with its time if it has one."""
    day, _, time = text.partition("T")
    return f"{visit.formats.day(day)} {time[:5]}".strip()


def _rule_change_rows(
    changes: Sequence[RuleChange], titles: Mapping[str, str]
) -> list[RuleChangeRow]:
    seen: set[int] = set()
    found = []
    for change in changes:
        is_last = change.rule.rule_id not in seen
        seen.add(change.rule.rule_id)
        description = describe_rule(change.rule.content, titles)
        found.append(RuleChangeRow(change, description, is_last))
    return found


RULE_PATH: Final = f"{MERCHANDISING_PATH}/rule"
# Fields of `RuleError` that have another name in the form.
_ELSEWHERE: Final = {"target": "items", "rules": "name"}


def show_rule_form(visit: Visit) -> Reply:
    """Show the form of a stored rule, or of a new one prefilled from the query string.

    Raises:
        PageOrRecordNotFoundError: when the store has no such rule.
    """
    if visit.query["rule"]:
        draft = RuleDraft.of_rule(_find_rule(visit, visit.query["rule"]))
        return _rule_form_page(visit, draft, visit.query)
    action = visit.query["action"]
    item = visit.query["item"]
    if item and visit.cached_store.state.catalog.number(item) is None:
        message = "There is no product with this id in your catalog."
        raise PageOrRecordNotFoundError(message)
    draft = RuleDraft(
        action=action if action in ACTIONS else RuleDraft().action,
        items=(item,) if item else (),
    )
    return _rule_form_page(visit, draft, visit.query)


def save_rule(visit: Visit) -> Reply:
    """Store the rule; if it is invalid, show the form with the errors."""
    draft = RuleDraft.of_form(visit.form)
    editor = rule_editor_of(visit)
    try:
        if "anyway" not in visit.form:
            state = _state_with_rule_alone(visit, draft)
            if not selected_product_count(state, UNSAVED):
                return _rule_form_page(
                    visit, draft, visit.form, status=422, matches_nothing=True
                )
            if hidden := _newly_hidden_if_most(visit, draft, state):
                return _rule_form_page(visit, draft, visit.form, status=422, hidden=hidden)
        if draft.rule_id:
            content = draft.content()
            changes = {
                field.name: getattr(content, field.name) for field in fields(content)
            }
            rule = editor.change(parse_row_number(draft.rule_id), **changes)
        else:
            rule = editor.add(draft.content())
    except RuleError as error:
        return _rule_form_page(visit, draft, visit.form, status=422, error=error)
    except UnknownRuleError as error:
        raise _no_such_rule() from error
    visit.refresh_store()
    return visit.redirect(
        MERCHANDISING_PATH, f"“{rule_title(visit, rule)}” is saved. {AT_ONCE}"
    )


def preview_rule(visit: Visit) -> Reply:
    """Show a list before and after an unsaved rule."""
    draft = RuleDraft.of_form(visit.form)
    return visit.render(
        "rule_preview.html", preview=_build_draft_preview(visit, draft, visit.form)
    )


def show_rule_effect_on_query_set(visit: Visit) -> Reply:
    """Show what an unsaved rule does to the query set of search."""
    draft = RuleDraft.of_form(visit.form)
    try:
        content = validate_rule(draft.content_as_if_in_force(), visit.store.settings.zone)
    except RuleError as error:
        return _rule_form_page(visit, draft, visit.form, status=422, error=error)
    number = parse_row_number(draft.rule_id) if draft.rule_id else UNSAVED
    rule = Rule(number, content, visit.now_ms, visit.now_ms)
    stored_rules = rule_editor_of(visit).all()
    others = [stored_rule for stored_rule in stored_rules if stored_rule.rule_id != number]
    present_store, changed_store = (
        searchable_store(replace(visit.cached_store, state=state_with_rules(visit, rules)))
        for rules in (stored_rules, [*others, rule])
    )
    effect = measure_effect_on_query_set(visit, present_store, changed_store)
    return _rule_form_page(visit, draft, visit.form, effect=effect)


def _find_rule(visit: Visit, typed_id: str) -> Rule:
    rule_id = parse_row_number(typed_id)
    for rule in rule_editor_of(visit).all():
        if rule.rule_id == rule_id:
            return rule
    raise _no_such_rule()


def _no_such_rule() -> PageOrRecordNotFoundError:
    return PageOrRecordNotFoundError(
        "This rule is not there any more. The history may bring it back."
    )


def _rule_form_page(
    visit: Visit,
    draft: RuleDraft,
    sent: SubmittedFields,
    *,
    status: int = 200,
    error: RuleError | None = None,
    matches_nothing: bool = False,
    hidden: tuple[int, int] | None = None,
    effect: EffectOnQuerySet | None = None,
) -> Reply:
    errors = {}
    if error is not None:
        errors[_ELSEWHERE.get(error.field, error.field)] = sentence(error)
    return visit.render(
        "rule.html",
        status=status,
        title="Change a rule" if draft.rule_id else "New rule",
        draft=draft,
        errors=errors,
        actions=list(ACTIONS.items()),
        places=list(PLACES.items()),
        placements=sorted(
            {
                *visit.cached_store.placements.by_name,
                *_unended_experiment_variant_names(visit),
                *draft.placements,
            }
        ),
        strength_hint=STRENGTHS,
        matches_nothing=matches_nothing,
        hidden=hidden,
        effect=effect,
        sources=[*((name, title) for name, title, _ in SOURCES), (TRENDING, "Trending")],
        shown_on=sent["on"],
        preview=_build_draft_preview(visit, draft, sent),
    )


def _build_draft_preview(
    visit: Visit, draft: RuleDraft, sent: SubmittedFields
) -> RulePreview:
    rule_id = parse_row_number(draft.rule_id) if draft.rule_id else UNSAVED
    others = [rule for rule in rule_editor_of(visit).all() if rule.rule_id != rule_id]
    return build_rule_preview(visit, draft, sent, rule_id, others)


def _newly_hidden_if_most(
    visit: Visit, draft: RuleDraft, state: StoreState
) -> tuple[int, int] | None:
    """Return how many of how many visible products a rule hides, if it is most of them.

    `state` is the store with this rule alone. None where the rule is off, acts in some
    lists only, or hid as many before.
    """
    if draft.action != RuleAction.EXCLUDE or not draft.enabled:
        return None
    if draft.only_in or draft.not_in or draft.placements:
        return None
    hidden, visible = _selected_visible_and_visible_counts(visit, state)
    if 2 * hidden <= visible:
        return None
    if draft.rule_id:
        stored = RuleDraft.of_rule(_find_rule(visit, draft.rule_id))
        if stored.enabled and stored.action == draft.action:
            before = _state_with_rule_alone(visit, stored)
            if _selected_visible_and_visible_counts(visit, before)[0] >= hidden:
                return None
    return hidden, visible


def _selected_visible_and_visible_counts(
    visit: Visit, state: StoreState
) -> tuple[int, int]:
    """Return how many visible products the rule of `state` selects, and of how many."""
    visible = state.visible(visit.now_ms)
    selected = selected_item_numbers(state, UNSAVED)
    count = sum(bool(visible[item]) for item in selected if item < len(visible))
    return count, int(visible.sum())


def _state_with_rule_alone(visit: Visit, draft: RuleDraft) -> StoreState:
    """Return the store as if a rule were in force, and no other.

    Raises:
        RuleError: when the rule is invalid.
    """
    content = validate_rule(draft.content_as_if_in_force(), visit.store.settings.zone)
    return state_with_rules(visit, [Rule(UNSAVED, content, visit.now_ms, visit.now_ms)])


def _unended_experiment_variant_names(visit: Visit) -> Iterator[str]:
    """Yield the names by which rules know the variants of tests that have not ended."""
    editor = ExperimentEditor(visit.database, visit.store, visit.context.clock, "")
    for test in editor.all():
        if test.content.placement and test.state is not ExperimentState.ENDED:
            for arm in test.content.shares:
                yield f"{test.content.placement}:{arm}"


PAGES: Final = (
    Page(MERCHANDISING_PATH, "Merchandising", show_rules, group=NavigationGroup.CATALOG),
    *form_pages(
        MERCHANDISING_PATH,
        "Merchandising",
        ("switch", switch_rule, "Switched a rule on or off"),
        ("undo", undo_rule_change, "Undid a change of a rule"),
    ),
    Page(
        f"{MERCHANDISING_PATH}/remove",
        "Merchandising",
        None,
        remove_rule,
        action="Removed a rule",
        removes=(RowRemoval("rules", "rules_seq", {"rule_id": "rule"}),),
    ),
    Page(
        RULE_PATH,
        "Rule",
        show_rule_form,
        save_rule,
        shows_pictures=True,
        action="Saved a rule",
    ),
    Page(
        f"{RULE_PATH}/effect",
        "Rule",
        change=show_rule_effect_on_query_set,
        is_audited=False,
        shows_pictures=True,
    ),
    Page(f"{MERCHANDISING_PATH}/preview", "Preview", None, preview_rule, is_audited=False),
)
