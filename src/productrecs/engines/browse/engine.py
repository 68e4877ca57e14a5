"""Engine `browse`: what similar visits continued with."""

from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.array_types_and_sorting import (
    MAX_CANDIDATES,
    NO_RANKED,
    Arrays,
    Ints,
    RankedItems,
    prefixed,
    without_prefix,
)
from productrecs.engines.browse.session_index import SessionIndex
from productrecs.engines.engine_protocol import (
    Engine,
    EngineEvidence,
    Explainer,
    FitInputs,
    ListContext,
    ListRequest,
    SimilarVisitViews,
)
from productrecs.engines.item_fingerprints import (
    Words,
    hash_pairs,
    mix_bits,
    sum_hashes_by_run,
    to_words,
)
from productrecs.engines.rank_fusion import fuse_ranked

# Weight of purchases relative to the visit (algorithms.md 4.2)
_PURCHASE_MEMORY_WEIGHT: Final = 0.6


class BrowseEngine(Engine[SessionIndex]):
    """Recommends next items of similar visits, and what fits the shopper's interests."""

    name: ClassVar = "browse"
    label: ClassVar = "Viewed in similar visits"
    summary: ClassVar = "what similar visits continued with"
    is_evaluated: ClassVar = True
    weights: ClassVar = MappingProxyType({"product": 1.0, "cart": 0.4, "shopper": 1.0})

    def fit(self, inputs: FitInputs, fitted_arrays: Arrays) -> Arrays:
        """Return the session index, which the reading of the events has joined."""
        return prefixed(self.name, inputs.sessions)

    def item_hashes(self, arrays: Arrays) -> Iterator[Words]:
        """Yield the hashes of the sessions that hold an item."""
        index = without_prefix(self.name, arrays)
        sessions = sum_hashes_by_run(
            index["offsets"], partial(_hash_items_with_places, index["items"])
        )
        sessions = mix_bits(sessions + mix_bits(to_words(index["owners"])))
        postings = index["postings"]
        yield sum_hashes_by_run(
            index["posting_offsets"], lambda rows, _: sessions[postings[rows]]
        )

    def load(self, arrays: Arrays, loaded_models: Mapping[str, Any]) -> SessionIndex:
        """Return the index of the stored arrays."""
        if not arrays:
            return SessionIndex.empty()
        return SessionIndex.from_arrays(without_prefix(self.name, arrays))

    def candidates(self, model: SessionIndex, request: ListContext) -> RankedItems:
        """Return next items of similar visits, fused with purchases and interests."""
        candidates = NO_RANKED
        if request.visit:
            candidates = model.next_items(
                request.visit,
                request.now_ms,
                MAX_CANDIDATES,
                request.visitor,
                request.interactions,
                extend=request.is_only_engine,
            )
        companions = request.companions_of_purchases()
        if len(companions.items):
            lists = (candidates.items, companions.items)
            candidates = fuse_ranked(lists, (1.0, _PURCHASE_MEMORY_WEIGHT))
        return request.with_interest_signals(candidates)

    def explain(self, model: SessionIndex, request: ListRequest) -> Explainer:
        """Return a function that counts the similar visits which viewed an item."""
        visit = request.visit
        count, views = model.count_neighbours_by_item(
            visit, request.visitor, request.interactions
        )
        return lambda item: EngineEvidence(
            seen_by=SimilarVisitViews(views.get(item, 0), count),
            return_share=model.return_share(visit, item) or None,
        )


def _hash_items_with_places(items: npt.NDArray[Any], rows: slice, offsets: Ints) -> Words:
    """Return the hash of each item and its place in its session."""
    places = np.arange(len(items[rows])) - np.repeat(offsets[:-1], np.diff(offsets))
    return hash_pairs(items[rows], places)
