"""How does a store come to its constants? Read its log, ask its past, keep what it says."""

from collections.abc import Callable
from typing import Final

from productrecs.core.clock import DAY_MS, Clock
from productrecs.core.ids import StoreId
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.training.constants.constants import Constants
from productrecs.training.constants.orders import (
    CARTS,
    EXPONENTS,
    PAGES,
    VARIANTS,
    choose_companions,
)
from productrecs.training.constants.repository import (
    Chosen,
    ConstantsRepository,
    Turn,
    turns,
)
from productrecs.training.constants.stretches import STRETCHES
from productrecs.training.constants.visits import DEEDS, GRID, choose_visits
from productrecs.training.inputs import whole_log
from productrecs.training.repository import TrainingRepository

LEAST_FACTS: Final = 2_000  # of a log; below, its past says nothing
AGAIN_MS: Final = 7 * DAY_MS
GROWN_MS: Final = DAY_MS  # or this much later, when the log has doubled
_TRIALS: Final = STRETCHES * (
    3 + sum(map(len, (*PAGES, VARIANTS, *CARTS, *GRID, *DEEDS.values()))) + len(EXPONENTS)
)


def stores_to_choose_for(database: Database, now_ms: int) -> list[StoreId]:
    """Return the stores whose past should be asked again."""
    with database.reading() as connection:
        standing = turns(connection)
    return [turn.store_id for turn in standing if _is_due(turn, now_ms)]


def choose_constants(
    database: Database, store: Store, clock: Clock, tell: Callable[[float], None]
) -> Chosen:
    """Choose and keep the store's constants; `tell` is told a share of 1.

    The same log gives the same choice.

    Raises:
        StoreGoneError: when the store was deleted.
    """
    with database.reading() as connection:
        inputs, head = whole_log(TrainingRepository(connection, store.store_id))
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        tell(min(done / _TRIALS, 1.0))

    bought, products = inputs.purchases, inputs.catalog.kinds(head.numbers)[1]
    companions = choose_companions(bought, head.numbers, count, products=products)
    visits = choose_visits(inputs.behaviour, head.numbers, count, bought=bought)
    usual = Constants()
    said = (("companions", companions), ("visits", visits))
    found = Chosen(
        Constants(companions or usual.companions, visits or usual.visits),
        tuple(name for name, options in said if options is not None),
        clock(),
        head.seq,
    )
    with database.transaction() as transaction:
        AccountRepository(transaction).hold(store.store_id)
        ConstantsRepository(transaction, store.store_id).keep(found)
    tell(1.0)
    return found


def _is_due(turn: Turn, now_ms: int) -> bool:
    if turn.seq < LEAST_FACTS:
        return False
    if turn.chosen_at is None:
        return True
    age = abs(now_ms - turn.chosen_at)
    has_doubled = turn.seq >= 2 * (turn.applied_seq or 0)
    return age >= AGAIN_MS or (has_doubled and age >= GROWN_MS)
