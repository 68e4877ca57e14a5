"""Attribution backlog: the newest records of a log, which no figure counts yet."""

from typing import Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.storage.sql.store_counters_and_versions import log_seq
from productrecs.storage.sql.tables import attribution_marks

_USUAL_COUNT: Final = 1_000
_USUAL_SHARE: Final = 0.01


class UnattributedRecordCount(NamedTuple):
    """The newest records of a log that attribution has not read, and the log's length."""

    uncounted: int
    log_length: int
    was_counted: bool = True  # before, unlike those of a new store

    @property
    def distorts_figures(self) -> bool:
        """Whether so much is missing that comparisons mislead, as after an erasure.

        An erasure and another time zone make attribution read the whole log again. A
        thousand records, or one in a hundred, may wait in a busy store at any time.
        """
        usual = max(_USUAL_COUNT, self.log_length * _USUAL_SHARE)
        is_all = 0 < self.uncounted == self.log_length
        return self.was_counted and (self.uncounted > usual or is_all)

    @property
    def note(self) -> str:
        """The sentence about it on a report or page; empty if everything is counted."""
        if self.uncounted <= 0:
            return ""
        return f"The newest {self.uncounted:,} records are not counted yet."


def attribution_backlog(
    connection: sa.Connection, store_id: StoreId
) -> UnattributedRecordCount:
    """Return a store's attribution backlog."""
    progress = sa.select(attribution_marks.c.seq).where(
        attribution_marks.c.store_id == store_id
    )
    counted = connection.execute(progress).scalar()
    log_length = log_seq(connection, store_id)
    uncounted = log_length - max(0, counted or 0)
    return UnattributedRecordCount(uncounted, log_length, was_counted=counted is not None)
