"""Look editor page: the photo's hotspots, proposed and corrected, and the look's state.

A draft is a look as entered in its form, valid or not.
"""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

from productrecs.core.errors import ProductRecsError
from productrecs.core.written_numbers import parse_typed_number
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import (
    Page,
    PageOrRecordNotFoundError,
    Reply,
    SubmittedFields,
    Visit,
    form_pages,
    parse_row_number,
)
from productrecs.dashboard.pages.catalog.looks import (
    LOOKS_PATH,
    STATES,
    UNREADABLE,
    look_editor_of,
    picture_address_of,
    read_look_sums,
    store_look_photo,
)
from productrecs.dashboard.pages.connect.widgets import render_look_preview
from productrecs.dashboard.product_table import titles_of
from productrecs.features.looks.hotspot_proposals import (
    HotspotProposal,
    load_or_fetch_look_picture,
    propose_hotspots,
)
from productrecs.features.looks.look import (
    Hotspot,
    InvalidLookError,
    Look,
    LookContent,
    LookState,
    UnknownLookError,
)
from productrecs.features.looks.photo_spots import find_spots_in_picture
from productrecs.records.merchandising.rule import ListKind
from productrecs.records.pictures.decode_picture import MAX_BYTES
from productrecs.training.visual.photo_worker_owner import PhotoWorkerOwner

_ROW_ERROR: Final = re.compile(r"hotspots\.(\d+)\.?\w* ?(.*)", re.DOTALL)
_NEW_BOX: Final = ("40", "40", "20", "20")


@dataclass(frozen=True, slots=True)
class HotspotDraft:
    """One hotspot's fields as typed; the box is in per cent of the picture."""

    item_id: str
    label: str
    box: tuple[str, ...]  # x, y, width, height
    is_proposed: bool = False
    others: tuple[str, ...] = ()  # other likely products, the likeliest first

    @classmethod
    def of_hotspot(cls, spot: Hotspot) -> Self:
        """Return the fields of a stored hotspot."""
        return cls(spot.item_id, spot.label, tuple(map(_percent_text, spot.box)))

    @classmethod
    def of_proposal(cls, proposal: HotspotProposal) -> Self:
        """Return the fields of a proposed hotspot, with the likeliest product."""
        ids = tuple(item_id for item_id, _ in proposal.products)
        box = tuple(map(_percent_text, proposal.box))
        return cls(ids[0], proposal.label, box, is_proposed=True, others=ids[1:])

    @classmethod
    def new(cls) -> Self:
        """Return an empty hotspot in the middle."""
        return cls("", "", _NEW_BOX)

    def hotspot(self, row: int) -> Hotspot:
        """Return the hotspot of the fields.

        Raises:
            InvalidLookError: when a number is invalid.
        """
        try:
            x, y, width, height = (parse_typed_number(edge) / 100 for edge in self.box)
        except ValueError:
            message = f"hotspots.{row}.bbox needs four numbers, in per cent of the photo"
            raise InvalidLookError(message) from None
        box = (x, y, min(width, 1 - x), min(height, 1 - y))
        return Hotspot(self.label, box, self.item_id)


