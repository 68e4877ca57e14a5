"""Placements pages: the store's placements, and one placement's form with a preview."""

import re
import unicodedata
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Self

from productrecs.dashboard.formats import sentence
from productrecs.dashboard.list_explanations import (
    ExplainedList,
    build_explained_list,
)
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    RowRemoval,
    SubmittedFields,
    Visit,
    parse_whole_number,
)
from productrecs.dashboard.pages.catalog.autocomplete_options import filter_label
from productrecs.features.recommendations.explain import explain_placement
from productrecs.features.recommendations.placement_lists import build_placement_requests
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.records.catalog.item_filters import filter_masks, parse_filters
from productrecs.records.placements.placement import (
    Placement,
    PlacementContent,
    PlacementError,
    RelativeFilter,
    Strategy,
    UnknownPlacementError,
    validate_placement,
)
from productrecs.records.placements.placement_editor import PlacementEditor

PLACEMENTS_PATH: Final = "/dashboard/placements"
PLACEMENT_PATH: Final = f"{PLACEMENTS_PATH}/placement"
_UNSAVED: Final = "unsaved"  # the name of a preview without one
STRATEGIES: Final = MappingProxyType(
    {
        Strategy.MIX: "Mix of everything: the usual choice",
        Strategy.BUY: "Bought together, from orders alone",
        Strategy.BROWSE: "Viewed together",
        Strategy.SIMILAR: "Looks similar",
        Strategy.COMPLEMENTARY: "Completes the product or the cart",
        Strategy.BECAUSE_VIEWED: "Because you viewed …",
        Strategy.RECENTLY_VIEWED: "Recently viewed",
        Strategy.BUY_AGAIN: "Buy again, when it is due",
        Strategy.TRENDING: "Trending in the whole shop",
        Strategy.TOP_OF_CATEGORY: "Trending in a category",
        Strategy.TOP_OF_BRAND: "Best sellers of a brand",
        Strategy.NEW: "New products",
        Strategy.ON_SALE: "On sale",
        Strategy.BUNDLE: "The rest of a bundle",
    }
)
RELATIVE: Final = MappingProxyType(
    {
        RelativeFilter.SAME_CATEGORY: "The same category",
        RelativeFilter.SAME_BRAND: "The same brand",
        RelativeFilter.SIMILAR_PRICE: "A similar price, up to a fifth more or less",
    }
)
_NUMBERS: Final = MappingProxyType(
    {
        "num": "Products",
        "minimum": "Hide below",
        "most_per_category": "At most of one category",
        "most_per_brand": "At most of one brand",
    }
)


@dataclass(frozen=True, slots=True)
class PlacementDraft:
    """The fields of the form; numbers are text as typed."""

    is_stored: bool = False
    name: str = ""
    strategy: str = Strategy.MIX
    title: str = ""
    filters: str = ""  # one a line
    relative: tuple[str, ...] = ()
    numbers: dict[str, str] = field(default_factory=lambda: {"minimum": "1"})
    fallback: str = ""

    @classmethod
    def of_form(cls, form: SubmittedFields) -> Self:
        """Return the submitted placement."""
        return cls(
            is_stored=bool(form["stored"]),
            name=form["stored"] or to_code_name(form["placement"]),
            strategy=form["strategy"] if form["strategy"] in STRATEGIES else Strategy.MIX,
            title=form["title"],
            filters=form["filters"],
            relative=tuple(
                condition for condition in form.all("relative") if condition in RELATIVE
            ),
            numbers={name: form[name] for name in _NUMBERS},
            fallback=form["fallback"] if form["fallback"] in STRATEGIES else "",
        )

    @classmethod
    def of_placement(cls, placement: Placement) -> Self:
        """Return the form of a stored placement."""
        content = placement.content
        numbers = {name: getattr(content, name) for name in _NUMBERS}
        return cls(
            is_stored=True,
            name=placement.name,
            strategy=content.strategy,
            title=content.title,
            filters="\n".join(content.filters),
            relative=tuple(content.relative),
            numbers={
                name: "" if number is None else str(number)
                for name, number in numbers.items()
            },
            fallback=content.fallback or "",
        )

    def content(self) -> PlacementContent:
        """Return the placement of the fields.

        Raises:
            PlacementError: when a number is none.
        """
        numbers = {name: self._parse_number(name) for name in _NUMBERS}
        minimum = numbers.pop("minimum")
        return PlacementContent(
            strategy=Strategy(self.strategy),
            title=self.title,
            filters=tuple(self.filters.splitlines()),
            relative=tuple(map(RelativeFilter, self.relative)),
            minimum=0 if minimum is None else minimum,
            fallback=Strategy(self.fallback) if self.fallback else None,
            **numbers,
        )

    def _parse_number(self, name: str) -> int | None:
        text = self.numbers.get(name, "")
        if not text:
            return None
        number = parse_whole_number(text, 3)
        if number is None:
            message = "write a whole number"
            raise PlacementError(message, name)
        return number


