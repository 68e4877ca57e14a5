"""Engine `similar`: products whose pictures look alike."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from productrecs.engines.array_types_and_sorting import NO_RANKED, Arrays, RankedItems
from productrecs.engines.engine_protocol import EligibleProducts, Engine, ListRequest
from productrecs.engines.visual import VisualModel

_MIN_NEIGHBOURS: Final = 20
"""Minimum number of visible precomputed neighbours; with fewer, all items are searched."""

_MAX_ANCHORS: Final = 5


class VisuallySimilarEngine(Engine[VisualModel]):
    """Recommends what looks like a product; its model has a schedule of its own."""

    name: ClassVar = "similar"
    label: ClassVar = "Looks similar"
    summary: ClassVar = "looks alike"
    guide: ClassVar = "pictures"
    is_filler: ClassVar = True
    is_trained: ClassVar = False

    def load(self, arrays: Arrays, loaded_models: Mapping[str, Any]) -> VisualModel:
        """Return the model before the pictures are read."""
        return VisualModel.empty()

    def candidates(self, model: VisualModel, request: ListRequest) -> RankedItems:
        """Return visible items that look like the first anchor, best first."""
        if not request.anchors:
            return NO_RANKED
        anchor, eligible = request.anchors[0], request.eligible
        precomputed = model.similar_to_item(anchor)
        visible_count = sum(eligible.may_show(item) for item in precomputed.items.tolist())
        if visible_count >= min(_MIN_NEIGHBOURS, len(precomputed.items)) and visible_count:
            return precomputed
        return model.similar_to_item_exhaustive(anchor, _MIN_NEIGHBOURS, eligible.visible)

    def backfill(
        self, model: VisualModel, eligible: EligibleProducts, anchors: Sequence[int]
    ) -> Iterator[int]:
        """Yield items that look like the anchors, those similar to several first."""
        if not len(model):
            return
        neighbours = [model.similar_to_item(anchor) for anchor in anchors[:_MAX_ANCHORS]]
        if not any(len(ranked.items) for ranked in neighbours):
            return
        items = np.concatenate([ranked.items for ranked in neighbours])
        scores = np.concatenate([ranked.scores for ranked in neighbours])
        distinct, item_index = np.unique(items, return_inverse=True)
        score_sums = np.bincount(item_index, scores)
        for index in np.lexsort((distinct, -score_sums)).tolist():
            item = int(distinct[index])
            if eligible.may_show(item):
                yield item
