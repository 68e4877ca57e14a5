"""Engine spec: what an engine brings so that lists, cache, reports and training know it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from productrecs.engines.arrays import Arrays, Ints, Items, Ranked


class Facts(NamedTuple):
    """What a store's log says, for an engine that fits itself; parallel arrays.

    Order lines: `baskets`, `bought`, `bought_at`; what visitors did: `visitors`, `seen`,
    `seen_at`. Items are numbers below `n_items`, times UTC milliseconds.
    """

    baskets: Ints
    bought: Items
    bought_at: Ints
    visitors: Ints
    seen: Items
    seen_at: Ints
    n_items: int
    now_ms: int


class CandidateRequest(NamedTuple):
    """What an engine is asked for candidates about; all in item numbers."""

    anchors: tuple[int, ...]  # the page's product, or the cart's
    visit: tuple[int, ...]  # the shopper's newest items, the newest last
    now_ms: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnModel:
    """How an engine fits, loads, answers and is cached without any code elsewhere.

    `fit` returns the arrays that `load` maps again; `candidates` gets the loaded model.
    `fingerprint` returns [n_items] a number for each item, equal while what the engine
    knows of the item is: cached lists about it stay until it changes.
    """

    fit: Callable[[Facts], Arrays]
    load: Callable[[Arrays], Any]
    candidates: Callable[[Any, CandidateRequest], Ranked]
    fingerprint: Callable[[Arrays, int], Ints]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """One engine, as everything that lists engines knows it.

    `weights` is how much it counts in `mix`, by placement. A filler completes short lists
    and changes with the store as a whole. `model` is None for an engine that shares
    its training data with others: `training_run.py` fits it, `candidates.py` asks it.
    """

    name: str  # the `source` of its products on the wire
    summary: str  # for people: what it proposes
    guide: str  # the guide page that describes it
    is_filler: bool = False
    is_trained: bool = True  # by the training job, not on its own way
    is_evaluated: bool = True  # by itself, beside popularity
    weights: Mapping[str, float] = field(default_factory=dict)
    model: OwnModel | None = None

    def __post_init__(self) -> None:
        """Refuse a spec that is not whole.

        Raises:
            ValueError: when a part is missing.
        """
        for part in ("name", "summary", "guide"):
            if not getattr(self, part):
                message = f"engine {self.name!r}: `{part}` is missing"
                raise ValueError(message)
        if self.model is not None and not self.is_filler and not self.weights:
            message = f"engine {self.name!r}: without `weights` it is in no list"
            raise ValueError(message)
