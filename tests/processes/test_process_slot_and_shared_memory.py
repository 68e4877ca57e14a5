"""Process slot: shared memory, the connections of peers, and a folder of metrics."""

import math
from pathlib import Path

import pytest

from productrecs.processes.child_process import ForkedProcess
from productrecs.processes.process_slot_and_shared_memory import (
    PeerConnectionCounts,
    ProcessSlot,
    SharedMemory,
    create_metrics_folder,
)


def test_a_child_opens_the_slot_that_it_is_given(tmp_path: Path) -> None:
    memory = SharedMemory.create(2)
    slot = ProcessSlot("api 2", 1, memory, tmp_path / "with:colon")
    assert ProcessSlot.parse(str(slot)).metrics == slot.metrics
    ours = PeerConnectionCounts(ProcessSlot("api 1", 0, memory))

    def work() -> int:
        given = ProcessSlot.parse(str(slot))
        assert given.name == "api 2"
        given.memory.buckets[3] += 2.5
        PeerConnectionCounts(given).publish(7, is_ready=True)
        return 0

    assert ForkedProcess("api 2", work, [memory.file]).wait() == 0
    assert memory.buckets[3] == 2.5
    assert ours.fewest_connections_elsewhere() == 7


def test_only_other_processes_that_are_ready_count_as_peers() -> None:
    memory = SharedMemory.create(3)
    first, second, third = (
        PeerConnectionCounts(ProcessSlot("api", number, memory)) for number in range(3)
    )

    first.publish(1, is_ready=True)
    second.publish(2)
    third.publish(9, is_ready=True)
    assert (
        first.fewest_connections_elsewhere(),
        second.fewest_connections_elsewhere(),
        third.fewest_connections_elsewhere(),
    ) == (9, 1, 1)

    third.publish(0, is_ready=False)
    assert (
        first.fewest_connections_elsewhere(),
        second.fewest_connections_elsewhere(),
        third.fewest_connections_elsewhere(),
    ) == (math.inf, 1, 1)
    PeerConnectionCounts(
        ProcessSlot("api", 0, memory)
    )  # a successor, which is not ready yet
    assert second.fewest_connections_elsewhere() == math.inf


def test_the_folder_of_metrics_goes_with_its_service() -> None:
    with create_metrics_folder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700

    assert not folder.exists()


def test_a_process_alone_shares_nothing() -> None:
    alone = ProcessSlot.standalone("api")

    alone.store_metrics_in_folder()

    assert PeerConnectionCounts(alone).fewest_connections_elsewhere() == math.inf
    assert alone.metrics is None


@pytest.mark.parametrize("number", [1, 100])
def test_memory_has_a_cell_for_each_process(number: int) -> None:
    assert len(SharedMemory.create(number).connections) == number