@dataclass(frozen=True, slots=True)
class LookDraft:
    """A look's fields."""

    item_id: str
    title: str
    spots: tuple[HotspotDraft, ...] = field(default=())

    @classmethod
    def of_form(cls, form: SubmittedFields) -> Self:
        """Return the submitted look, without hotspots that are ticked for removal."""
        columns = zip(
            form.all_with_blanks("spot_item"),
            form.all_with_blanks("spot_label"),
            form.all_with_blanks("spot_x"),
            form.all_with_blanks("spot_y"),
            form.all_with_blanks("spot_width"),
            form.all_with_blanks("spot_height"),
            strict=False,
        )
        removed = set(form.all("spot_remove"))
        spots = tuple(
            HotspotDraft(item_id, label, tuple(box))
            for row, (item_id, label, *box) in enumerate(columns)
            if str(row) not in removed
        )
        return cls(form["on"], form["title"], spots)

    @classmethod
    def of_content(cls, content: LookContent) -> Self:
        """Return the fields of a stored look."""
        spots = tuple(map(HotspotDraft.of_hotspot, content.hotspots))
        return cls(content.item_id, content.title, spots)

    def content(self, titles: Mapping[str, str]) -> LookContent:
        """Return the look of the fields; `titles` are those of existing products.

        Raises:
            InvalidLookError: when it names an unknown product, or a number is invalid.
        """
        if self.item_id not in titles:
            message = "item_id: choose the product on whose page the look is shown"
            raise InvalidLookError(message)
        for row, spot in enumerate(self.spots):
            if spot.item_id not in titles:
                what = (
                    f"there is no product {spot.item_id}" if spot.item_id else "it is empty"
                )
                message = f"hotspots.{row}.item_id choose a product of your catalog; {what}"
                raise InvalidLookError(message)
        spots = tuple(spot.hotspot(row) for row, spot in enumerate(self.spots))
        return LookContent(self.item_id, title=self.title, hotspots=spots)

    @property
    def item_ids_with_alternatives(self) -> list[str]:
        """The ids of the look's products and of the other likely products."""
        named = [self.item_id, *(spot.item_id for spot in self.spots)]
        return list(
            dict.fromkeys([*named, *(o for spot in self.spots for o in spot.others)])
        )


def look_errors_by_field(error: InvalidLookError) -> dict[str, str]:
    """Return an error by its field or hotspot row."""
    text = str(error)
    row_error = _ROW_ERROR.fullmatch(text)
    if row_error:
        return {f"spot-{row_error[1]}": sentence(row_error[2] or text)}
    name, colon, rest = text.partition(": ")
    if colon and name == "item_id":
        return {"on": sentence(rest)}
    where = "title" if text.startswith("title") else "look"
    return {where: sentence(text)}


def _percent_text(side: float) -> str:
    return f"{side * 100:.1f}".removesuffix(".0")


EDIT_PATH: Final = f"{LOOKS_PATH}/edit"
_NO_VERSION: Final = "This look has no such version."
_AT_ONCE: Final = "Your shop follows within a second."


def show_look_editor(visit: Visit) -> Reply:
    """Show one look; with `propose`, with hotspots that are not stored yet.

    Raises:
        PageOrRecordNotFoundError: when the store has no such look.
    """
    look = _find_look(visit, visit.query["look"])
    draft = LookDraft.of_content(look.content)
    if not visit.query["propose"] or not visit.may_change:
        return _look_editor_page(visit, look, draft)
    try:
        proposed = _propose_hotspots(visit, look)
    except ProductRecsError as error:
        note = f"No hotspots could be proposed: {error}. Add them by hand."
        return _look_editor_page(visit, look, draft, note=note)
    note = "No product of your catalog was recognised in the photo. Add hotspots by hand."
    if proposed:
        count_text = (
            "1 hotspot is" if len(proposed) == 1 else f"{len(proposed)} hotspots are"
        )
        note = f"{count_text} proposed. Correct what is wrong, then save."
    return _look_editor_page(
        visit, look, replace(draft, spots=(*draft.spots, *proposed)), note=note
    )


def save_or_publish_look(visit: Visit) -> Reply:
    """Store the submitted look, and publish it if requested."""
    look = _find_look(visit, visit.form["look"])
    draft = LookDraft.of_form(visit.form)
    editor, is_publishing = look_editor_of(visit), visit.form["then"] == "publish"
    if is_publishing and not draft.spots:
        errors = {"look": "Add at least one hotspot before you publish the look."}
        return _look_editor_page(visit, look, draft, status=422, errors=errors)
    try:
        content = draft.content(titles_of(visit, draft.item_ids_with_alternatives))
        is_public = is_publishing or look.state is LookState.PUBLISHED
        if (
            is_public
            and "anyway" not in visit.form
            and not _has_visible_product(visit, content)
        ):
            return _look_editor_page(visit, look, draft, status=422, is_hidden=True)
        editor.edit(look.look_id, content)
    except InvalidLookError as error:
        return _look_editor_page(
            visit, look, draft, status=422, errors=look_errors_by_field(error)
        )
    message = "Saved."
    if is_publishing:
        editor.publish(look.look_id)
        message = f"Published. {_AT_ONCE}"
    elif look.state is LookState.PUBLISHED:
        message = f"Saved. {_AT_ONCE}"
    visit.refresh_store()
    return visit.redirect(f"{EDIT_PATH}?look={look.look_id}", message)


