"""Engine spec: the parts of an engine that lists, cache, reports and training use."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """One registered engine.

    `weights` is its weight in `mix`, by page type. A filler backfills short lists and
    changes with the whole store. `training_run.py` fits the engine, and `candidates.py`
    queries it.
    """

    name: str  # the `source` of its products on the wire
    summary: str  # for people: which products it recommends
    guide: str  # the guide page that describes it
    is_filler: bool = False
    is_trained: bool = True  # by the training job, not by its own schedule
    is_evaluated: bool = True  # separately, against popularity
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Reject an incomplete spec.

        Raises:
            ValueError: when a part is missing.
        """
        for part in ("name", "summary", "guide"):
            if not getattr(self, part):
                message = f"engine {self.name!r}: `{part}` is missing"
                raise ValueError(message)
