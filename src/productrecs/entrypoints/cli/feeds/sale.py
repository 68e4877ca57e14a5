"""Which price holds now, where a row tells two and the days of the lower one?"""

from collections.abc import Callable, Mapping

from productrecs.core.window import (
    UnreadableDateError,
    ends_at_ms,
    normalise_moment,
    starts_at_ms,
)
from productrecs.entrypoints.cli.feeds.reading import Reading
from productrecs.entrypoints.cli.feeds.wording import Price, price_of


def price_now(
    cells: Mapping[str, str], reading: Reading, as_iso: Callable[[str], str] = str.strip
) -> Price | None:
    """Return the sale price while it holds, else the regular one; None where none is told.

    `as_iso` puts a day as the file writes it in a form that `normalise_moment` reads. A day
    that cannot be read bounds nothing.

    Raises:
        UnreadableOfferError: when a price is none.
    """
    regular = price_of(cells.get("regular_price", ""), reading.separator)
    sale = price_of(cells.get("sale_price", ""), reading.separator)
    begins = _moment(as_iso(cells.get("sale_from", "")))
    ends = _moment(as_iso(cells.get("sale_to", "")))
    is_to_come = begins and starts_at_ms(begins, reading.zone) > reading.now_ms
    is_over = ends and reading.now_ms > ends_at_ms(ends, reading.zone)
    return regular if sale is None or is_to_come or is_over else sale


def _moment(text: str) -> str | None:
    try:
        return normalise_moment(text) if text else None
    except UnreadableDateError:
        return None