def _has_visible_product(visit: Visit, content: LookContent) -> bool:
    """Return whether shoppers would see one of the look's products now."""
    state = visit.cached_store.state
    visible = state.eligible_items(visit.now_ms, ListKind.PRODUCT).visible
    numbers = [state.catalog.number(hotspot.item_id) for hotspot in content.hotspots]
    return any(
        number is not None and number < len(visible) and bool(visible[number])
        for number in numbers
    )


def replace_look_photo(visit: Visit) -> Reply:
    """Replace a look's photo; its hotspots keep their positions."""
    look, editor = _find_look(visit, visit.form["look"]), look_editor_of(visit)
    try:
        editor.set_picture(look.look_id, store_look_photo(visit, editor))
    except (InvalidLookError, *UNREADABLE) as error:
        draft = LookDraft.of_content(look.content)
        return _look_editor_page(
            visit, look, draft, status=422, errors={"file": sentence(error)}
        )
    visit.refresh_store()
    message = "The photo is replaced. Check that each hotspot is still in its place."
    return visit.redirect(f"{EDIT_PATH}?look={look.look_id}", message)


def restore_look_version(visit: Visit) -> Reply:
    """Restore an earlier version of a look; the present one becomes a version."""
    look = _find_look(visit, visit.form["look"])
    version = parse_row_number(visit.form["version"])
    try:
        look_editor_of(visit).restore(look.look_id, version)
    except UnknownLookError as error:
        raise PageOrRecordNotFoundError(_NO_VERSION) from error
    visit.refresh_store()
    message = "The earlier version is back. The one before is listed below."
    return visit.redirect(f"{EDIT_PATH}?look={look.look_id}", message)


def show_look_preview(visit: Visit) -> Reply:
    """Show the saved look, or an earlier version, as shoppers see it.

    Raises:
        PageOrRecordNotFoundError: when there is none.
    """
    look, version = _find_look(visit, visit.query["look"]), visit.query["version"]
    if version:
        versions = look_editor_of(visit).versions(look.look_id)
        matching = [
            look_version
            for look_version in versions
            if str(look_version.version) == version
        ]
        if not matching:
            raise PageOrRecordNotFoundError(_NO_VERSION)
        look = replace(look, content=matching[0].content)
    return render_look_preview(visit, look)


def preview_look_draft(visit: Visit) -> Reply:
    """Show the look of an unsaved form, without unfinished rows."""
    look, draft = _find_look(visit, visit.form["look"]), LookDraft.of_form(visit.form)
    spots = []
    for row, spot in enumerate(draft.spots):
        with contextlib.suppress(InvalidLookError):
            spots.append(spot.hotspot(row))
    content = replace(look.content, title=draft.title, hotspots=tuple(spots))
    return render_look_preview(visit, replace(look, content=content))


def show_form_with_new_hotspot(visit: Visit) -> Reply:
    """Show the form with one more hotspot, for browsers without JavaScript."""
    look, draft = _find_look(visit, visit.form["look"]), LookDraft.of_form(visit.form)
    return _look_editor_page(
        visit, look, replace(draft, spots=(*draft.spots, HotspotDraft.new()))
    )