@dataclass(frozen=True, slots=True)
class PlacementPreview:
    """The list of an unsaved placement, or the problem that it has."""

    on: str  # the page's product
    shopper: str
    name: str
    title: str = ""
    problem: str = ""
    found: ExplainedList | None = None
    hidden_below: int | None = None


def to_code_name(typed: str) -> str:
    """Return a name that pages can call: `Produktseite unten` as `produktseite-unten`."""
    decomposed = unicodedata.normalize("NFKD", typed.casefold())
    letters = decomposed.encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9_]+", "-", letters).strip("-")


def placement_editor_of(visit: Visit) -> PlacementEditor:
    """Return the editor of the store's placements."""
    return PlacementEditor(visit.database, visit.store, visit.context.clock)


def show_placements(visit: Visit, error: str = "") -> Reply:
    """Show every placement with its embed code."""
    rows = [
        (
            placement,
            STRATEGIES[placement.content.strategy],
            _describe_filters_and_limits(visit, placement.content),
        )
        for placement in placement_editor_of(visit).all()
    ]
    return visit.render(
        "placements.html",
        status=409 if error else 200,
        rows=rows,
        strategies=STRATEGIES,
        error=error,
    )


def show_placement_form(visit: Visit) -> Reply:
    """Show the form of a stored placement, or of a new one.

    Raises:
        PageOrRecordNotFoundError: when the store has no such placement.
    """
    name = visit.query["placement"]
    if not name:
        return _placement_form_page(visit, PlacementDraft(), visit.query)
    try:
        stored = placement_editor_of(visit).find(name)
    except UnknownPlacementError as error:
        raise PageOrRecordNotFoundError(sentence(error)) from error
    return _placement_form_page(visit, PlacementDraft.of_placement(stored), visit.query)


def save_placement(visit: Visit) -> Reply:
    """Store the placement; if it is invalid, show the form with the error."""
    draft, editor = PlacementDraft.of_form(visit.form), placement_editor_of(visit)
    try:
        content = draft.content()
        if "anyway" not in visit.form and _passes_no_product(visit, content):
            return _placement_form_page(visit, draft, visit.form, matches_nothing=True)
        if draft.is_stored:
            editor.put(draft.name, content)
        else:
            editor.add(draft.name, content)
    except PlacementError as error:
        return _placement_form_page(visit, draft, visit.form, error)
    visit.refresh_store()
    message = f"“{draft.name}” is saved. Its lists follow within a second."
    return visit.redirect(PLACEMENTS_PATH, message)


def remove_placement(visit: Visit) -> Reply:
    """Remove a placement."""
    try:
        removed = placement_editor_of(visit).remove(visit.form["placement"])
    except UnknownPlacementError as error:
        raise PageOrRecordNotFoundError(sentence(error)) from error
    except PlacementError as error:
        return show_placements(visit, sentence(error))
    visit.refresh_store()
    message = f"“{removed.name}” is removed. Pages that name it show nothing there now."
    return visit.redirect(PLACEMENTS_PATH, message)


def preview_placement(visit: Visit) -> Reply:
    """Show the list of an unsaved placement."""
    preview = _build_placement_preview(
        visit, PlacementDraft.of_form(visit.form), visit.form
    )
    return visit.render("placement_preview.html", preview=preview)


