"""Product files read by the importer, without a database."""

import io
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from productrecs.features.imports.feeds.feed_read_state import FeedReadState
from productrecs.features.imports.feeds.format_detection import ItemFileFormat
from productrecs.features.imports.import_source import ImportSource
from productrecs.features.imports.item_file_reader import ReadItem, RejectedItem, read_items
from productrecs.records.orders.order_history_line import row_message

SAMPLES = Path(__file__).parent / "samples"
ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 21, 12, tzinfo=ZONE)


def reading(*, each_variant: bool = False) -> FeedReadState:
    now_ms = int(NOW.timestamp() * 1000)
    return FeedReadState("https://shop.example", ZONE, now_ms, each_variant=each_variant)


def read(
    content: bytes | str,
    folder: Path,
    kind: ItemFileFormat | None = None,
    *,
    each_variant: bool = False,
    ending: str = "",
    how: FeedReadState | None = None,
) -> list[ReadItem]:
    """Return what a file says, row by row."""
    data = content.encode() if isinstance(content, str) else content
    source = ImportSource(io.BytesIO(data), ending, len(data))
    how = how or reading(each_variant=each_variant)
    return list(read_items(source, kind, how, folder, lambda _bytes: None))


def taken(items: list[ReadItem]) -> dict[str, dict[str, object]]:
    """Return the fields of each item that can be taken, by its id, without nulls."""
    return {
        one.item.item_id: {k: v for k, v in one.item.fields.items() if v not in (None, "")}
        for one in items
        if not isinstance(one.item, RejectedItem)
    }


def refused(items: list[ReadItem]) -> dict[int, str]:
    """Return the rows that cannot be taken, and why."""
    return {
        one.row: row_message(one.item.problem, one.item.column, one.item.value)
        for one in items
        if isinstance(one.item, RejectedItem)
    }
