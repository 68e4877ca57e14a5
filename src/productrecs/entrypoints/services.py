"""The composition root: settings in, services out. Nothing else constructs."""

from dataclasses import dataclass
from pathlib import Path

from productrecs.core.clock import Clock
from productrecs.settings import Settings
from productrecs.storage.database import Database
from productrecs.storage.store_log import ItemNumbers


@dataclass(frozen=True, slots=True)
class Services:
    """What every way in shares, in one process."""

    settings: Settings
    database: Database
    clock: Clock
    numbers: ItemNumbers
    models: Path  # the folder of trained models, one folder a store

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def build_services(settings: Settings) -> Services:
    """Return the services of `settings`; the schema is migrated by whoever starts first.

    Raises:
        UnsafeStorageError: when the database must not be opened.
    """
    settings.data.mkdir(parents=True, exist_ok=True)
    return Services(
        settings=settings,
        database=Database.open(settings.database_url, settings.data),
        clock=settings.clock,
        numbers=ItemNumbers(),
        models=settings.data / "models",
    )
