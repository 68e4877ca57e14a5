"""Idle scheduling: work stays in the kernel's idle class exactly as long as it should."""

import os
import subprocess
import sys
import threading
import time

import pytest

from productrecs.core import idle_priority
from productrecs.core.idle_priority import can_leave_idle_priority, run_at_idle_priority

pytestmark = pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="needs Linux")
needs_the_way_back = pytest.mark.skipif(
    sys.platform != "linux" or not can_leave_idle_priority(),
    reason="this user's threads may not leave the idle class (RLIMIT_NICE)",
)
TOLD = """
import os
from productrecs.core.idle_priority import can_leave_idle_priority, run_at_idle_priority
os.setuid(65_534)
with run_at_idle_priority(60.0):
    inside = os.sched_getscheduler(0)
print(
    can_leave_idle_priority(),
    inside == os.SCHED_OTHER,
    os.sched_getscheduler(0) == os.SCHED_OTHER,
)
"""


def classes() -> int:
    return os.sched_getscheduler(0)


@needs_the_way_back
def test_calm_work_is_in_the_idle_class_and_nothing_is_after_it() -> None:
    with run_at_idle_priority(60.0):
        assert classes() == os.SCHED_IDLE

    assert classes() == os.SCHED_OTHER


@needs_the_way_back
def test_others_of_the_process_stay_as_they_are() -> None:
    go_on, seen = threading.Event(), list[int]()

    def look() -> None:
        go_on.wait()
        seen.append(classes())

    other = threading.Thread(target=look)
    other.start()
    with run_at_idle_priority(60.0):
        go_on.set()
        other.join()

    assert seen == [os.SCHED_OTHER]


@needs_the_way_back
def test_work_that_takes_long_is_pressed_in_the_end() -> None:
    until = time.monotonic() + 60.0
    with run_at_idle_priority(0.05):
        while classes() == os.SCHED_IDLE and time.monotonic() < until:
            time.sleep(0.01)
        assert classes() == os.SCHED_OTHER


@needs_the_way_back
def test_what_fails_calmly_leaves_no_trace() -> None:
    with pytest.raises(ValueError, match="lost"), run_at_idle_priority(60.0):
        int("lost")

    assert classes() == os.SCHED_OTHER
    assert "calm" not in {thread.name for thread in threading.enumerate()}


def test_no_time_to_be_calm_changes_nothing() -> None:
    with run_at_idle_priority(0.0):
        assert classes() == os.SCHED_OTHER


def test_idle_priority_is_not_entered_where_it_cannot_be_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(idle_priority, "can_leave_idle_priority", lambda: False)

    with run_at_idle_priority(60.0):
        assert classes() == os.SCHED_OTHER


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_user_without_rights_is_found_out_and_left_as_it_was() -> None:
    process = subprocess.run(
        [sys.executable, "-c", TOLD], capture_output=True, text=True, check=True, timeout=60
    )

    assert process.stdout.split() == ["False", "True", "True"]
