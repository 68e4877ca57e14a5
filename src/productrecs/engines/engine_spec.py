"""Engine spec: the parts of an engine that lists, cache, reports and training use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from productrecs.engines.arrays import Arrays, Ints, Items, Ranked


class Facts(NamedTuple):
    """A store's events, for an engine with its own model; parallel arrays.

    Order lines: `baskets`, `bought`, `bought_at`; visitor events: `visitors`, `seen`,
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
    """A request for candidates of an engine, in item numbers."""

    anchors: tuple[int, ...]  # the page's product, or the cart's
    visit: tuple[int, ...]  # the shopper's latest items, newest last
    now_ms: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnModel:
    """The fit, load, candidates and fingerprint functions of an engine's own model.

    `fit` returns the arrays that `load` memory-maps; `candidates` gets the loaded model.
    `fingerprint` returns a number per item [n_items] that changes when the engine's data on
    the item changes: cached lists about it are valid until then.
    """

    fit: Callable[[Facts], Arrays]
    load: Callable[[Arrays], Any]
    candidates: Callable[[Any, CandidateRequest], Ranked]
    fingerprint: Callable[[Arrays, int], Ints]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """One registered engine.

    `weights` is its weight in `mix`, by page type. A filler backfills short lists and
    changes with the whole store. `model` is None for an engine with shared training data:
    `training_run.py` fits it, and `candidates.py` queries it.
    """

    name: str  # the `source` of its products on the wire
    summary: str  # for people: which products it recommends
    guide: str  # the guide page that describes it
    is_filler: bool = False
    is_trained: bool = True  # by the training job, not by its own schedule
    is_evaluated: bool = True  # separately, against popularity
    weights: Mapping[str, float] = field(default_factory=dict)
    model: OwnModel | None = None

    def __post_init__(self) -> None:
        """Reject an incomplete spec.

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
