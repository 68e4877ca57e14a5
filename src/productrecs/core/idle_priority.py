"""Idle priority: runs a thread only when no other thread wants the processor.

A low priority is not enough: a running thread may still finish its time slice, and replies
wait for those milliseconds. The kernel interrupts its idle class at once. On a machine that
is always busy an idle thread would starve, so work stays in that class for a limited time
only, and only where the kernel lets it come back.
"""

import contextlib
import os
import threading
from collections.abc import Iterator

from productrecs.core.cache_registry import Cache, memoized


@contextlib.contextmanager
def run_at_idle_priority(seconds: float) -> Iterator[None]:
    """Run this thread at idle priority while the block runs, for `seconds` at most.

    After that, and after the block, it runs as it did before. Nothing changes where it
    could not come back: that takes a limit of niceness (RLIMIT_NICE, `LimitNICE=` in a
    unit of systemd, `nice` among a container's ulimits) of 20 less this process's niceness.

    Hold no lock in the block that others wait for, and start neither threads nor processes:
    they would be in the same class for good.
    """
    if seconds <= 0 or not can_leave_idle_priority():
        yield
        return
    thread = threading.get_native_id()
    over = threading.Event()
    # It begins before: a thread takes over the class of the one that begins it.
    watch = threading.Thread(
        target=_press, args=(thread, over, seconds), name="calm", daemon=True
    )
    watch.start()
    _set(thread, os.SCHED_IDLE)
    try:
        yield
    finally:
        over.set()
        watch.join()
        _set(thread, os.SCHED_OTHER)


@memoized(Cache.CONSTANTS)
def can_leave_idle_priority() -> bool:
    """Return whether a thread of this process may leave the idle class again."""
    if not hasattr(os, "SCHED_IDLE"):
        return False
    told: list[bool] = []
    trying = threading.Thread(target=lambda: told.append(_tried()), name="calm")
    trying.start()
    trying.join()
    return told == [True]


def _tried() -> bool:
    """Go there and back; the thread that does it ends where there is no way back."""
    thread = threading.get_native_id()
    try:
        _set(thread, os.SCHED_IDLE)
        _set(thread, os.SCHED_OTHER)
    except OSError:
        return False
    return True


def _press(thread: int, over: threading.Event, seconds: float) -> None:
    if not over.wait(seconds):
        _set(thread, os.SCHED_OTHER)


def _set(thread: int, policy: int) -> None:
    os.sched_setscheduler(thread, policy, os.sched_param(0))
