"""Trained models: a store's engines, memory-mapped from disk and replaced atomically."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from productrecs.core.ids import StoreId
from productrecs.engines import browse, copurchase, fusion
from productrecs.engines.arrays import Ints
from productrecs.engines.browse import SessionIndex
from productrecs.engines.click_boosts import ClickBoostModel
from productrecs.engines.complementary import ComplementModel
from productrecs.engines.copurchase import CopurchaseModel, ItemSets
from productrecs.engines.text import semantic_space
from productrecs.engines.visual import VisualModel
from productrecs.storage.files.model_files import BrokenModelError, open_arrays

_NO_INTS: Final = np.zeros(0, dtype=np.int64)
Ranks = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class TrainedModels:
    """All engines of one store, trained at the same time; immutable."""

    model_id: str
    copurchase: CopurchaseModel
    sessions: SessionIndex
    trending: npt.NDArray[np.int32]  # item numbers, most trending first
    ranks: Ranks  # rank of each item in `trending`; `len(trending)` for items not in it
    complements: ComplementModel = field(default_factory=ComplementModel.empty)
    item_sets: ItemSets = field(default_factory=ItemSets.empty)  # candidates for bundles
    pooled: CopurchaseModel | None = None  # with pooled baskets of variants, if any
    carts: CopurchaseModel | None = None  # of orders and carts, if carts add pairs
    click_boosts: ClickBoostModel = field(default_factory=ClickBoostModel.empty)  # by query
    # By `event.interest_key`.
    indicators: ClickBoostModel = field(default_factory=ClickBoostModel.empty)
    visual: VisualModel = field(default_factory=VisualModel.empty)  # published separately
    # See `item_fingerprints`.
    fingerprints: Ints = field(default_factory=lambda: _NO_INTS)
    # See `usual_intervals`.
    intervals: Ints = field(default_factory=lambda: _NO_INTS)

    @property
    def widest(self) -> CopurchaseModel:
        """The co-purchase model with the highest coverage: the pooled one, if any."""
        return self.copurchase if self.pooled is None else self.pooled

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
        if facts.get("store_id", folder.name) != folder.name:  # absent in older ones
            message = f"model {model_id} belongs to another store"
            raise BrokenModelError(message)
        try:
            return cls.of(model_id, arrays)
        except (KeyError, ValueError, TypeError) as error:
            message = f"model {model_id} is incomplete: {error}"
            raise BrokenModelError(message) from error

    @classmethod
    def of(cls, model_id: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the models of all engines' arrays, named `engine.array`.

        Raises:
            KeyError, ValueError, TypeError: when they are incomplete.
        """
        trending, carts = arrays["trending"], engine_arrays(arrays, "carts")
        pooled = engine_arrays(arrays, "lent")
        return cls(
            model_id=model_id,
            copurchase=CopurchaseModel.from_arrays(engine_arrays(arrays, "copurchase")),
            sessions=SessionIndex.from_arrays(engine_arrays(arrays, "browse")),
            trending=trending,
            ranks=_ranks(trending),
            complements=ComplementModel.from_arrays(engine_arrays(arrays, "complementary")),
            item_sets=ItemSets.from_arrays(engine_arrays(arrays, "sets")),
            pooled=CopurchaseModel.from_arrays(pooled) if pooled else None,
            carts=CopurchaseModel.from_arrays(carts) if carts else None,
            click_boosts=ClickBoostModel.from_arrays(engine_arrays(arrays, "choices")),
            indicators=ClickBoostModel.from_arrays(engine_arrays(arrays, "signs")),
            fingerprints=np.asarray(arrays.get("marks", _NO_INTS)),
            intervals=np.asarray(arrays.get("intervals", _NO_INTS)),
        )


def empty_models() -> TrainedModels:
    """Return the models before the first training: all are empty."""
    no_items = np.zeros(0, dtype=np.int32)
    return TrainedModels(
        model_id="",
        copurchase=CopurchaseModel.empty(),
        sessions=SessionIndex.empty(),
        trending=no_items,
        ranks=no_items,
    )


def engine_arrays(
    arrays: Mapping[str, npt.NDArray[Any]], name: str
) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of one engine: those named `name.`..., without that prefix."""
    prefix = f"{name}."
    return {
        key.removeprefix(prefix): value
        for key, value in arrays.items()
        if key.startswith(prefix)
    }


def models_folder(models: Path, store_id: StoreId) -> Path:
    """Return the folder of one store's models."""
    return models / store_id


def _ranks(trending: npt.NDArray[np.int32]) -> Ranks:
    size = int(trending.max()) + 1 if len(trending) else 0
    ranks = np.full(size, len(trending), dtype=np.int32)
    ranks[trending] = np.arange(len(trending), dtype=np.int32)
    return ranks


def warm_up() -> None:
    """Load the engines' compiled kernels.

    The first time on a machine this compiles for about 10 s; `tools/setup` does it
    beforehand. Without it numpy gives the same answers.
    """
    browse.warm_up()
    copurchase.warm_up()
    fusion.warm_up()
    semantic_space.warm_up()
