"""Published looks of a store in memory, by the product on whose page they stand."""

from dataclasses import dataclass, field

from productrecs.core.ids import StoreId
from productrecs.features.looks.look import Look
from productrecs.features.looks.repository import read_published
from productrecs.storage.dialects import RawReader


@dataclass(frozen=True, slots=True)
class PublishedLooks:
    """A store's published looks at one moment."""

    seq: int = -1
    newest: dict[str, Look] = field(default_factory=dict)  # by the anchor's id

    @classmethod
    def load(cls, reader: RawReader, store_id: StoreId, seq: int) -> "PublishedLooks":
        """Return the published looks as of `seq`: the newest of each product."""
        found = read_published(reader, store_id) if seq else []
        return cls(seq, {look.content.item_id: look for look in found})
