"""Bundles pages: the store's bundles and proposals, and a bundle's form with its price."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from productrecs.core.written_numbers import (
    parse_typed_amount,
    parse_typed_number,
    typed_amount,
)
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    RowRemoval,
    SubmittedFields,
    Visit,
    form_pages,
    parse_whole_number,
)
from productrecs.dashboard.pages.catalog.merchandising_rule_draft import distinct_lines
from productrecs.dashboard.product_table import titles_of
from productrecs.features.recommendations.bundles import (
    BundleOverview,
    build_bundle_overview,
    bundle_overviews,
)
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.placements.bundle import (
    MAX_PARTS,
    BundleChangedError,
    BundleContent,
    BundleError,
    BundleState,
    UnknownBundleError,
    validate_bundle,
)
from productrecs.records.placements.bundle_editor import BundleEditor
from productrecs.records.placements.placement import Strategy

BUNDLES_PATH: Final = "/dashboard/bundles"
_BUNDLE_PATH: Final = f"{BUNDLES_PATH}/bundle"
_DISCOUNTS: Final = (
    ("", "No discount"),
    ("percent", "In percent"),
    ("amount", "An amount"),
)


@dataclass(frozen=True, slots=True)
class BundleDraft:
    """The fields of the form, as typed."""

    number: int | None = None  # of a stored bundle
    version: int | None = None  # that the form was made from
    name: str = ""
    parts: tuple[str, ...] = ()
    discount: str = ""
    value: str = ""
    proposed: tuple[str, ...] = ()

    @classmethod
    def of_form(cls, form: SubmittedFields) -> Self:
        """Return the submitted bundle."""
        discount = form["discount"]
        return cls(
            number=parse_whole_number(form["bundle"]),
            version=parse_whole_number(form["bundle_version"]),
            name=form["bundle_name"],
            parts=distinct_lines("\n".join(form.all("part")))[: MAX_PARTS + 1],
            discount=discount if discount in dict(_DISCOUNTS) else "",
            value=form["value"],
            proposed=form.all("proposed")[:MAX_PARTS],
        )

    @classmethod
    def of_overview(cls, row: BundleOverview) -> Self:
        """Return the form of a stored bundle."""
        content = row.content
        percent, amount = content.discount_percent, content.discount_amount
        value = amount if percent is None else percent
        return cls(
            number=row.bundle_id,
            version=None if row.bundle is None else row.bundle.version,
            name=content.name,
            parts=content.items,
            discount="" if value is None else "amount" if percent is None else "percent",
            value=typed_amount(value),
        )

    def content(self) -> BundleContent:
        """Return the bundle of the fields.

        Raises:
            BundleError: when the discount is no number.
        """
        value = None
        if self.discount:
            field = f"discount_{self.discount}"
            parse = parse_typed_amount if self.discount == "amount" else parse_typed_number
            try:
                value = parse(self.value)
            except ValueError as error:
                message = "write the discount as a number, such as 10 or 2.50"
                raise BundleError(message, field) from error
        is_changed = set(self.proposed) != set(self.parts)
        return BundleContent(
            self.parts,
            self.name,
            discount_percent=value if self.discount == "percent" else None,
            discount_amount=value if self.discount == "amount" else None,
            proposed=self.proposed if is_changed else (),
        )


def show_bundles(visit: Visit) -> Reply:
    """Show the bundles, the proposals and the rejected sets."""
    rows = bundle_overviews(visit.database, visit.cached_store.state, visit.now_ms)
    placements = [
        row.name
        for row in visit.cached_store.placements.by_name.values()
        if row.content.strategy is Strategy.BUNDLE
    ]
    return visit.render(
        "bundles.html",
        stored=[row for row in rows if row.bundle and not _is_rejected(row)],
        proposals=[row for row in rows if row.bundle is None],
        rejected=[row for row in rows if _is_rejected(row)],
        placements=placements,
    )


def show_bundle_form(visit: Visit) -> Reply:
    """Show the form of a stored bundle, of a proposal, or of a new bundle.

    Raises:
        PageOrRecordNotFoundError: when the store has no such bundle.
    """
    query = visit.query
    if query["bundle"]:
        bundle_id = parse_whole_number(query["bundle"])
        rows = bundle_overviews(visit.database, visit.cached_store.state, visit.now_ms)
        stored_rows = [row for row in rows if row.bundle_id is not None]
        for row in stored_rows:
            if row.bundle_id == bundle_id:
                return _bundle_form_page(visit, BundleDraft.of_overview(row))
        message = "There is no bundle with this number."
        raise PageOrRecordNotFoundError(message)
    parts = query.all("part")[:MAX_PARTS]
    return _bundle_form_page(visit, BundleDraft(parts=parts, proposed=parts))


def save_bundle(visit: Visit) -> Reply:
    """Store the bundle; if it is invalid or was changed, show the form with the error."""
    draft = BundleDraft.of_form(visit.form)
    editor = BundleEditor(visit.database, visit.store, visit.context.clock)
    try:
        content = draft.content()
        if "anyway" not in visit.form and (missing := _titles_not_buyable(visit, content)):
            return _bundle_form_page(visit, draft, not_buyable=missing)
        if draft.number is None:
            bundle = editor.add(content)
        else:
            bundle = editor.change(
                draft.number,
                draft.version,
                items=content.items,
                name=content.name,
                state=BundleState.ACCEPTED,
                discount_percent=content.discount_percent,
                discount_amount=content.discount_amount,
            )
    except (BundleError, BundleChangedError) as error:
        return _bundle_form_page(visit, draft, error)
    except UnknownBundleError as error:
        raise PageOrRecordNotFoundError(sentence(error)) from error
    visit.refresh_store()
    name = bundle.content.name or bundle.bundle_id
    message = f"“{name}” is saved. Pages follow within a second."
    return visit.redirect(BUNDLES_PATH, message)


def reject_bundle_proposal(visit: Visit) -> Reply:
    """Store a proposal as rejected, so that it is not proposed again."""
    editor = BundleEditor(visit.database, visit.store, visit.context.clock)
    content = BundleContent(visit.form.all("part"), state=BundleState.REJECTED)
    try:
        editor.add(content)
    except BundleError as error:  # somebody else was quicker
        return visit.redirect(BUNDLES_PATH, sentence(error))
    message = "Rejected. This set is not proposed again."
    return visit.redirect(BUNDLES_PATH, message)


def remove_bundle_or_rejection(visit: Visit) -> Reply:
    """Remove a bundle, or forget a rejection.

    Raises:
        PageOrRecordNotFoundError: when the store has no such bundle.
    """
    editor = BundleEditor(visit.database, visit.store, visit.context.clock)
    try:
        editor.remove(parse_whole_number(visit.form["bundle"]) or 0)
    except UnknownBundleError as error:
        raise PageOrRecordNotFoundError(sentence(error)) from error
    visit.refresh_store()
    message = "Removed. The set may be proposed again."
    return visit.redirect(BUNDLES_PATH, message)


def preview_bundle_draft(visit: Visit) -> Reply:
    """Show the sum, price and margin of an unsaved bundle."""
    draft = BundleDraft.of_form(visit.form)
    row, problem = _preview_row_and_problem(visit, draft)
    return visit.render("bundle_preview.html", row=row, problem=problem)


def _bundle_form_page(
    visit: Visit,
    draft: BundleDraft,
    error: BundleError | BundleChangedError | None = None,
    *,
    not_buyable: Sequence[str] = (),
) -> Reply:
    row, problem = _preview_row_and_problem(visit, draft)
    fields = {error.field: sentence(error)} if isinstance(error, BundleError) else {}
    return visit.render(
        "bundle.html",
        status=422 if fields or not_buyable else 200 if error is None else 409,
        title="New bundle" if draft.number is None else draft.name or "Bundle",
        draft=draft,
        not_buyable=not_buyable,
        errors=fields,
        conflict="" if error is None or fields else sentence(error),
        discounts=_DISCOUNTS,
        row=row,
        problem=problem,
    )


def _titles_not_buyable(visit: Visit, content: BundleContent) -> list[str]:
    """Return the titles of products that cannot be bought now; none if one is unknown."""
    catalog = visit.cached_store.state.catalog
    buyable = catalog.visible(visit.now_ms, hide_sold_out=True)
    numbers = {item_id: catalog.number(item_id) for item_id in content.items}
    if None in numbers.values():
        return []  # saving it says so
    ids_not_buyable = [
        item_id
        for item_id, number in numbers.items()
        if number is not None and not (number < len(buyable) and buyable[number])
    ]
    titles = titles_of(visit, ids_not_buyable)
    return [titles.get(item_id, item_id) for item_id in ids_not_buyable]


def _preview_row_and_problem(
    visit: Visit, draft: BundleDraft
) -> tuple[BundleOverview | None, str]:
    """Return what the bundle would be, or the problem that it has."""
    if not draft.parts:
        return None, ""
    try:
        content = validate_bundle(draft.content())
    except BundleError as error:
        return None, sentence(error)
    with visit.database.reading() as connection:
        stored = CatalogRepository(connection, visit.store.store_id).find(content.items)
    items = {item_id: row.item for item_id, row in stored.items() if row.present}
    state = visit.cached_store.state
    return build_bundle_overview(state, items, content, visit.now_ms), ""


def _is_rejected(row: BundleOverview) -> bool:
    return row.content.state is BundleState.REJECTED


PAGES: Final = (
    Page(BUNDLES_PATH, "Bundles", show_bundles, group=NavigationGroup.CATALOG),
    Page(
        _BUNDLE_PATH,
        "Bundle",
        show_bundle_form,
        save_bundle,
        shows_pictures=True,
        action="Saved a bundle",
    ),
    Page(
        f"{BUNDLES_PATH}/preview", "Preview", None, preview_bundle_draft, is_audited=False
    ),
    *form_pages(
        BUNDLES_PATH,
        "Bundles",
        ("reject", reject_bundle_proposal, "Rejected a proposed bundle"),
    ),
    Page(
        f"{BUNDLES_PATH}/remove",
        "Bundles",
        None,
        remove_bundle_or_rejection,
        action="Removed a bundle",
        removes=(RowRemoval("bundles", "placements_seq", {"bundle_id": "bundle"}),),
    ),
)
