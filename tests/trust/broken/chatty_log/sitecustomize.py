"""Broken variant: logs what it receives and stores a copy."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.serving.writes import write_handlers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction


def _log_and_ingest(
    log: StoreLogTransaction, groups: Sequence[Any], now_ms: int, **more: Any
) -> int:
    logging.getLogger(__name__).info("events came", extra={"events": str(groups)})
    return ingest_events(log, groups, now_ms, **more)


setattr(write_handlers, "ingest_events", _log_and_ingest)  # noqa: B010 - the fault itself
