"""Hyperparameters: the defaults of a store's engines, with tuned changes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self, TypeVar

from productrecs.engines.browse import SessionOptions
from productrecs.engines.copurchase import CopurchaseOptions
from productrecs.engines.personal_search import PersonalSearchOptions

Options = TypeVar("Options", CopurchaseOptions, SessionOptions, PersonalSearchOptions)
Changes = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """The hyperparameters of the tunable engines."""

    companions: CopurchaseOptions = field(default_factory=CopurchaseOptions)
    visits: SessionOptions = field(default_factory=SessionOptions)
    search: PersonalSearchOptions = field(default_factory=PersonalSearchOptions)

    @classmethod
    def of(cls, changes: Mapping[str, Changes]) -> Self:
        """Return the defaults with the stored changes.

        Names that this release does not know are ignored.
        """
        return cls(
            companions=with_changes(CopurchaseOptions(), changes.get("companions", {})),
            visits=with_changes(SessionOptions(), changes.get("visits", {})),
            search=with_changes(PersonalSearchOptions(), changes.get("search", {})),
        )

    def changes(self) -> dict[str, dict[str, float]]:
        """Return the differences from the defaults: by engine, then by name."""
        return {
            "companions": _differences(self.companions, CopurchaseOptions()),
            "visits": _differences(self.visits, SessionOptions()),
            "search": _differences(self.search, PersonalSearchOptions()),
        }


def with_changes(options: Options, changes: Changes) -> Options:
    """Return the options with some values changed, each converted to its field's type."""
    values: dict[str, Any] = {
        name: type(getattr(options, name))(value)
        for name, value in changes.items()
        if name in options.__dataclass_fields__
    }
    return replace(options, **values)


def _differences(options: Options, defaults: Options) -> dict[str, float]:
    default_values = asdict(defaults)
    return {
        name: one for name, one in asdict(options).items() if one != default_values[name]
    }
