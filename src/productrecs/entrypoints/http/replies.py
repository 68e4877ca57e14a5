"""Was this asked a moment ago? Finished replies, kept only while they are true."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

LIMIT_BYTES: Final = 40 << 20


class ReplyCache:
    """Bodies of calls that name no shopper, by what was asked.

    All are forgotten when the moment changes: another catalog, model, setting or window.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """Keep up to `limit_bytes` of bodies, the least recently used leave first."""
        self.size = 0
        self._limit = limit_bytes
        self._moment: tuple[object, ...] = ()
        self._bodies: OrderedDict[Hashable, bytes] = OrderedDict()

    def get(self, moment: tuple[object, ...], asked: Hashable) -> bytes | None:
        """Return the body for `asked` if it was made in this very moment."""
        if not _same(moment, self._moment):
            self._bodies.clear()
            self._moment, self.size = moment, 0
            return None
        body = self._bodies.get(asked)
        if body is not None:
            self._bodies.move_to_end(asked)
        return body

    def put(self, asked: Hashable, body: bytes) -> None:
        """Keep a body that was made in the moment last asked about."""
        self._bodies[asked] = body
        self.size += len(body)
        while self.size > self._limit:
            self.size -= len(self._bodies.popitem(last=False)[1])


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
