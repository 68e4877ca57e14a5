"""Rule page: one rule's form, with a preview of a list before and after."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Final

from productrecs.entrypoints.http.dashboard.list_reasons import (
    SOURCES,
    TRENDING,
    ExplainedList,
    make_list,
    with_rules,
)
from productrecs.entrypoints.http.dashboard.page import (
    Form,
    NotFoundError,
    Page,
    Reply,
    Visit,
)
from productrecs.entrypoints.http.dashboard.pages.merchandising import (
    AT_ONCE,
    MERCHANDISING_PATH,
    editor_of,
    rule_id_of,
)
from productrecs.entrypoints.http.dashboard.product_rows import matching_products
from productrecs.entrypoints.http.dashboard.rule_drafts import (
    ACTIONS,
    PLACES,
    STRENGTHS,
    RuleDraft,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.experiments.experiment import State
from productrecs.records.experiments.experiment_editor import ExperimentEditor
from productrecs.records.merchandising.rule import Rule, RuleError, validate_rule
from productrecs.records.merchandising.rule_editor import UnknownRuleError

RULE_PATH: Final = f"{MERCHANDISING_PATH}/rule"
_CHOICES: Final = 8
_UNSAVED: Final = 2**50  # the id of a rule that is not stored: the youngest of its priority
# Fields of `RuleError` that have another name in the form.
_ELSEWHERE: Final = {"target": "items", "rules": "name"}


@dataclass(frozen=True, slots=True)
class Choice:
    """A selectable or selected product."""

    item_id: str
    title: str
    picture: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class RulePreview:
    """A list before and after a rule; `problem` says why a list is missing."""

    on: str  # the product on whose page the list is shown
    source: str
    problem: str = ""
    before: ExplainedList | None = None
    after: ExplainedList | None = None
    selected: int = 0  # how many products the rule selects

    @property
    def gone(self) -> frozenset[str]:
        """The products that leave the list."""
        if self.before is None or self.after is None:
            return frozenset()
        return frozenset(self.before.ids) - set(self.after.ids)


def show_rule(visit: Visit) -> Reply:
    """Show the form of a stored rule, or of a new one prefilled from the query string.

    Raises:
        NotFoundError: when the store has no such rule.
    """
    if visit.query["rule"]:
        draft = RuleDraft.of_rule(_stored(visit, visit.query["rule"]))
        return _form(visit, draft, visit.query)
    action = visit.query["action"]
    item = visit.query["item"]
    if item and visit.opened.shop.catalog.number(item) is None:
        message = "There is no product with this id in your catalog."
        raise NotFoundError(message)
    draft = RuleDraft(
        action=action if action in ACTIONS else RuleDraft().action,
        items=(item,) if item else (),
    )
    return _form(visit, draft, visit.query)


def save_rule(visit: Visit) -> Reply:
    """Store the rule; if it is invalid, show the form with the errors."""
    draft = RuleDraft.of_form(visit.form)
    editor = editor_of(visit)
    try:
        if draft.rule_id:
            content = draft.content()
            changes = {one.name: getattr(content, one.name) for one in fields(content)}
            rule = editor.change(rule_id_of(draft.rule_id), **changes)
        else:
            rule = editor.add(draft.content())
    except RuleError as error:
        return _form(visit, draft, visit.form, status=422, error=error)
    except UnknownRuleError as error:
        raise _missing() from error
    visit.refresh_store()
    return visit.redirect(MERCHANDISING_PATH, f"“{rule.title}” is saved. {AT_ONCE}")


def find_products(visit: Visit) -> Reply:
    """Show the form with the found products, for browsers without JavaScript."""
    return _form(visit, RuleDraft.of_form(visit.form), visit.form)


def preview_rule(visit: Visit) -> Reply:
    """Show a list before and after an unsaved rule."""
    draft = RuleDraft.of_form(visit.form)
    return visit.render("rule_preview.html", preview=_preview(visit, draft, visit.form))


def pick_products(visit: Visit) -> Reply:
    """Show the chosen products, and those that match the typed text."""
    chosen = visit.form.all("item")
    return visit.render(
        "product_picker.html", choices=_choices(visit, chosen, visit.form["pick"])
    )


def suggest_products(visit: Visit) -> Reply:
    """Show the options of a product field."""
    query = visit.query
    text = query["on"] or query["part"] or query["spot_item"]
    found = matching_products(visit, text, _CHOICES)
    return visit.render("product_options.html", options=found)


def _stored(visit: Visit, text: str) -> Rule:
    rule_id = rule_id_of(text)
    for rule in editor_of(visit).all():
        if rule.rule_id == rule_id:
            return rule
    raise _missing()


def _missing() -> NotFoundError:
    return NotFoundError("This rule is not there any more. The history may bring it back.")


def _form(
    visit: Visit,
    draft: RuleDraft,
    sent: Form,
    *,
    status: int = 200,
    error: RuleError | None = None,
) -> Reply:
    errors = {}
    if error is not None:
        text = str(error)
        field = _ELSEWHERE.get(error.field, error.field)
        errors[field] = f"{text[:1].upper()}{text[1:]}."
    categories = sorted(visit.opened.shop.catalog.members)[:500]
    return visit.render(
        "rule.html",
        status=status,
        title="Change a rule" if draft.rule_id else "New rule",
        draft=draft,
        errors=errors,
        actions=list(ACTIONS.items()),
        places=list(PLACES.items()),
        placements=sorted(
            {*visit.opened.placements.by_name, *_variants(visit), *draft.placements}
        ),
        categories=categories,
        strength_hint=STRENGTHS,
        choices=_choices(visit, draft.items, sent["pick"]),
        sources=[*((name, title) for name, title, _ in SOURCES), (TRENDING, "Trending")],
        preview=_preview(visit, draft, sent),
    )


def _choices(visit: Visit, chosen: tuple[str, ...], text: str) -> list[Choice]:
    """Return the chosen products, then those that match, each once."""
    found = [] if not text else [one for one, _ in matching_products(visit, text, _CHOICES)]
    ids = list(dict.fromkeys([*chosen, *found]))
    with visit.database.reading() as connection:
        stored = CatalogRepository(connection, visit.store.store_id).find(ids)
    return [
        Choice(
            one,
            (stored[one].item.title or one)
            if one in stored
            else f"{one} (not in the catalog)",
            visit.pictures.address(stored[one].item.image_url) if one in stored else "",
            one in chosen,
        )
        for one in ids
    ]


def _preview(visit: Visit, draft: RuleDraft, sent: Form) -> RulePreview:
    """Return the preview: both lists, or the problem."""
    shop = visit.opened.shop
    known = {name for name, _, _ in SOURCES} | {TRENDING}
    source = sent["source"] if sent["source"] in known else SOURCES[0][0]
    shown = RulePreview(sent["on"] or _typical_page(visit, draft), source)
    if source != TRENDING and shop.catalog.number(shown.on) is None:
        problem = "Choose a product on whose page the list is shown."
        return replace(shown, problem=problem)
    before = make_list(visit, shop, source, shown.on)
    shown = replace(shown, before=before)
    try:
        content = validate_rule(draft.in_force(), visit.store.settings.zone)
    except RuleError as error:
        text = str(error)
        return replace(shown, problem=f"{text[:1].upper()}{text[1:]}.")
    number = rule_id_of(draft.rule_id) if draft.rule_id else _UNSAVED
    rule = Rule(number, content, visit.now_ms, visit.now_ms)
    others = [one for one in editor_of(visit).all() if one.rule_id != number]
    imagined = with_rules(visit, [*others, rule])
    after = make_list(visit, imagined, source, shown.on, before.ids)
    return replace(shown, after=after, selected=_selected(imagined, number))


def _typical_page(visit: Visit, draft: RuleDraft) -> str:
    """Return a product for the preview, such as one bought with the rule's product."""
    shop = visit.opened.shop
    ids = shop.catalog.ids
    visible = shop.visible(visit.now_ms)
    numbers = shop.catalog.numbers_of(draft.items[:1])
    near = shop.models.widest.neighbours(numbers[0]).items.tolist() if numbers else []
    for item in (*near, *shop.models.trending[:50].tolist(), *shop.catalog.newest()[:50]):
        if item < len(visible) and visible[item] and ids[item] is not None:
            return ids[item] or ""
    return ""


def _selected(shop: StoreState, number: int) -> int:
    return 0 if shop.book is None else len(shop.book.selected.get(number, ()))


def _variants(visit: Visit) -> Iterator[str]:
    """Yield the names by which rules know the variants of tests that have not ended."""
    editor = ExperimentEditor(visit.database, visit.store, visit.context.clock, "")
    for test in editor.all():
        if test.content.placement and test.state is not State.ENDED:
            for arm in test.content.shares:
                yield f"{test.content.placement}:{arm}"


PAGES: Final = (
    Page(
        RULE_PATH, "Rule", show_rule, save_rule, shows_pictures=True, action="Saved a rule"
    ),
    Page(
        f"{MERCHANDISING_PATH}/find",
        "Rule",
        None,
        find_products,
        shows_pictures=True,
        is_audited=False,
    ),
    Page(f"{MERCHANDISING_PATH}/preview", "Preview", None, preview_rule, is_audited=False),
    Page(f"{MERCHANDISING_PATH}/pick", "Products", None, pick_products, is_audited=False),
    Page(f"{MERCHANDISING_PATH}/options", "Products", suggest_products),
)
