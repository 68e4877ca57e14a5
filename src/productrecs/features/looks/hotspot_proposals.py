"""Hotspot proposals: the products that a look's picture may show; the merchant decides."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from productrecs.engines.visual.region_proposals import intersection_over_union
from productrecs.features.looks.look import LONGEST_LABEL, Hotspot, InvalidLookError, Look
from productrecs.features.looks.look_editor import LookEditor
from productrecs.features.looks.photo_spots import PhotoSpot
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.pictures.fetch_picture import absolute_url, fetch_picture
from productrecs.training.visual.photo_matcher import Box

_SAME: Final = 0.4  # intersection over union from which two boxes show one thing


@dataclass(frozen=True, slots=True)
class HotspotProposal:
    """A box in a look's picture, its confidence, and its likely products, best first."""

    label: str
    box: Box
    confidence: float  # 0 to 1
    products: tuple[tuple[str, float], ...]  # (id, similarity); at least one

    def hotspot(self, item_id: str | None = None) -> Hotspot:
        """Return the proposal as a hotspot, with the given or the most similar product."""
        return Hotspot(self.label, self.box, item_id or self.products[0][0])


def load_or_fetch_look_picture(
    looks: LookEditor, look: Look, domain: str, trusted: Collection[str]
) -> bytes:
    """Return the picture of a look: the stored one, or fetched from its address.

    Raises:
        InvalidLookError: when it is no longer stored.
        PictureUnavailableError: when it cannot be fetched.
    """
    content = look.content
    if content.picture_id:
        stored = looks.picture(content.picture_id)
        if stored is None:
            message = "the look's picture is no longer stored here; upload it again"
            raise InvalidLookError(message)
        return stored
    url = absolute_url(content.image_url, domain)
    return fetch_picture(url, trusted_hosts=trusted).content or b""


def propose_hotspots(
    spots: Sequence[PhotoSpot], catalog: CatalogView, existing: Sequence[Hotspot]
) -> list[HotspotProposal]:
    """Return proposals that do not overlap existing hotspots, most certain first."""
    proposals = []
    for spot in spots:
        box = _round_and_clip_box(spot.box)
        products = tuple(
            (item_id, round(score, 4))
            for item, score in zip(spot.items, spot.scores, strict=True)
            if (item_id := catalog.ids[item]) is not None
        )
        if products and not any(
            intersection_over_union(box, hotspot.box) > _SAME for hotspot in existing
        ):
            label = spot.label[:LONGEST_LABEL]
            proposals.append(
                HotspotProposal(label, box, round(spot.confidence, 4), products)
            )
    return proposals


def _round_and_clip_box(box: Box) -> Box:
    """Return a box in thousandths of the picture, clipped to it."""
    x, y = (min(max(round(corner, 3), 0.0), 0.99) for corner in box[:2])
    width = max(0.001, min(round(box[2], 3), round(1 - x, 3)))
    height = max(0.001, min(round(box[3], 3), round(1 - y, 3)))
    return x, y, width, height
