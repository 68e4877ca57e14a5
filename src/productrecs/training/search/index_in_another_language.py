"""Trial index: a catalog's search index in another language, in a temporary folder."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId
from productrecs.core.private_folders import temp_folder
from productrecs.engines.text.index_schema import FORMAT
from productrecs.engines.text.language_detection_and_stemming import detect_language
from productrecs.records.catalog.searchable_text_changes.repository import (
    read_catalog_versions,
    sample_texts,
)
from productrecs.storage.files.search_index_files import IndexFolder, IndexManifest
from productrecs.storage.sql.dialects import RawReader
from productrecs.training.search.index_generation import IndexGeneration
from productrecs.training.search.served_index import ServedIndex

MAX_PRODUCTS: Final = 100_000
"""Products up to which a trial index is built: about ten seconds."""


class CatalogTooLargeForTrialIndexError(ProductRecsError):
    """The catalog is too large for a trial index."""


@contextlib.contextmanager
def temporary_index_in_language(
    reader: RawReader,
    store_id: StoreId,
    language_setting: str,
    served: ServedIndex,
    parent: Path,
) -> Iterator[ServedIndex]:
    """Give the index that a store would have with another `language_setting`.

    It is below `parent` and removed at the end. Where the setting changes nothing, for
    example from `de` to `de-CH`, it is the `served` one.

    Raises:
        CatalogTooLargeForTrialIndexError: when the catalog is too large.
        BrokenIndexError: when the index cannot be written.
        OSError: when the disk is full or fails.
    """
    language = detect_language(sample_texts(reader, store_id), language_setting)
    if served.language.code == language.split("-", 1)[0].lower():
        yield served
        return
    head = next(each for each in read_catalog_versions(reader) if each.store_id == store_id)
    if head.size > MAX_PRODUCTS:
        message = (
            f"The catalog has more than {MAX_PRODUCTS:,} products: search cannot be tried "
            f"in another language before saving."
        )
        raise CatalogTooLargeForTrialIndexError(message)
    with temp_folder(parent, ".trial-index-") as temporary:
        folder = IndexFolder(temporary / store_id)
        manifest = IndexManifest(
            folder.create_generation_folder(), FORMAT, language, language_setting, 0
        )
        generation = IndexGeneration(store_id, folder, manifest)
        while not generation.index_next_batch(reader, head.seq, publish=False):
            pass
        generation.commit_and_publish_if_due(now=True)
        yield served.with_index_in(folder)
