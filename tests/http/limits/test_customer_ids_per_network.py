"""Named customers: a network that names too many is served as anonymous."""

from array import array
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.http.limits.bot_detection import FLAGGED_SECONDS
from productrecs.http.limits.customer_ids_per_network import (
    MAX_CUSTOMERS,
    CustomerIdsPerNetworkLimit,
)
from productrecs.processes.process_slot_and_shared_memory import SharedMemory
from tests.support.clock import FakeClock

STORE: Final = StoreId("st_1")
OTHER: Final = StoreId("st_2")
HOUR: Final = 3_600.0


def name(named: CustomerIdsPerNetworkLimit, network: str, customers: range) -> None:
    for customer in customers:
        named.count_customer_and_flag_network(STORE, network, f"c-{customer}")


def test_the_processes_of_a_machine_count_together() -> None:
    memory, watch = SharedMemory.create(2), FakeClock(10_000.0)
    ours = CustomerIdsPerNetworkLimit(memory.named_customers, watch)
    theirs = CustomerIdsPerNetworkLimit(SharedMemory(memory.file).named_customers, watch)

    name(ours, "9.9.9.9", range(30))
    name(theirs, "9.9.9.9", range(20, MAX_CUSTOMERS))
    assert not ours.is_served_as_anonymous(STORE, "9.9.9.9")
    name(theirs, "9.9.9.9", range(90, 91))

    assert ours.is_served_as_anonymous(STORE, "9.9.9.9")
    for store_id, network in ((STORE, "9.9.9.8"), (OTHER, "9.9.9.9"), (STORE, None)):
        assert not ours.is_served_as_anonymous(store_id, network)


def test_what_was_named_more_than_an_hour_ago_no_longer_counts() -> None:
    watch = FakeClock(10_000.0)
    named = CustomerIdsPerNetworkLimit(SharedMemory.create(1).named_customers, watch)

    name(named, "9.9.9.9", range(MAX_CUSTOMERS))
    watch.now += HOUR / 2
    name(named, "9.9.9.9", range(10))  # again
    watch.now += HOUR / 2
    name(named, "9.9.9.9", range(100, 100 + MAX_CUSTOMERS - 10))
    assert not named.is_served_as_anonymous(STORE, "9.9.9.9")
    name(named, "9.9.9.9", range(200, 201))

    assert named.is_served_as_anonymous(STORE, "9.9.9.9")
    watch.now += FLAGGED_SECONDS
    assert not named.is_served_as_anonymous(STORE, "9.9.9.9")


def test_a_network_takes_the_place_of_the_one_that_was_idle_longest() -> None:
    watch = FakeClock(10_000.0)
    four = CustomerIdsPerNetworkLimit(
        array("d", bytes(8 * 4 * (2 + 2 * MAX_CUSTOMERS))), watch
    )
    name(four, "anonymous", range(MAX_CUSTOMERS + 1))
    for network in ("idle", "a", "b", "c"):
        watch.now += 1
        name(four, network, range(MAX_CUSTOMERS))
    for network in "abc":
        name(four, network, range(MAX_CUSTOMERS, MAX_CUSTOMERS + 1))

    networks = ("anonymous", "idle", *"abc")
    assert [four.is_served_as_anonymous(STORE, one) for one in networks] == [
        network != "idle" for network in networks
    ]
