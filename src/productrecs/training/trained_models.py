"""Trained models: a store's engines, memory-mapped from disk and replaced atomically."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from productrecs.core.ids import StoreId
from productrecs.engines.array_types_and_sorting import Arrays, Ints, Items, without_prefix
from productrecs.engines.click_boosts import ClickBoostModel
from productrecs.engines.copurchase import CopurchaseModel
from productrecs.engines.engine_protocol import Engine, Model
from productrecs.engines.registry import BUY, ENGINES, SIMILAR, TRENDING
from productrecs.engines.visual import VisualModel
from productrecs.storage.files.model_files import BrokenModelError, open_arrays

_NO_INTS: Final = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class TrainedModels:
    """All engines' models of one store, trained at the same time; immutable."""

    model_id: str
    by_engine: Mapping[str, Any]  # by the engine's name
    click_boosts: ClickBoostModel = field(default_factory=ClickBoostModel.empty)  # by query
    # By `event.interest_key`.
    indicators: ClickBoostModel = field(default_factory=ClickBoostModel.empty)
    # See `item_fingerprints`.
    fingerprints: Ints = field(default_factory=lambda: _NO_INTS)

    def of(self, engine: Engine[Model]) -> Model:
        """Return the model of an engine."""
        model: Model = self.by_engine[engine.name]
        return model

    @property
    def copurchase(self) -> CopurchaseModel:
        """The co-purchases of the items' own baskets."""
        return self.of(BUY).plain

    @property
    def widest(self) -> CopurchaseModel:
        """The co-purchase model with the highest coverage: the pooled one, if any."""
        return self.of(BUY).widest

    @property
    def trending(self) -> Items:
        """Item numbers, most trending first."""
        return self.of(TRENDING).items

    @property
    def ranks(self) -> Items:
        """Each item's rank in `trending`, as in `TrendingModel`."""
        return self.of(TRENDING).ranks

    @property
    def visual(self) -> VisualModel:
        """The picture index, which is published separately."""
        return self.of(SIMILAR)

    def replacing(self, engine: Engine[Model], model: Model) -> Self:
        """Return these models with another one of an engine."""
        return replace(self, by_engine={**self.by_engine, engine.name: model})

    def fingerprint(self, item: int) -> int | None:
        """Return the fingerprint of an item; None if it is unknown."""
        if not 0 <= item < len(self.fingerprints):
            return None
        return hash((int(self.fingerprints[item]), self.visual.fingerprint(item)))

    @classmethod
    def load(cls, folder: Path, model_id: str) -> Self:
        """Memory-map a published model of the store that `folder` is named after.

        Raises:
            BrokenModelError: when its files are damaged, or another store's; keep the last
            good one.
        """
        arrays, facts = open_arrays(folder / model_id)
        if facts.get("store_id") != folder.name:
            message = f"model {model_id} belongs to another store"
            raise BrokenModelError(message)
        try:
            return cls.from_arrays(model_id, arrays)
        except (KeyError, ValueError, TypeError) as error:
            message = f"model {model_id} is incomplete: {error}"
            raise BrokenModelError(message) from error

    @classmethod
    def from_arrays(cls, model_id: str, arrays: Arrays) -> Self:
        """Return the models of all engines' arrays; of none, empty models.

        Raises:
            KeyError, ValueError, TypeError: when they are incomplete.
        """
        by_engine: dict[str, Any] = {}
        boosts, indicators = (
            ClickBoostModel.from_arrays(without_prefix(name, arrays))
            for name in ("click_boosts", "indicators")
        )
        for engine in ENGINES:
            by_engine[engine.name] = engine.load(arrays, by_engine)
        return cls(
            model_id=model_id,
            by_engine=by_engine,
            click_boosts=boosts,
            indicators=indicators,
            fingerprints=np.asarray(arrays.get("fingerprints", _NO_INTS)),
        )


def empty_models() -> TrainedModels:
    """Return the models before the first training: all are empty."""
    return TrainedModels.from_arrays("", {})


def models_folder(models: Path, store_id: StoreId) -> Path:
    """Return the folder of one store's models."""
    return models / store_id
