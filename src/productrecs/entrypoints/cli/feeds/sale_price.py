"""Sale price: the current price, from the regular price, the sale price and its dates."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from productrecs.core.clock import written_date_to_iso
from productrecs.core.time_window import (
    InvalidDateError,
    normalise_timestamp,
    window_end_ms,
    window_start_ms,
)
from productrecs.entrypoints.cli.feeds.feed_reading import FeedReading
from productrecs.entrypoints.cli.feeds.value_parsing import Price, parse_price

_SHORT_HOUR: Final = re.compile(r"^(\d{4}-\d{2}-\d{2})[ T](\d):")


def current_price(
    cells: Mapping[str, str],
    reading: FeedReading,
    as_iso: Callable[[str], str] = str.strip,
    read: Callable[[str, FeedReading], Price | None] | None = None,
) -> Price | None:
    """Return the sale price while it is valid, else the regular one, or None.

    `as_iso` converts a date of the file to a form that `normalise_timestamp` reads, and
    `read` parses a price. With an unreadable date the regular price applies and the
    reading records it.

    Raises:
        InvalidOfferError: when a price is invalid.
    """
    regular, sale = (
        parse_price(cells.get(name, ""), reading.separator)
        if read is None
        else read(cells.get(name, ""), reading)
        for name in ("regular_price", "sale_price")
    )
    if sale is None:
        return regular
    try:
        begins = _moment(as_iso(cells.get("sale_from", "")))
        ends = _moment(as_iso(cells.get("sale_to", "")))
    except InvalidDateError as error:
        reading.saw_odd_date(str(error))
        return sale if regular is None else regular
    is_to_come = begins and window_start_ms(begins, reading.zone) > reading.now_ms
    is_over = ends and reading.now_ms > window_end_ms(ends, reading.zone)
    return regular if is_to_come or is_over else sale


def _moment(text: str) -> str | None:
    """Return a date or a time, normalised; None for a blank.

    Raises:
        InvalidDateError: with the text itself, when it is neither.
    """
    if not text:
        return None
    padded = _SHORT_HOUR.sub(r"\1T0\2:", text)  # WooCommerce writes 2026-11-28 4:52:08
    try:
        return normalise_timestamp(written_date_to_iso(padded) or padded)
    except InvalidDateError:
        raise InvalidDateError(text) from None
