"""Idle priority: runs a thread only when no other thread wants the processor.

A low priority is not enough: a running thread may still finish its time slice, which delays
replies by milliseconds. The kernel preempts its idle class at once. On a machine that is
always busy an idle thread would starve, so a thread stays in that class for a limited time,
and enters it only if the kernel lets it leave.
"""

import contextlib
import os
import threading
from collections.abc import Iterator

from productrecs.core.cache_registry import RegisteredCache, memoized


@contextlib.contextmanager
def run_at_idle_priority(seconds: float) -> Iterator[None]:
    """Run this thread at idle priority while the block runs, for `seconds` at most.

    Afterwards its former priority is restored. Nothing changes if the process may not
    restore it: that requires a niceness limit (RLIMIT_NICE; `LimitNICE=` in a systemd unit,
    `nice` in a container's ulimits) of 20 minus this process's niceness.

    Hold no lock in the block that other threads need, and start no threads or processes:
    they would stay in the idle class permanently.
    """
    if seconds <= 0 or not can_leave_idle_priority():
        yield
        return
    thread = threading.get_native_id()
    over = threading.Event()
    # Started first: a new thread inherits the class of the thread that starts it.
    watch = threading.Thread(
        target=_leave_idle_class_after,
        args=(thread, over, seconds),
        name="calm",
        daemon=True,
    )
    watch.start()
    _set_scheduling_policy(thread, os.SCHED_IDLE)
    try:
        yield
    finally:
        over.set()
        watch.join()
        _set_scheduling_policy(thread, os.SCHED_OTHER)


@memoized(RegisteredCache.CONSTANTS)
def can_leave_idle_priority() -> bool:
    """Return whether a thread of this process may leave the idle class again."""
    if not hasattr(os, "SCHED_IDLE"):
        return False
    results: list[bool] = []
    probe = threading.Thread(target=lambda: results.append(_try_idle_class()), name="calm")
    probe.start()
    probe.join()
    return results == [True]


def _try_idle_class() -> bool:
    """Enter and leave the class in a thread, which ends if it cannot leave."""
    thread = threading.get_native_id()
    try:
        _set_scheduling_policy(thread, os.SCHED_IDLE)
        _set_scheduling_policy(thread, os.SCHED_OTHER)
    except OSError:
        return False
    return True


def _leave_idle_class_after(thread: int, over: threading.Event, seconds: float) -> None:
    if not over.wait(seconds):
        _set_scheduling_policy(thread, os.SCHED_OTHER)


def _set_scheduling_policy(thread: int, policy: int) -> None:
    os.sched_setscheduler(thread, policy, os.sched_param(0))