def unpublish_archive_or_remove_look(visit: Visit) -> Reply:
    """Unpublish, archive or remove a look, or turn an archived one into a draft."""
    look, editor = _find_look(visit, visit.form["look"]), look_editor_of(visit)
    target_state = visit.form["to"]
    if target_state == "remove":
        editor.remove(look.look_id)
        visit.refresh_store()
        return visit.redirect(LOOKS_PATH, "The look is removed.")
    if target_state == "archive":
        editor.archive(look.look_id)
        message = "Archived: it is kept here, and shoppers no longer see it."
    else:
        editor.unpublish(look.look_id)
        message = f"It is a draft now. {_AT_ONCE}"
    visit.refresh_store()
    return visit.redirect(f"{EDIT_PATH}?look={look.look_id}", message)


def _find_look(visit: Visit, look_id: str) -> Look:
    try:
        return look_editor_of(visit).get(parse_row_number(look_id))
    except UnknownLookError as error:
        message = "There is no such look in your store."
        raise PageOrRecordNotFoundError(message) from error


def _propose_hotspots(visit: Visit, look: Look) -> tuple[HotspotDraft, ...]:
    """Return proposed hotspots for products in the photo that have none yet.

    Raises:
        ProductRecsError: when the photo cannot be read, or too many photos wait.
    """
    cached_store, settings = visit.cached_store, visit.services.settings
    state, stored_hotspots = cached_store.state, look.content.hotspots
    visible = state.eligible_items(visit.now_ms, ListKind.PRODUCT).visible
    trusted = settings.image_hosts
    data = load_or_fetch_look_picture(
        look_editor_of(visit), look, visit.store.domain, trusted
    )

    def search_and_propose(worker: PhotoWorkerOwner) -> tuple[HotspotDraft, ...]:
        pictures = worker.search_in(cached_store.pictures)
        spots = find_spots_in_picture(data, pictures, state.catalog, visible)
        proposals = propose_hotspots(spots, state.catalog, stored_hotspots)
        return tuple(map(HotspotDraft.of_proposal, proposals))

    return visit.run_on_event_loop(
        visit.context.photo_pool.run(visit.store.store_id, search_and_propose)
    )


def _look_editor_page(
    visit: Visit,
    look: Look,
    draft: LookDraft,
    *,
    status: int = 200,
    errors: dict[str, str] | None = None,
    note: str = "",
    is_hidden: bool = False,
) -> Reply:
    state, tone = STATES[look.state]
    stored: tuple[Hotspot, ...] = look.content.hotspots
    return visit.render(
        "look_edit.html",
        status=status,
        title=look.content.title or "Look",
        look=look,
        draft=draft,
        errors=errors or {},
        note=note,
        is_hidden=is_hidden,
        state=state,
        tone=tone,
        picture=picture_address_of(visit, look.content),
        titles=titles_of(visit, draft.item_ids_with_alternatives),
        sales={
            item_id: sold
            for (look_id, item_id), sold in (
                read_look_sums(visit) if stored else {}
            ).items()
            if look_id == str(look.look_id)
        },
        empty_spot=HotspotDraft.new(),
        versions=look_editor_of(visit).versions(look.look_id),
    )


PAGES: Final = (
    Page(
        EDIT_PATH,
        "Look",
        show_look_editor,
        save_or_publish_look,
        shows_pictures=True,
        action="Saved a look",
    ),
    Page(
        f"{EDIT_PATH}/add",
        "Look",
        None,
        show_form_with_new_hotspot,
        shows_pictures=True,
        is_audited=False,
    ),
    Page(
        f"{EDIT_PATH}/photo",
        "Look",
        None,
        replace_look_photo,
        shows_pictures=True,
        file_limit=MAX_BYTES,
        action="Replaced the photo of a look",
    ),
    *form_pages(
        EDIT_PATH,
        "Look",
        ("restore", restore_look_version, "Restored an earlier version of a look"),
    ),
    Page(
        f"{EDIT_PATH}/preview",
        "Preview",
        show_look_preview,
        preview_look_draft,
        is_audited=False,
    ),
    *form_pages(
        LOOKS_PATH,
        "Look",
        ("state", unpublish_archive_or_remove_look, "Changed the state of a look"),
    ),
)