def _passes_no_product(visit: Visit, content: PlacementContent) -> bool:
    """Return whether no product passes a placement's filters.

    Raises:
        PlacementError: when they are invalid.
    """
    filters = validate_placement(_UNSAVED, content).filters
    catalog = visit.cached_store.state.catalog
    buyable = catalog.visible(visit.now_ms, hide_sold_out=True)
    passing = catalog.present()
    for mask in filter_masks(catalog, parse_filters(list(filters)), buyable).values():
        size = min(len(mask), len(passing))
        passing = passing[:size] & mask[:size]
    return bool(filters) and not passing.any()


def _placement_form_page(
    visit: Visit,
    draft: PlacementDraft,
    sent: SubmittedFields,
    error: PlacementError | None = None,
    *,
    matches_nothing: bool = False,
) -> Reply:
    return visit.render(
        "placement.html",
        status=422 if error or matches_nothing else 200,
        matches_nothing=matches_nothing,
        title=f"Placement {draft.name}" if draft.is_stored else "New placement",
        draft=draft,
        errors={} if error is None else {error.field: _field_error_text(error)},
        strategies=[(key.value, text) for key, text in STRATEGIES.items()],
        relative=[(key.value, text) for key, text in RELATIVE.items()],
        usual=visit.store.settings.rec_num,
        preview=_build_placement_preview(visit, draft, sent),
    )


def _build_placement_preview(
    visit: Visit, draft: PlacementDraft, sent: SubmittedFields
) -> PlacementPreview:
    state, now_ms = visit.cached_store.state, visit.now_ms
    item_id, shopper = sent["on"], sent["shopper"]
    name = draft.name or _UNSAVED
    preview = PlacementPreview(item_id, shopper, draft.name)
    if item_id and state.catalog.number(item_id) is None:
        problem = "There is no product with this id. Choose another, or leave it empty."
        return PlacementPreview(item_id, shopper, draft.name, problem=problem)
    try:
        # A name is needed to save, not to look.
        content = validate_placement(_UNSAVED, draft.content())
    except PlacementError as error:
        return PlacementPreview(
            item_id, shopper, draft.name, problem=_field_error_text(error)
        )
    histories = []
    if shopper:
        reader = visit.database.raw_reader()
        try:
            histories.append(visit.cached_store.histories.history_of(shopper, reader))
        finally:
            reader.close()
    call = RecommendationRequest(Source.MIX, 0, item_id or None, identities=(shopper,))
    placed_requests = build_placement_requests(
        state, Placement(name, content, 0, 0, 0), call, histories
    )
    explanation = explain_placement(state, placed_requests, histories, now_ms)
    return PlacementPreview(
        item_id,
        shopper,
        preview.name,
        title=placed_requests.title(state),
        found=build_explained_list(visit, explanation),
        hidden_below=explanation.hidden_below,
    )


def _describe_filters_and_limits(visit: Visit, content: PlacementContent) -> list[str]:
    """Return what shapes the list, for the table."""
    found = [filter_label(visit, item_filter) for item_filter in content.filters]
    found += [RELATIVE[condition] for condition in content.relative]
    if content.most_per_category is not None:
        found.append(f"at most {content.most_per_category} of a category")
    if content.most_per_brand is not None:
        found.append(f"at most {content.most_per_brand} of a brand")
    return found


def _field_error_text(error: PlacementError) -> str:
    """Return an error with the form's label instead of the field's name."""
    text = str(error).removeprefix(f"{error.field} must be ")
    if text == str(error) or error.field not in _NUMBERS:
        return sentence(error)
    return f"{_NUMBERS[error.field]} must be {text}."


PAGES: Final = (
    Page(PLACEMENTS_PATH, "Placements", show_placements, group=NavigationGroup.CATALOG),
    Page(
        PLACEMENT_PATH,
        "Placement",
        show_placement_form,
        save_placement,
        shows_pictures=True,
        action="Saved a placement",
    ),
    Page(
        f"{PLACEMENTS_PATH}/preview", "Preview", None, preview_placement, is_audited=False
    ),
    Page(
        f"{PLACEMENTS_PATH}/remove",
        "Placements",
        None,
        remove_placement,
        action="Removed a placement",
        removes=(RowRemoval("placements", "placements_seq", {"name": "placement"}),),
    ),
)
