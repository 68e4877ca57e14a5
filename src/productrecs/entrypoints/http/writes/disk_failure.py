"""Disk failure: a process that could not make a write durable exits."""

import logging
import os
import threading
from typing import Final

_log = logging.getLogger(__name__)

_EXIT_DELAY_SECONDS: Final = 0.3
_EX_SOFTWARE: Final = 70


def exit_after_disk_failure() -> None:
    """Exit this process, from any thread: nothing more may be acknowledged.

    The supervisor restarts it. The delay lets pending requests get their 503.
    """
    _log.critical("disk sync failed")
    threading.Timer(_EXIT_DELAY_SECONDS, os._exit, (_EX_SOFTWARE,)).start()
