"""Customer ids per network: how many customers' ids one network names without proof.

Whoever tries one customer number after another reads the lists of all of them. A network
that names too many is served as anonymous. The counts are in shared memory, so a network
has one limit for all API processes of a machine. There is no lock: of two calls in the same
microsecond, one may not count.
"""

import time
from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from productrecs.core.ids import StoreId
from productrecs.http.limits.bot_detection import FLAGGED_SECONDS

if TYPE_CHECKING:
    from array import array

    Cells = memoryview[float] | array[float]

MAX_CUSTOMERS: Final = 60
"""The most customers that a network may name in an hour."""

_HOUR: Final = 3_600.0
_UNTIL: Final = 1  # the cell, after the network's hash, that says until when it is flagged
_HASHES: Final = 2  # the first cell of the customers' hashes
_TIMES: Final = _HASHES + MAX_CUSTOMERS  # and of the times at which they were named last
_ROW: Final = _TIMES + MAX_CUSTOMERS
_PROBED_ROWS: Final = 4


class CustomerIdsPerNetworkLimit:
    """The customers that networks named in the last hour."""

    def __init__(
        self, cells: "Cells", seconds: Callable[[], float] = time.monotonic
    ) -> None:
        """Count in `cells`, initially 0; the network that was idle longest is replaced."""
        self._cells = cells
        self._rows = len(cells) // _ROW
        self._seconds = seconds

    def is_served_as_anonymous(self, store_id: StoreId, network: str | None) -> bool:
        """Return whether a network is served as anonymous; a private one never is."""
        if network is None:
            return False
        row = self._find_row_start(_hash_name_in_store(store_id, network))
        return row is not None and self._cells[row + _UNTIL] > self._seconds()

    def count_customer_and_flag_network(
        self, store_id: StoreId, network: str | None, customer: str
    ) -> None:
        """Count that a network named a customer; flag a network that names too many."""
        if network is None:
            return
        now, cells = self._seconds(), self._cells
        network_hash, customer_hash = (
            _hash_name_in_store(store_id, network),
            _hash_name_in_store(store_id, customer),
        )
        row_start = self._find_row_start(network_hash)
        if row_start is None:
            row_start = self._claim_row_start(network_hash)
        hashes = list(cells[row_start + _HASHES : row_start + _TIMES])
        times = list(cells[row_start + _TIMES : row_start + _ROW])
        if customer_hash in hashes:
            cells[row_start + _TIMES + hashes.index(customer_hash)] = now
            return
        oldest = min(times)
        if oldest and oldest > now - _HOUR:
            cells[row_start + _UNTIL] = now + FLAGGED_SECONDS
            return
        slot = times.index(oldest)
        cells[row_start + _HASHES + slot] = customer_hash
        cells[row_start + _TIMES + slot] = now

    def _candidate_row_starts(self, network_hash: float) -> list[int]:
        """Return the first cells of the rows that a network may have."""
        return [
            (int(network_hash) + step) % self._rows * _ROW for step in range(_PROBED_ROWS)
        ]

    def _find_row_start(self, network_hash: float) -> int | None:
        cells = self._cells
        for row in self._candidate_row_starts(network_hash):
            if cells[row] == network_hash:
                return row
        return None

    def _claim_row_start(self, network_hash: float) -> int:
        """Return a row for a new network: that of the one that was idle longest."""
        cells = self._cells

        def last_use(row: int) -> float:
            return max(cells[row + _UNTIL], *cells[row + _TIMES : row + _ROW])

        row = min(self._candidate_row_starts(network_hash), key=last_use)
        cells[row] = network_hash
        for cell in range(row + _UNTIL, row + _ROW):
            cells[cell] = 0.0
        return row


def _hash_name_in_store(store_id: StoreId, name: str) -> float:
    """Return a hash that is exact in a double, and never 0."""
    text = f"{store_id} {name}".encode("utf-8", "surrogatepass")
    return float(int.from_bytes(blake2b(text, digest_size=6).digest()) + 1)
