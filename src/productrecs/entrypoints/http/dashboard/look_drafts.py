"""Look drafts: a look as entered in its form, valid or not."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from productrecs.entrypoints.http.dashboard.page import Form
from productrecs.features.looks.look import Hotspot, LookContent, LookError
from productrecs.features.looks.photo_analysis import HotspotProposal

_ROW_ERROR: Final = re.compile(r"hotspots\.(\d+)\.?\w* ?(.*)", re.DOTALL)
_NEW_BOX: Final = ("40", "40", "20", "20")


@dataclass(frozen=True, slots=True)
class SpotDraft:
    """One hotspot's fields as typed; the box is in per cent of the picture."""

    item_id: str
    label: str
    box: tuple[str, ...]  # x, y, width, height
    is_proposed: bool = False
    others: tuple[str, ...] = ()  # other likely products, the likeliest first

    @classmethod
    def of_hotspot(cls, spot: Hotspot) -> Self:
        """Return the fields of a stored hotspot."""
        return cls(spot.item_id, spot.label, tuple(map(_percent, spot.box)))

    @classmethod
    def of_proposal(cls, found: HotspotProposal) -> Self:
        """Return the fields of a proposed hotspot, with the likeliest product."""
        ids = tuple(item_id for item_id, _ in found.products)
        box = tuple(map(_percent, found.box))
        return cls(ids[0], found.label, box, is_proposed=True, others=ids[1:])

    @classmethod
    def new(cls) -> Self:
        """Return an empty hotspot in the middle."""
        return cls("", "", _NEW_BOX)

    def hotspot(self, row: int) -> Hotspot:
        """Return the hotspot of the fields.

        Raises:
            LookError: when a number is invalid.
        """
        try:
            x, y, width, height = (float(one.replace(",", ".")) / 100 for one in self.box)
        except ValueError:
            message = f"hotspots.{row}.bbox needs four numbers, in per cent of the photo"
            raise LookError(message) from None
        box = (x, y, min(width, 1 - x), min(height, 1 - y))
        if not all(map(math.isfinite, box)):
            message = f"hotspots.{row}.bbox needs four numbers, in per cent of the photo"
            raise LookError(message)
        return Hotspot(self.label, box, self.item_id)


@dataclass(frozen=True, slots=True)
class LookDraft:
    """A look's fields."""

    item_id: str
    title: str
    spots: tuple[SpotDraft, ...] = field(default=())

    @classmethod
    def of_form(cls, form: Form) -> Self:
        """Return the submitted look, without hotspots that are ticked for removal."""
        columns = zip(
            form.each("spot_item"),
            form.each("spot_label"),
            form.each("spot_x"),
            form.each("spot_y"),
            form.each("spot_width"),
            form.each("spot_height"),
            strict=False,
        )
        removed = set(form.all("spot_remove"))
        spots = tuple(
            SpotDraft(item_id, label, tuple(box))
            for row, (item_id, label, *box) in enumerate(columns)
            if str(row) not in removed
        )
        return cls(form["on"], form["title"], spots)

    @classmethod
    def of_content(cls, content: LookContent) -> Self:
        """Return the fields of a stored look."""
        spots = tuple(map(SpotDraft.of_hotspot, content.hotspots))
        return cls(content.item_id, content.title, spots)

    def content(self, titles: Mapping[str, str]) -> LookContent:
        """Return the look of the fields; `titles` are those of existing products.

        Raises:
            LookError: when it names an unknown product, or a number is invalid.
        """
        if self.item_id not in titles:
            message = "item_id: choose the product on whose page the look is shown"
            raise LookError(message)
        for row, spot in enumerate(self.spots):
            if spot.item_id not in titles:
                what = (
                    f"there is no product {spot.item_id}" if spot.item_id else "it is empty"
                )
                message = f"hotspots.{row}.item_id choose a product of your catalog; {what}"
                raise LookError(message)
        spots = tuple(spot.hotspot(row) for row, spot in enumerate(self.spots))
        return LookContent(self.item_id, title=self.title, hotspots=spots)

    @property
    def item_ids(self) -> list[str]:
        """The ids of the look's products and of the other likely products."""
        named = [self.item_id, *(one.item_id for one in self.spots)]
        return list(dict.fromkeys([*named, *(o for one in self.spots for o in one.others)]))


def errors_of(error: LookError) -> dict[str, str]:
    """Return an error by its field or hotspot row."""
    text = str(error)
    found = _ROW_ERROR.fullmatch(text)
    if found:
        what = found[2] or text
        return {f"spot-{found[1]}": f"{what[:1].upper()}{what[1:]}."}
    name, colon, rest = text.partition(": ")
    if colon and name == "item_id":
        return {"on": f"{rest[:1].upper()}{rest[1:]}."}
    where = "title" if text.startswith("title") else "look"
    return {where: f"{text[:1].upper()}{text[1:]}."}


def _percent(side: float) -> str:
    return f"{side * 100:.1f}".removesuffix(".0")
