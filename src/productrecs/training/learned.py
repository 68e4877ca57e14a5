"""How is an engine that has constants fitted on what was read? One way for all who do."""

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import DAY_MS
from productrecs.engines.browse import SessionIndex, SessionOptions, fit_sessions, visits
from productrecs.engines.copurchase import (
    CopurchaseModel,
    CopurchaseOptions,
    fit_copurchase,
)
from productrecs.training.inputs import Behaviour, Purchases


def companions_of(
    bought: Purchases, n_items: int, now_ms: int, options: CopurchaseOptions
) -> CopurchaseModel:
    """Return what is bought together, learned from the orders that stand."""
    together = in_orders(bought)
    return fit_copurchase(
        bought.baskets[together],
        bought.items[together],
        ((now_ms - bought.times[together]) / DAY_MS).clip(min=0).astype(np.float32),
        n_items,
        options,
        bought.buyers[together],
    )


def sessions_of(done: Behaviour, n_items: int, options: SessionOptions) -> SessionIndex:
    """Return the index of everybody's visits."""
    return fit_sessions(
        visits(done.visitors, done.times),
        done.items,
        done.times,
        n_items,
        options,
        owners=done.visitors,
    )


def in_orders(bought: Purchases) -> npt.NDArray[np.bool_]:
    """Return which lines are of an order, and neither void nor returned."""
    which: npt.NDArray[np.bool_] = (
        bought.standing & (bought.quantities > 0) & (bought.baskets >= 0)
    )
    return which
