"""Looks page: every look with its state and sales, and the form for a new one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from productrecs.core.report import parse_report_query
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    Reply,
    Visit,
)
from productrecs.dashboard.product_table import titles_of
from productrecs.dashboard.report_values import recount_note
from productrecs.features.looks.look import (
    InvalidLookError,
    Look,
    LookContent,
    LookState,
    SanitizedPicture,
)
from productrecs.features.looks.look_editor import LookEditor
from productrecs.features.reports.impact.repository import LookSpot, LookSpotSums
from productrecs.features.reports.impact.sales_reports import read_look_spot_sums
from productrecs.records.pictures.decode_picture import (
    MAX_BYTES,
    PictureTooLargeError,
    UnreadablePictureError,
)
from productrecs.records.pictures.sandboxed_decoder import (
    BATCH_CPU_SECONDS,
    SandboxedDecoder,
)

LOOKS_PATH: Final = "/dashboard/looks"
STATES: Final = MappingProxyType(
    {
        LookState.DRAFT: ("Draft", "warn"),
        LookState.PUBLISHED: ("Published", "good"),
        LookState.ARCHIVED: ("Archived", ""),
    }
)
NO_PHOTO: Final = "Choose a photo: JPEG, PNG, WebP, AVIF or GIF, up to 10 MiB"
UNREADABLE: Final = (UnreadablePictureError, PictureTooLargeError)


@dataclass(frozen=True, slots=True)
class LookRow:
    """One look in the table."""

    look: Look
    title: str
    on: str  # the title of the product on whose page it is shown
    picture: str
    state: str
    tone: str
    sold: LookSpotSums
    loses_to: str = ""  # the title of a newer published look on the same page


def look_editor_of(visit: Visit) -> LookEditor:
    """Return the editor of the store's looks."""
    by = visit.user.email or ""
    return LookEditor(visit.database, visit.store, visit.context.clock, by)


def picture_address_of(visit: Visit, content: LookContent) -> str:
    """Return the address of a look's picture."""
    if content.picture_id:
        return f"/look-pictures/{visit.store.domain}/{content.picture_id}.jpg"
    return visit.pictures.address_if_allowed(content.image_url)


def read_look_sums(visit: Visit) -> dict[LookSpot, LookSpotSums]:
    """Return what each product did in each look, in the last 30 days."""
    asked = parse_report_query(visit.now_ms, visit.store.settings.zone)
    return read_look_spot_sums(visit.database, visit.store, asked)


def add_look(visit: Visit) -> Reply:
    """Store a photo and create a draft of it; then propose hotspots."""
    item_id, title = visit.form["on"], visit.form["title"]
    errors = {}
    if item_id not in titles_of(visit, [item_id]):
        errors["on"] = "Choose the product on whose page the look is shown, by its id."
    if visit.file is None or not visit.file.size:
        errors["file"] = f"{NO_PHOTO}."
    if errors:
        return show_looks(visit, status=422, errors=errors)
    editor = look_editor_of(visit)
    try:
        picture = store_look_photo(visit, editor)
    except UNREADABLE as error:
        return show_looks(visit, status=422, errors={"file": sentence(error)})
    try:
        content = LookContent(item_id, title=title, picture_id=picture.picture_id)
        look = editor.add([content])[0]
    except InvalidLookError as error:
        return show_looks(visit, status=422, errors={"title": sentence(error)})
    return visit.redirect(f"{LOOKS_PATH}/edit?look={look.look_id}&propose=1")


def store_look_photo(visit: Visit, editor: LookEditor) -> SanitizedPicture:
    """Return the picture of a form's file, stored for a look.

    Raises:
        UnreadablePictureError: when there is none, or it cannot be read.
        PictureTooLargeError: when it is too large.
    """
    if visit.file is None or not visit.file.size:
        raise UnreadablePictureError(NO_PHOTO)
    with SandboxedDecoder(BATCH_CPU_SECONDS) as viewer:
        return editor.store_picture_and_delete_unused(visit.file.path.read_bytes(), viewer)


def show_looks(
    visit: Visit, *, status: int = 200, errors: dict[str, str] | None = None
) -> Reply:
    """Show every look, the newest first."""
    looks = look_editor_of(visit).all()[::-1]
    item_ids = [look.content.item_id for look in looks]
    titles, sales = titles_of(visit, item_ids), read_look_sums(visit)
    return visit.render(
        "looks.html",
        status=status,
        recount=recount_note(visit),
        rows=[
            replace(
                _look_row(visit, look, titles, sales),
                loses_to=_title_of_look_shown_instead(look, looks),
            )
            for look in looks
        ],
        errors=errors or {},
        on=visit.form["on"],
        look_title=visit.form["title"],
        most_mib=MAX_BYTES >> 20,
    )


def _title_of_look_shown_instead(look: Look, looks: Sequence[Look]) -> str:
    """Return the title of the look that is shown in place of a published one; else ""."""
    rivals = [
        other
        for other in looks
        if other.state is LookState.PUBLISHED
        and other.content.item_id == look.content.item_id
    ]
    if look.state is not LookState.PUBLISHED:
        return ""
    shown = max(rivals, key=lambda other: (other.published_at or 0, other.look_id))
    if shown.look_id == look.look_id:
        return ""
    return shown.content.title or "Without a title"


def _look_row(
    visit: Visit, look: Look, titles: dict[str, str], sales: dict[LookSpot, LookSpotSums]
) -> LookRow:
    content = look.content
    state, tone = STATES[look.state]
    sold = [sums for (look_id, _), sums in sales.items() if look_id == str(look.look_id)]
    return LookRow(
        look=look,
        title=content.title or "Without a title",
        on=titles.get(content.item_id, f"{content.item_id} (not in the catalog)"),
        picture=picture_address_of(visit, content),
        state=state,
        tone=tone,
        sold=LookSpotSums(*map(sum, zip(*sold, strict=True))),
    )


PAGES: Final = (
    Page(
        LOOKS_PATH,
        "Looks",
        show_looks,
        add_look,
        group=NavigationGroup.CATALOG,
        shows_pictures=True,
        file_limit=MAX_BYTES,
        action="Uploaded a photo of a look",
    ),
)
