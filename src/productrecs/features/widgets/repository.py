"""Widget repository: SQL for widget configurations."""

import json
from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.features.widgets.widget_config import (
    MAX_TYPES,
    TooManyWidgetTypesError,
    WidgetConfig,
    WidgetConfigChange,
    is_widget_type,
)
from productrecs.storage.sql.dialects import RawConnection, RawReader
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import widget_configs
from productrecs.tenancy.accounts.repository import AccountRepository

_CONFIG_SQL: Final = (
    "SELECT settings, custom_css, scoped FROM widget_configs "
    "WHERE store_id = ? AND type = ?"
)


def read_widget_config(
    reader: RawReader | RawConnection, store_id: StoreId, widget_type: str
) -> WidgetConfig:
    """Return the saved settings of a widget type; empty without any."""
    if not is_widget_type(widget_type):
        return WidgetConfig()
    rows = reader.all(_CONFIG_SQL, (store_id, widget_type))
    return _to_widget_config(rows[0]) if rows else WidgetConfig()


class WidgetRepository(StoreScopedRepository):
    """One store's widgets, inside one transaction; never commits."""

    def find(self, widget_type: str) -> WidgetConfig:
        """Return the saved settings of a widget type; empty without any."""
        return read_widget_config(self._raw, self._store_id, widget_type)

    def all(self) -> dict[str, WidgetConfig]:
        """Return the saved settings, by type of widget."""
        query = sa.select(
            widget_configs.c.type,
            widget_configs.c.settings,
            widget_configs.c.custom_css,
            widget_configs.c.scoped,
        ).where(widget_configs.c.store_id == self._store_id)
        rows = self._connection.execute(query.order_by(widget_configs.c.type))
        return {row[0]: _to_widget_config(row[1:]) for row in rows}

    def merge_change(
        self, widget_type: str, change: WidgetConfigChange, now_ms: int
    ) -> WidgetConfig:
        """Merge `change` into the saved settings and return them; changes are serialised.

        Raises:
            StoreDeletedError: when the store was deleted.
            WidgetConfigTooLargeError: when all settings together exceed their limit.
            TooManyWidgetTypesError: when there are too many widget types.
        """
        AccountRepository(self._connection).lock(self._store_id)
        config = self.find(widget_type).merged_with(change)
        if config == WidgetConfig():
            self._delete(widget_type)
        else:
            self._check_limit_and_store(widget_type, config, now_ms)
        return config

    def _check_limit_and_store(
        self, widget_type: str, config: WidgetConfig, now_ms: int
    ) -> None:
        query = sa.select(widget_configs.c.type)
        query = query.where(widget_configs.c.store_id == self._store_id)
        types = set(self._connection.execute(query).scalars()) | {widget_type}
        if len(types) > MAX_TYPES:
            message = (
                f"settings are stored for at most {MAX_TYPES} widget types; set those "
                "of another type to null first"
            )
            raise TooManyWidgetTypesError(message)
        self._put_row(
            widget_configs,
            type=widget_type,
            settings=json.dumps(config.settings, ensure_ascii=False),
            custom_css=config.custom_css,
            scoped=config.scoped,
            updated_at=now_ms,
        )

    def _delete(self, widget_type: str) -> None:
        self._delete_rows(widget_configs, type=widget_type)


def _to_widget_config(row: Sequence[Any]) -> WidgetConfig:
    settings, custom_css, scoped = row
    return WidgetConfig(
        settings=json.loads(settings),
        custom_css=custom_css,
        scoped=None if scoped is None else bool(scoped),
    )
