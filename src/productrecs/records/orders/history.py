"""What did this person do and buy? Read on at every request, so their next list knows it.

Each person's state is kept in memory with how far it was read; a request asks the database
only for what came since, in one indexed read that any process's commit is visible to.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from productrecs.core.ids import StoreId
from productrecs.core.shopper import visitor_code
from productrecs.records.events.event import EventKind
from productrecs.storage.dialects import HotReader

RECENT_LIMIT: Final = 50
_LOAD_LIMIT: Final = 300
_BOUGHT_LIMIT: Final = 20_000
_NOBODY_SEQ: Final = -1

_SHOWN_ONLY: Final = int(EventKind.REC_IMPRESSION)
_PERSON: Final = (
    "COALESCE((SELECT customer FROM shopper_links WHERE store_id = ? AND session = ?), ?)"
)
_BEHAVIOUR: Final = (
    "SELECT 1, seq, ts, item, session, '' FROM events "  # noqa: S608 - own constants
    f"WHERE store_id = ? AND person = {_PERSON} AND seq > ? "
    f"AND item IS NOT NULL AND kind <> {_SHOWN_ONLY}"
)
_PURCHASES: Final = (
    "SELECT 2, seq, ts, item, session, '' FROM purchase_lines "  # noqa: S608 - own constants
    f"WHERE store_id = ? AND person = {_PERSON} AND seq > ?"
)
_READ_ON_SQL: Final = (
    f"SELECT 0, 0, 0, 0, '', {_PERSON} UNION ALL {_BEHAVIOUR} UNION ALL {_PURCHASES}"
)
_LOAD_SQL: Final = (
    f"SELECT 0, 0, 0, 0, '', {_PERSON} UNION ALL "  # noqa: S608 - own constants
    f"SELECT * FROM ({_BEHAVIOUR} ORDER BY seq DESC LIMIT {_LOAD_LIMIT}) AS done UNION ALL "
    f"SELECT * FROM ({_PURCHASES} ORDER BY seq DESC LIMIT {_BOUGHT_LIMIT}) AS bought"
)


@dataclass(slots=True)
class History:
    """One person's past: item numbers, the newest last, and all they ever bought."""

    person: str
    seq: int = _NOBODY_SEQ
    recent: list[int] = field(default_factory=list)
    bought: set[int] = field(default_factory=set)
    bought_recently: list[int] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)
    visitor: int = 0  # core.shopper.visitor_code of their newest visit


class Histories:
    """The histories of one store's shoppers, the least recently asked for leave first."""

    def __init__(self, store_id: StoreId, limit: int = 20_000) -> None:
        """Keep up to `limit` people in memory."""
        self._store_id = store_id
        self._limit = limit
        self._known: OrderedDict[str, History] = OrderedDict()

    def of(self, shopper: str, reader: HotReader) -> History:
        """Return the shopper's history as of now; empty for one never seen."""
        history = self._known.get(shopper)
        if history is None:
            return self._load(shopper, reader)
        self._known.move_to_end(shopper)
        rows = self._read(_READ_ON_SQL, shopper, history.seq, reader)
        if len(rows) == 1 and rows[0][5] == history.person:
            return history
        if rows[0][5] != history.person or _unknown_sessions(rows, history):
            return self._load(shopper, reader)  # somebody's sessions became theirs
        _extend(history, rows[1:])
        return history

    def _load(self, shopper: str, reader: HotReader) -> History:
        rows = self._read(_LOAD_SQL, shopper, _NOBODY_SEQ, reader)
        history = History(person=rows[0][5])
        _extend(history, rows[1:])
        self._known[shopper] = history
        self._known.move_to_end(shopper)
        if len(self._known) > self._limit:
            self._known.popitem(last=False)
        return history

    def _read(
        self, sql: str, shopper: str, after_seq: int, reader: HotReader
    ) -> list[tuple[Any, ...]]:
        store, who = self._store_id, (self._store_id, shopper, shopper)
        rows = reader.all(sql, (*who, store, *who, after_seq, store, *who, after_seq))
        return rows if rows[0][0] == 0 else sorted(rows, key=lambda row: row[0])


def _unknown_sessions(rows: Sequence[tuple[Any, ...]], history: History) -> bool:
    return any(row[4] and row[4] not in history.sessions for row in rows[1:])


def _extend(history: History, rows: Sequence[tuple[Any, ...]]) -> None:
    newest_last = sorted(rows, key=lambda row: (row[2], row[1]))
    for kind, seq, _, item, session, _ in newest_last:
        history.seq = max(history.seq, seq)
        history.recent.append(item)
        if kind == 2:  # noqa: PLR2004 - the purchases' half of the query
            history.bought.add(item)
            history.bought_recently.append(item)
        if session:
            history.sessions.add(session)
    if newest_last:
        history.visitor = visitor_code(newest_last[-1][4] or history.person)
    del history.recent[:-RECENT_LIMIT]
    del history.bought_recently[:-RECENT_LIMIT]
