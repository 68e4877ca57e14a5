"""What does recommending need to know of one store, at one moment?"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from productrecs.engines.category import best_of
from productrecs.records.catalog.view import CatalogView, Mask
from productrecs.tenancy.accounts.settings import StoreSettings
from productrecs.training.trained_models import TrainedModels

_ENOUGH: Final = 200


@dataclass(slots=True)
class Shop:
    """A store's live catalog, its serving models and its settings.

    `models` and `settings` are replaced whole; whoever answers reads each once.
    """

    catalog: CatalogView
    models: TrainedModels
    settings: StoreSettings
    _best: dict[str, list[int]] = field(default_factory=dict)
    _best_of: tuple[object, ...] = ()

    def visible(self, now_ms: int) -> Mask:
        """Return, by item number, what may be shown now by the store's settings."""
        return self.catalog.visible(now_ms, hide_sold_out=self.settings.hide_out_of_stock)

    def best_of_category(self, name: str, visible: Mask) -> list[int]:
        """Return up to 200 visible items of a category, the most trending first."""
        moment = (self.models, self.catalog.version, id(visible))
        if moment != self._best_of:
            self._best, self._best_of = {}, moment
        best = self._best.get(name)
        if best is None:
            best = self._best[name] = self._rank_category(name, visible)
        return best

    def _rank_category(self, name: str, visible: Mask) -> list[int]:
        members = np.array(self.catalog.members.get(name, ()), dtype=np.int64)
        members = members[members < len(visible)]
        best: list[int] = best_of(
            members[visible[members]], self.models.ranks, _ENOUGH
        ).tolist()
        return best
