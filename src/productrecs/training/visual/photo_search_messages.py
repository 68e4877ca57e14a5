"""Photo search messages: the requests to the process that compares photos, and replies."""

from typing import TypeAlias

import msgspec
import numpy as np

from productrecs.engines.array_types_and_sorting import RankedItems
from productrecs.records.pictures.decode_picture import PictureRefusal

ALIKE, AROUND = "alike", "around"

Row: TypeAlias = tuple[bytes, bytes]
"""Item numbers and scores, as `pack_ranked` writes them."""


class PhotoSearchRequest(msgspec.Struct, array_like=True):
    """A photo request: operation, model and visible items.

    The photo is attached.
    """

    operation: str
    folder: str
    visual_id: str
    limit: int
    count: int
    visible: bytes  # one bit for each of `count` items


class PhotoModelMismatch(msgspec.Struct, array_like=True, tag="other-model"):
    """The worker serves another model than the named one, which is older or newer."""


class PhotoItemsReply(msgspec.Struct, array_like=True, tag="items"):
    """The items most similar to a photo, its barcodes' codes and its lines of text."""

    row: Row
    codes: list[str]
    lines: list[str]


class PhotoRegionReply(msgspec.Struct, array_like=True):
    """A region of a photo."""

    box: tuple[float, float, float, float]
    label: str
    confidence: float | None
    similar: Row
    is_garment: bool = False
    similarity: float | None = None


class PhotoRegionReplies(msgspec.Struct, array_like=True, tag="places"):
    """All regions of a photo, and the calibration of the store's matches."""

    regions: list[PhotoRegionReply]
    floor: float
    usual: float
    evidence: list[float]
    chance: list[float]


PhotoReply = PhotoItemsReply | PhotoRegionReplies | PhotoModelMismatch | PictureRefusal


def pack_ranked(ranked: RankedItems) -> Row:
    """Return items and scores as bytes."""
    return ranked.items.astype("<i4").tobytes(), ranked.scores.astype("<f4").tobytes()


def unpack_ranked(row: Row) -> RankedItems:
    """Return the items and scores that `pack_ranked` wrote."""
    return RankedItems(np.frombuffer(row[0], "<i4"), np.frombuffer(row[1], "<f4"))
