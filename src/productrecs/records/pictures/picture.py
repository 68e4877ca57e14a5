"""Picture: what is stored about an item's picture, and the counts of a store's pictures."""

import hashlib
import zlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from productrecs.engines.visual.image_transforms import Descriptor

MIN_NEW_FACTS: Final = 20_000
"""New facts in a store's log before metric learning from visits is tried again."""


class PictureState(StrEnum):
    """The state of a picture."""

    PENDING = "pending"  # not fetched yet, or to be tried again
    INDEXED = "indexed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class DuePicture:
    """A picture to be fetched."""

    number: int
    url: str
    attempts: int
    etag: str | None
    modified: str | None
    embedder: str | None  # that made the descriptor there is
    digest: int | None = None  # of the file that it was made of


@dataclass(frozen=True, slots=True)
class FetchOutcome:
    """The result of fetching a picture; `descriptor` is None when it stays unchanged."""

    number: int
    url: str  # that was fetched: another may be wanted by now
    state: PictureState
    due_at: int
    attempts: int = 0
    reason: str | None = None
    etag: str | None = None
    modified: str | None = None
    descriptor: bytes | None = None
    embedder: str | None = None
    digest: int | None = None  # of the file that the descriptor was made of


@dataclass(frozen=True, slots=True)
class PictureCounts:
    """Counts of a store's pictures by state; indexed ones can be found by similarity."""

    indexed: int
    pending: int
    failed: int


@dataclass(frozen=True, slots=True)
class PictureFailure:
    """A picture that could not be had, and why."""

    item_id: str
    url: str
    reason: str
    attempts: int
    is_final: bool


@dataclass(frozen=True, slots=True)
class PictureStatus:
    """How far one item's picture has come; `is_indexed` once it can be found."""

    state: PictureState
    reason: str | None
    is_indexed: bool


@dataclass(frozen=True, slots=True)
class PictureProgress:
    """How far a store's pictures follow its catalog, and which visual model serves."""

    catalog_seq: int
    pictured_seq: int
    picture_seq: int
    visual_seq: int
    visual_id: str | None
    seq: int  # of the store's log
    taught_seq: int  # up to which shoppers' visits were learned from

    @property
    def has_enough_new_data(self) -> bool:
        """Whether shoppers have done twice as much since they were learned from."""
        return self.seq >= 2 * self.taught_seq + MIN_NEW_FACTS


@dataclass(frozen=True, slots=True)
class DescribedItem:
    """An item that has a descriptor: since when, its price and its categories."""

    number: int
    seq: int
    price: float | None
    categories: str  # JSON
    digest: int | None = None  # of the picture's file


def file_digest(data: bytes) -> int:
    """Return 64 bits by which the very same file is known again, as a signed number."""
    digest = hashlib.blake2b(data, digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def pack_descriptor(descriptor: Descriptor) -> bytes:
    """Return a descriptor compressed for storage, to a third of its size."""
    return zlib.compress(descriptor.tobytes(), 1)


def unpack_descriptor(data: bytes) -> Descriptor:
    """Return a stored descriptor, decompressed."""
    return np.frombuffer(zlib.decompress(data), dtype=np.uint8)
