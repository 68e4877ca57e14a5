"""Encoder progress: how many pictures an encoder has described, and which stores it serves.

A store's lists switch to the current encoder when it has described nearly all pictures.
What the previous one has described stays until the next switch, or is deleted here.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.records.pictures.repository import PictureRepository
from productrecs.storage.sql.database import Database
from productrecs.training.repository import serving_snapshots
from productrecs.training.visual.build_visual_model import (
    models_of_embedder,
    served_embedder,
)

_BATCH: Final = 1_000


@dataclass(frozen=True, slots=True)
class EncoderProgress:
    """What an encoder has done in all stores with pictures."""

    stores: int  # with lists by visual similarity
    served_stores: int  # whose lists come from this encoder
    pictures: int  # that any encoder has described
    described: int  # that this one has described
    descriptor_bytes: int  # of its descriptors in the database

    @property
    def serves_all_stores(self) -> bool:
        """Whether it serves all stores."""
        return self.served_stores == self.stores


def measure_encoder_progress(
    database: Database, root: Path, embedder: str
) -> EncoderProgress:
    """Return what an encoder has done; `root` is the folder of visual models."""
    stores = served = pictures = described = size = 0
    with database.reading() as connection:
        for head in serving_snapshots(connection):
            repository = PictureRepository(connection, head.store_id)
            stores += head.visual_id is not None
            served += served_embedder(root, head.store_id, head.visual_id) == embedder
            pictures += repository.count_all_described()
            described += repository.count_described(embedder)
            size += repository.descriptor_bytes(embedder)
    return EncoderProgress(stores, served, pictures, described, size)


def delete_encoder_descriptors(database: Database, root: Path, embedder: str) -> None:
    """Delete what an encoder has described, and its visual models that do not serve.

    Pictures that no other encoder has described keep their descriptor.
    """
    with database.reading() as connection:
        heads = serving_snapshots(connection)
    for head in heads:
        _delete_descriptors(database, head.store_id, embedder)
        for path in models_of_embedder(root, head.store_id, embedder):
            if path.name != head.visual_id:
                shutil.rmtree(path, ignore_errors=True)


def _delete_descriptors(database: Database, store_id: StoreId, embedder: str) -> None:
    """Delete a store's descriptors in small transactions."""
    with database.reading() as connection:
        last = PictureRepository(connection, store_id).last_number()
    for start in range(0, last + 1, _BATCH):
        with database.transaction(synced=False) as transaction:
            PictureRepository(transaction, store_id).delete_spare_descriptors(
                embedder, range(start, start + _BATCH)
            )
