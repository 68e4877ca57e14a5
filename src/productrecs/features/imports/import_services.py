"""Import services: what an import needs of the installation."""

from dataclasses import dataclass
from pathlib import Path

from productrecs.core.clock import Clock
from productrecs.records.uploads.upload_folder import UploadFolder
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import ItemNumberCache
from productrecs.tenancy.billing.plans_and_subscriptions import Plans


@dataclass(frozen=True, slots=True)
class ImportServices:
    """What an import needs of the installation."""

    database: Database
    clock: Clock
    numbers: ItemNumberCache
    folder: Path  # for temporary files
    plans: Plans
    uploads: UploadFolder
