"""Disk failure: a process that could not make a write durable exits."""

import logging
import os
import threading
from typing import Final

_log = logging.getLogger(__name__)

_LAST_WORDS_SECONDS: Final = 0.3
_EX_SOFTWARE: Final = 70


def exit_after_disk_failure() -> None:
    """End this process, from any thread: nothing more may be acknowledged.

    The supervisor starts afresh. The moment is for those who wait: they are told 503.
    """
    _log.critical("stopping: the disk failed to make a write durable")
    threading.Timer(_LAST_WORDS_SECONDS, os._exit, (_EX_SOFTWARE,)).start()
