"""Hyperparameters: the defaults of a store's engines, with what tuning changed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from productrecs.engines.browse import SessionOptions

Changes = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """The constants of the engines that are tuned."""

    visits: SessionOptions = field(default_factory=SessionOptions)

    @classmethod
    def of(cls, changes: Mapping[str, Changes]) -> Self:
        """Return the defaults with the changes that were kept.

        A name that this release does not know is passed over.
        """
        return cls(visits=with_changes(SessionOptions(), changes.get("visits", {})))

    def changes(self) -> dict[str, dict[str, float]]:
        """Return what differs from the defaults: by engine, then by name."""
        usual = asdict(SessionOptions())
        visits = asdict(self.visits)
        return {"visits": {name: one for name, one in visits.items() if one != usual[name]}}


def with_changes(options: SessionOptions, changes: Changes) -> SessionOptions:
    """Return the options with some values changed, each as the kind of number it is."""
    values: dict[str, Any] = {
        name: type(getattr(options, name))(value)
        for name, value in changes.items()
        if name in options.__dataclass_fields__
    }
    return replace(options, **values)
