"""Picture: the stored data of an item's picture, and counts of a store's pictures."""

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final

import numpy as np

from productrecs.engines.visual.image_transforms import Descriptor

MIN_NEW_FACTS: Final = 20_000
"""New facts in a store's log before metric learning is retried."""


class PictureState(StrEnum):
    """The state of a picture."""

    PENDING = "pending"  # not fetched yet, or to be retried
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
    embedder: str | None  # the creator of the existing descriptor
    digest: int | None = None  # of the file behind the descriptors
    other_embedder: str | None = None  # the creator of the second descriptor

    @property
    def embedders(self) -> tuple[str | None, ...]:
        """The creators of both descriptors; none where the file's digest is unknown."""
        if self.digest is None:
            return ()
        return self.embedder, self.other_embedder


class DescriptorPlace(Enum):
    """Where new descriptors of a picture are stored."""

    BOTH = "both"  # a new file: they replace all
    FIRST = "first"  # of the same file: the second one stays
    SECOND = "second"


@dataclass(frozen=True, slots=True)
class PictureFetchOutcome:
    """The result of fetching a picture; without `descriptors` they stay unchanged."""

    number: int
    url: str  # the fetched address; the item's may have changed
    state: PictureState
    due_at: int
    attempts: int = 0
    reason: str | None = None
    etag: str | None = None
    modified: str | None = None
    descriptors: Mapping[str, bytes] = field(default_factory=dict)  # by embedder, up to two
    place: DescriptorPlace = DescriptorPlace.BOTH
    digest: int | None = None  # of the file behind the descriptors


@dataclass(frozen=True, slots=True)
class PictureCounts:
    """Counts of a store's pictures by state; indexed ones can be found by similarity."""

    indexed: int
    pending: int
    failed: int


@dataclass(frozen=True, slots=True)
class PictureFetchFailure:
    """A picture that could not be fetched, and the reason."""

    item_id: str
    url: str
    reason: str
    attempts: int
    is_final: bool


@dataclass(frozen=True, slots=True)
class PictureStatus:
    """The state of one item's picture; `is_indexed` once it can be found."""

    state: PictureState
    reason: str | None
    is_indexed: bool


@dataclass(frozen=True, slots=True)
class VisualModelProgress:
    """The catalog position that a store's pictures cover, and the serving visual model."""

    catalog_seq: int
    pictured_seq: int
    picture_seq: int
    visual_seq: int
    visual_id: str | None
    seq: int  # of the store's log
    learned_seq: int  # log position up to which metric learning used visits

    @property
    def has_enough_new_data(self) -> bool:
        """Whether shoppers' activity has doubled since the last metric learning."""
        return self.seq >= 2 * self.learned_seq + MIN_NEW_FACTS


@dataclass(frozen=True, slots=True)
class DescribedItem:
    """An item with a descriptor: its time, price and categories."""

    number: int
    seq: int
    price: float | None
    categories: str  # JSON
    digest: int | None = None  # of the picture's file


def file_digest(data: bytes) -> int:
    """Return a signed 64-bit hash that identifies a file."""
    digest = hashlib.blake2b(data, digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def pack_descriptor(descriptor: Descriptor) -> bytes:
    """Return a descriptor compressed to a third of its size."""
    return zlib.compress(descriptor.tobytes(), 1)


def unpack_descriptor(data: bytes) -> Descriptor:
    """Return a stored descriptor, decompressed."""
    return np.frombuffer(zlib.decompress(data), dtype=np.uint8)
