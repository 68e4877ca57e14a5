"""Training inputs: a store's log as arrays, read incrementally."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from productrecs.core.ids import visitor_hash
from productrecs.engines.item_stats import ItemStats
from productrecs.training.catalog_inputs import CatalogInputs
from productrecs.training.fit_cache import FitCache
from productrecs.training.indicators import IndicatorInputs
from productrecs.training.repository import TrainingHead, TrainingRepository
from productrecs.training.search_choices.repository import SearchEventRepository
from productrecs.training.search_choices.search_inputs import SearchInputs

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_FACT_BYTES: Final = 30


def _ints(values: Sequence[Any], missing: int = 0) -> Ints:
    return np.array([missing if one is None else one for one in values], dtype=np.int64)


def _floats(values: Sequence[Any]) -> Floats:
    return np.array([np.nan if one is None else one for one in values], dtype=np.float64)


@dataclass(slots=True)
class Behaviour:
    """What shoppers did, in log order: parallel arrays, one entry an event."""

    times: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # UTC ms
    kinds: npt.NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    items: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    visitors: Ints = field(  # core.shopper.visitor_code
        default_factory=lambda: np.zeros(0, np.int64)
    )


@dataclass(slots=True)
class Purchases:
    """What was bought, by `line_seq`: parallel arrays, one entry a line."""

    line_seqs: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    baskets: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # -1: none
    items: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    quantities: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # unknown: 1
    totals: Floats = field(default_factory=lambda: np.zeros(0, np.float64))  # unknown: 0
    times: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # UTC ms
    standing: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    buyers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # 0: unknown
    visitors: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # as Behaviour's


F = TypeVar("F", Behaviour, Purchases)


class TrainingInputs:
    """One store's log up to `applied_seq`. Reading on equals reading from the beginning."""

    def __init__(self) -> None:
        """Begin with an empty log."""
        self._begin(0)

    def follow(self, erasures: int) -> None:
        """Start over if shoppers were erased since: their facts have left the log."""
        if erasures != self.erasures:
            self._begin(erasures)

    def _begin(self, erasures: int) -> None:
        self.erasures = erasures
        self.applied_seq = 0
        self.behaviour = Behaviour()
        self.purchases = Purchases()
        self.searches = SearchInputs()
        self.signs = IndicatorInputs()
        self.trials = ItemStats()
        self.catalog = CatalogInputs()
        self.fit_cache = FitCache()

    @property
    def size(self) -> int:
        """The number of events and purchase lines held, caches counted by their memory."""
        held = len(self.behaviour.items) + len(self.purchases.items)
        held += self.fit_cache.size // _FACT_BYTES
        return held + self.searches.size + len(self.signs.times)

    def read_searches(self, repository: SearchEventRepository, up_to_seq: int) -> None:
        """Read what searches came after `applied_seq`; call it before `read_on`."""
        self.searches.read_on(repository, self.applied_seq, up_to_seq)

    def before(self, until_ms: int) -> "TrainingInputs":
        """Return behaviour and purchases before a moment, without searches.

        The catalog is today's: it has no past.
        """
        earlier = TrainingInputs()
        earlier.catalog = self.catalog
        earlier.behaviour = select_rows(self.behaviour, self.behaviour.times < until_ms)
        earlier.purchases = select_rows(self.purchases, self.purchases.times < until_ms)
        return earlier

    def read_on(self, repository: TrainingRepository, up_to_seq: int) -> int:
        """Read the facts after `applied_seq`; return their number."""
        read, pages = 0, [self.behaviour]
        for page in repository.behaviour(self.applied_seq, up_to_seq):
            read += len(page)
            named = [row for row in page if row[2] is not None]
            pages.append(_behaviour(named))
            if len(named) < len(page):
                reported = [row for row in page if row[2] is None and row[4]]
                self.signs.take([(row[0], row[1], row[4], row[3]) for row in reported])
        self.behaviour = _joined(pages)
        self.trials = self.trials.plus(repository.trials(self.applied_seq, up_to_seq))
        changed = [
            row
            for page in repository.purchases(self.applied_seq, up_to_seq)
            for row in page
        ]
        if changed:
            self._take_purchases(changed)
        self.catalog.take(*repository.catalog(self.catalog.seq))
        self.applied_seq = up_to_seq
        return read + len(changed)

    def _take_purchases(self, rows: list[tuple[Any, ...]]) -> None:
        # A line that changed twice meanwhile is read once, in its last state.
        line_seqs, baskets, items, quantities, totals, times, voids, *whose = zip(
            *rows, strict=True
        )
        buyers, sessions = whose
        fresh = Purchases(
            line_seqs=_ints(line_seqs),
            baskets=_ints(baskets, missing=-1),
            items=np.array(items, np.int32),
            quantities=_ints(quantities, missing=1),
            totals=np.nan_to_num(_floats(totals)),
            times=_ints(times),
            standing=~np.array(voids, np.bool_),
            buyers=_codes(buyers),
            visitors=_codes(
                [one or two for one, two in zip(sessions, buyers, strict=True)]
            ),
        )
        self.purchases = _merged(self.purchases, fresh)


def read_whole_log(repository: TrainingRepository) -> tuple[TrainingInputs, TrainingHead]:
    """Return all that a store's log teaches, but searches, and the head that it goes up to.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    inputs, head = TrainingInputs(), repository.existing_head()
    inputs.read_on(repository, head.seq)
    return inputs, head


def _behaviour(page: Sequence[tuple[Any, ...]]) -> Behaviour:
    if not page:
        return Behaviour()
    times, kinds, items, visitors, *_ = zip(*page, strict=True)
    return Behaviour(
        times=np.array(times, np.int64),
        kinds=np.array(kinds, np.int8),
        items=np.array(items, np.int32),
        visitors=_codes(visitors),
    )


def _joined(parts: Sequence[Behaviour]) -> Behaviour:
    names = Behaviour.__dataclass_fields__
    return Behaviour(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    )


def select_rows(facts: F, chosen: npt.NDArray[np.bool_]) -> F:
    """Return some of parallel arrays."""
    return replace(
        facts, **{name: getattr(facts, name)[chosen] for name in facts.__dataclass_fields__}
    )


def _codes(names: Sequence[str | None]) -> Ints:
    """Return each visitor's hash; 0 for an event without one."""
    codes = {name: visitor_hash(name) if name else 0 for name in set(names)}
    return np.array([codes[name] for name in names], dtype=np.int64)


def _merged(old: Purchases, fresh: Purchases) -> Purchases:
    remaining = ~np.isin(old.line_seqs, fresh.line_seqs)
    names = Purchases.__dataclass_fields__
    joined = {
        name: np.concatenate((getattr(old, name)[remaining], getattr(fresh, name)))
        for name in names
    }
    order = np.argsort(joined["line_seqs"], kind="stable")
    return Purchases(**{name: values[order] for name, values in joined.items()})
