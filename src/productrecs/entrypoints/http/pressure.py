"""Is this process behind with its work, and whose lists does it let go then?

The event loop answers in turns; a turn that takes long is what every request of the next
one waits for. When no turn has been quick for a second, more comes in than can be
done, and waiting longer would only make all of it late. Then lists are refused (503), of
those stores first that ask for more than the others; what stores tell us (events, orders,
items) never is. One quick turn, and everybody is answered again.

A turn may be late for want of a processor, too, which somebody else has. So the first few
lists of a turn are always given: they are not what makes it late.
"""

import asyncio
from collections import Counter
from typing import Final

from productrecs.core.errors import ProductRecsError

LOOK_SECONDS: Final = 0.05
LATE_SECONDS: Final = 0.25
"""A look that comes so much too late is late."""
BEHIND_SECONDS: Final = 1.0
FEW: Final = 32
"""So many lists of a turn are given, however late it is: some milliseconds of work."""


class TooMuchAtOnceError(ProductRecsError):
    """More was asked than can be answered in time; this call is let go."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("too many requests at once; send this one again")


class Pressure:
    """How late one process is; `is_behind` is all that a request looks at."""

    def __init__(self) -> None:
        """Begin on time."""
        self.is_behind = False
        self._late_since: float | None = None
        self._asked: Counter[str] = Counter()  # since the last look, while behind

    async def watch(self) -> None:
        """Look at the running loop's lateness for ever."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LOOK_SECONDS
            await asyncio.sleep(LOOK_SECONDS)
            now = loop.time()
            self.note(now, now - due)

    def note(self, now: float, late: float) -> None:
        """Note that a look at `now` came `late` seconds after it was due."""
        self._asked.clear()
        if late < LATE_SECONDS:
            self._late_since = None
            self.is_behind = False
            return
        if self._late_since is None:
            self._late_since = now
        self.is_behind = now - self._late_since >= BEHIND_SECONDS

    def lets_go(self, store_id: str) -> bool:
        """Return whether this call for a list of a store is refused; ask while behind.

        A store that asks for less than the average of all is answered.
        """
        self._asked[store_id] += 1
        asked = self._asked.total()
        return asked > FEW and self._asked[store_id] * len(self._asked) >= asked
