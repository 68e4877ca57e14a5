"""Widget configuration: a merchant's settings of one widget, and their updates."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, Self

from productrecs.core.errors import ProductRecsError
from productrecs.features.widgets.widget_settings import resolve_widget_settings
from productrecs.tenancy.accounts.store_settings import StoreSettings

MAX_CSS: Final = 64 << 10  # characters
MAX_SETTINGS_BYTES: Final = 64 << 10
MAX_SETTINGS: Final = 200
MAX_TYPES: Final = 50
TYPE_PATTERN: Final = "^[a-z0-9][a-z0-9_-]{0,31}$"
_TYPE: Final = re.compile(TYPE_PATTERN)


class WidgetConfigTooLargeError(ProductRecsError):
    """All settings of one widget together are too large; set some to null first."""


class TooManyWidgetTypesError(ProductRecsError):
    """A store has settings for the maximum number of widget types."""


class Unchanged(Enum):
    """Marker of a value that a change does not set; null resets to the default."""

    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class WidgetConfigChange:
    """One update; a setting that is None returns to its default."""

    settings: Mapping[str, object] = field(default_factory=dict)
    custom_css: str | Unchanged | None = Unchanged.KEEP
    scoped: bool | Unchanged | None = Unchanged.KEEP


@dataclass(frozen=True, slots=True)
class WidgetConfig:
    """A merchant's saved settings of one widget, without defaults."""

    settings: Mapping[str, object] = field(default_factory=dict)
    custom_css: str | None = None
    scoped: bool | None = None

    def merged_with(self, change: WidgetConfigChange) -> Self:
        """Return the config with `change` merged over it.

        Raises:
            WidgetConfigTooLargeError: when all settings together are over their limit.
        """
        merged = {**self.settings, **change.settings}
        settings = {name: value for name, value in merged.items() if value is not None}
        if len(settings) > MAX_SETTINGS or _size(settings) > MAX_SETTINGS_BYTES:
            message = (
                f"the settings of one widget may be at most {MAX_SETTINGS} and "
                f"{MAX_SETTINGS_BYTES} bytes; set those you do not need to null"
            )
            raise WidgetConfigTooLargeError(message)
        css, scoped = change.custom_css, change.scoped
        return replace(
            self,
            settings=settings,
            custom_css=self.custom_css if isinstance(css, Unchanged) else css or None,
            scoped=self.scoped if isinstance(scoped, Unchanged) else scoped,
        )

    def with_defaults(self, widget_type: str, store: StoreSettings, lang: str = "") -> Self:
        """Return the config as a widget uses it, with every default filled in.

        Default texts are in the page's language, if supported.
        """
        return replace(
            self,
            settings=resolve_widget_settings(widget_type, self.settings, store, lang),
            scoped=True if self.scoped is None else self.scoped,
        )


def is_widget_type(text: str) -> bool:
    """Return whether this is a valid name of a widget type."""
    return _TYPE.fullmatch(text) is not None


def _size(settings: Mapping[str, object]) -> int:
    return len(json.dumps(settings, ensure_ascii=False).encode())
