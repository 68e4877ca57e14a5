"""Which price holds now, where a row tells two and the days of the lower one?"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from productrecs.core.clock import iso_of_written
from productrecs.core.window import (
    UnreadableDateError,
    ends_at_ms,
    normalise_moment,
    starts_at_ms,
)
from productrecs.entrypoints.cli.feeds.reading import Reading
from productrecs.entrypoints.cli.feeds.wording import Price, price_of

_SHORT_HOUR: Final = re.compile(r"^(\d{4}-\d{2}-\d{2})[ T](\d):")


def price_now(
    cells: Mapping[str, str],
    reading: Reading,
    as_iso: Callable[[str], str] = str.strip,
    read: Callable[[str, Reading], Price | None] | None = None,
) -> Price | None:
    """Return the sale price while it holds, else the regular one; None where none is told.

    `as_iso` puts a day as the file writes it in a form that `normalise_moment` reads, and
    `read` reads a price. With a day that cannot be read the sale price does not hold, and
    the reading notes it.

    Raises:
        UnreadableOfferError: when a price is none.
    """
    regular, sale = (
        price_of(cells.get(name, ""), reading.separator)
        if read is None
        else read(cells.get(name, ""), reading)
        for name in ("regular_price", "sale_price")
    )
    if sale is None:
        return regular
    try:
        begins = _moment(as_iso(cells.get("sale_from", "")))
        ends = _moment(as_iso(cells.get("sale_to", "")))
    except UnreadableDateError as error:
        reading.saw_odd_date(str(error))
        return sale if regular is None else regular
    is_to_come = begins and starts_at_ms(begins, reading.zone) > reading.now_ms
    is_over = ends and reading.now_ms > ends_at_ms(ends, reading.zone)
    return regular if is_to_come or is_over else sale


def _moment(text: str) -> str | None:
    """Return a day or a moment, normalised; None where there is none.

    Raises:
        UnreadableDateError: with the text itself, when it is neither.
    """
    if not text:
        return None
    padded = _SHORT_HOUR.sub(r"\1T0\2:", text)  # WooCommerce writes 2026-11-28 4:52:08
    try:
        return normalise_moment(iso_of_written(padded) or padded)
    except UnreadableDateError:
        raise UnreadableDateError(text) from None
