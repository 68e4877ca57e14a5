"""Parent watch: ends a worker's command when the worker is gone (standard input closes)."""

import os
import threading
from typing import Final

_PARENT_GONE: Final = 3
_STDIN: Final = 0


def exit_with_parent() -> None:
    """End this process when its parent process ends."""

    def wait() -> None:
        while os.read(_STDIN, 4096):  # not through sys.stdin, whose lock outlives us
            pass
        os._exit(_PARENT_GONE)

    threading.Thread(target=wait, name="parent", daemon=True).start()
