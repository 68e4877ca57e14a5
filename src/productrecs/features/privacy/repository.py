"""Shopper repository: SQL that finds, exports and deletes the records of one shopper."""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.events.event import EventKind
from productrecs.storage.sql.tables import (
    attribution_marks,
    bot_events,
    erasures,
    event_columns,
    events,
    exposures,
    file_imports,
    import_changes,
    insights,
    live_events,
    purchase_lines,
    search_days,
    shopper_links,
    store_heads,
    uploads,
)

_CHUNK: Final = 400
_TYPED: Final = (int(EventKind.SEARCH_PREF), int(EventKind.SEARCH_CLICK))
_DELETING: Final = -1  # attribution reads the log from its beginning again
_BY_NAME: Final = "customers"  # the only result that names customers
_NAMES_OF_LINES: Final = frozenset({"shopper", "person", "session"})
_UNFINISHED: Final = ("queued", "running")
_CHECKING: Final = "checking"
_CHECKED: Final = "checked"
_BUSY: Final = (_CHECKING, *_UNFINISHED)


@dataclass(frozen=True, slots=True)
class Erasure:
    """One erasure request; `names` are stored until their records are deleted."""

    erasure_id: int
    asked_at: int
    names: tuple[str, ...]
    events: int
    lines: int
    cleared_seq: int | None
    done_at: int | None


class ShopperRepository:
    """The records of one store's shoppers, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def names_of(self, name: str) -> tuple[str, ...]:
        """Return every name of a shopper: the customer first, then their sessions."""
        links = shopper_links.c
        query = sa.select(links.customer).where(
            links.store_id == self._store_id, links.session == name
        )
        customer = self._transaction.execute(query).scalar() or name
        query = (
            sa.select(links.session)
            .where(links.store_id == self._store_id, links.customer == customer)
            .order_by(links.since_seq, links.session)
        )
        sessions = self._transaction.execute(query).scalars()
        return tuple(dict.fromkeys((customer, *sessions, name)))

    def rows(self, table: sa.Table, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield this shopper's rows of a table, in its order."""
        column = _PERSON_COLUMNS[table]
        columns = event_columns(table) if table in {events, bot_events} else table.c
        for some in _chunks(names):
            query = (
                sa.select(*columns)
                .where(table.c.store_id == self._store_id, column.in_(some))
                .order_by(*table.primary_key.columns)
                .execution_options(stream_results=True)
            )
            for row in self._transaction.execute(query):
                yield row._asdict()

    def typed(self, names: Sequence[str]) -> set[str]:
        """Return the shopper's queries as typed."""
        found: set[str] = set()
        for some in _chunks(names):
            query = (
                sa.select(events.c.term)
                .where(
                    events.c.store_id == self._store_id,
                    events.c.person.in_(some),
                    events.c.kind.in_(_TYPED),
                    events.c.term.is_not(None),
                )
                .distinct()
            )
            found.update(self._transaction.execute(query).scalars())
        return found

    def delete_events(self, names: Sequence[str], limit: int) -> int:
        """Delete up to `limit` of the shopper's events, a bot's too; return how many."""
        for some in _chunks(names):
            for table in (events, bot_events):
                found = (
                    sa.select(table.c.seq)
                    .where(table.c.store_id == self._store_id, table.c.person.in_(some))
                    .limit(limit)
                )
                deletion = table.delete().where(
                    table.c.store_id == self._store_id, table.c.seq.in_(found)
                )
                if count := self._transaction.execute(deletion).rowcount:
                    return count
        return 0

    def unname_lines(self, names: Sequence[str], limit: int) -> int:
        """Clear the customer of up to `limit` purchased lines; return how many."""
        for some in _chunks(names):
            found = (
                sa.select(purchase_lines.c.line_seq)
                .where(
                    purchase_lines.c.store_id == self._store_id,
                    purchase_lines.c.person.in_(some),
                )
                .limit(limit)
            )
            changed = (
                purchase_lines.update()
                .where(
                    purchase_lines.c.store_id == self._store_id,
                    purchase_lines.c.line_seq.in_(found),
                )
                .values(shopper=None, person=None, session=None)
            )
            if count := self._transaction.execute(changed).rowcount:
                return count
        return 0

    def facts_of_other_customers(self, table: sa.Table, names: Sequence[str]) -> list[int]:
        """Return the keys of other customers' records from the shopper's sessions.

        Reads all of the store's rows: there is no index of sessions.
        """
        key = _KEY[table]
        return [
            int(found)
            for some in _chunks(names)
            for found in self._transaction.execute(
                sa.select(key).where(
                    table.c.store_id == self._store_id, table.c.session.in_(some)
                )
            ).scalars()
        ]

    def unname_sessions(self, table: sa.Table, keys: Sequence[int]) -> None:
        """Clear the session of these facts, which belong to another customer."""
        for some in _chunks(keys):
            changed = table.update().where(
                table.c.store_id == self._store_id, _KEY[table].in_(some)
            )
            self._transaction.execute(changed.values(session=None))

    def delete_experiment_rows(self, names: Sequence[str]) -> None:
        """Delete the shopper's test arms.

        A unit that another customer shares with them is renamed to that customer's id.
        """
        for some in _chunks(names):
            deletion = exposures.delete().where(
                exposures.c.store_id == self._store_id, exposures.c.identity.in_(some)
            )
            self._transaction.execute(deletion)
            other_rows = exposures.update().where(
                exposures.c.store_id == self._store_id, exposures.c.unit.in_(some)
            )
            self._transaction.execute(other_rows.values(unit=exposures.c.identity))

    def delete_upload_errors(self, names: Sequence[str]) -> None:
        """Delete entries of upload reports that quote one of the names."""
        columns = uploads.c
        query = sa.select(columns.upload_id, columns.errors).where(
            columns.store_id == self._store_id, columns.errors != "[]"
        )
        for upload_id, errors in self._transaction.execute(query).all():
            before = json.loads(errors)
            after = [one for one in before if not any(name in one[1] for name in names)]
            if len(after) < len(before):
                changed = uploads.update().where(
                    columns.store_id == self._store_id, columns.upload_id == upload_id
                )
                self._transaction.execute(changed.values(errors=json.dumps(after)))
        self._delete_import_reports(names)
        self._unname_import_changes(names)

    def _delete_import_reports(self, names: Sequence[str]) -> None:
        """Delete dry runs and rejected rows of dashboard imports that quote a name."""
        columns = file_imports.c
        written_forms = {form for name in names for form in _written_forms(name)}
        for column, empty in (
            (columns.preview, "{}"),
            (columns.result, "{}"),
            (columns.rejects, ""),
        ):
            quoting = sa.or_(
                *(column.contains(form, autoescape=True) for form in written_forms)
            )
            deletion = file_imports.update().where(
                columns.store_id == self._store_id, quoting
            )
            self._transaction.execute(deletion.values({column: empty}))

    def _unname_import_changes(self, names: Sequence[str]) -> None:
        """Clear the names in the earlier values with which an import can be undone."""
        columns = import_changes.c
        quoting = sa.or_(
            *(
                columns.before.contains(
                    json.dumps(name, ensure_ascii=False), autoescape=True
                )
                for name in names
            )
        )
        query = sa.select(columns.import_id, columns.first_seq, columns.before).where(
            columns.store_id == self._store_id, quoting
        )
        for import_id, first_seq, text in self._transaction.execute(query).all():
            before = json.loads(text)
            for _, fields in before if isinstance(before, list) else ():
                for name in _NAMES_OF_LINES & (fields or {}).keys():
                    fields[name] = None if fields[name] in names else fields[name]
            changed = import_changes.update().where(
                columns.store_id == self._store_id,
                columns.import_id == import_id,
                columns.first_seq == first_seq,
            )
            values = {"before": json.dumps(before, ensure_ascii=False)}
            self._transaction.execute(changed.values(values))

    def delete_live_events(self) -> None:
        """Delete all events of the live view, which holds one hour."""
        deletion = live_events.delete().where(live_events.c.store_id == self._store_id)
        self._transaction.execute(deletion)

    def unlink(self, names: Sequence[str]) -> None:
        """Delete the links between the names; the last step of an erasure."""
        links = shopper_links.c
        for some in _chunks(names):
            deletion = shopper_links.delete().where(
                links.store_id == self._store_id,
                links.session.in_(some) | links.customer.in_(some),
            )
            self._transaction.execute(deletion)

    def reset_views(self, max_count: int) -> None:
        """Reset attribution and customers, so that they are recomputed from the log.

        Settled days are not. Their queries from fewer shoppers than `max_count` go, as the
        events that would say who typed them may be purged.
        """
        settled = sa.select(attribution_marks.c.settled_day).where(
            attribution_marks.c.store_id == self._store_id
        )
        rare = search_days.delete().where(
            search_days.c.store_id == self._store_id,
            search_days.c.day < settled.scalar_subquery(),
            search_days.c.shoppers < max_count,
        )
        self._transaction.execute(rare)
        progress_update = attribution_marks.update().where(
            attribution_marks.c.store_id == self._store_id
        )
        self._transaction.execute(progress_update.values(seq=_DELETING))
        deletion = insights.delete().where(
            insights.c.store_id == self._store_id, insights.c.name == _BY_NAME
        )
        self._transaction.execute(deletion)

    def views_caught_up(self, seq: int) -> bool:
        """Return whether attribution has processed the log again at least up to `seq`."""
        progress_update = attribution_marks.c
        query = sa.select(progress_update.seq).where(
            progress_update.store_id == self._store_id
        )
        found = self._transaction.execute(query).scalar()
        return found is None or int(found) >= seq

    def check_files_again(self) -> None:
        """Let checked files that nobody started lose the shopper's rows; lock the head."""
        columns = file_imports.c
        checked = file_imports.update().where(
            columns.store_id == self._store_id, columns.status == _CHECKED
        )
        self._transaction.execute(checked.values(status=_CHECKING))

    def uploads_before(self, moment_ms: int) -> int:
        """Return how many files uploaded until then are still checked or imported.

        A checked file has lost the shopper's rows, and may wait for the merchant.
        """
        query = sa.select(sa.func.count()).where(
            uploads.c.store_id == self._store_id,
            uploads.c.status.in_(_UNFINISHED),
            uploads.c.submitted_at <= moment_ms,
        )
        columns = file_imports.c
        sent = sa.select(sa.func.count()).where(
            columns.store_id == self._store_id,
            columns.status.in_(_BUSY),
            columns.submitted_at <= moment_ms,
        )
        return sum(
            int(self._transaction.execute(one).scalar_one()) for one in (query, sent)
        )


def _written_forms(name: str) -> tuple[str, str, str]:
    """Return a name as written in JSON and in a CSV."""
    return json.dumps(name)[1:-1], name, name.replace('"', '""')


class ErasureRepository:
    """One store's erasures, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Work on `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def all(self) -> list[Erasure]:
        """Return every erasure, the oldest first."""
        columns = erasures.c
        query = (
            sa.select(
                columns.erasure_id,
                columns.asked_at,
                columns.names,
                columns.events,
                columns.lines,
                columns.cleared_seq,
                columns.done_at,
            )
            .where(columns.store_id == self._store_id)
            .order_by(columns.erasure_id)
        )
        return [
            Erasure(row[0], row[1], tuple(json.loads(row[2] or "[]")), *row[3:])
            for row in self._transaction.execute(query)
        ]

    def add(self, erasure_id: int, asked_at: int, names: Sequence[str]) -> None:
        """Store a new erasure; processes that cache records are notified."""
        row = erasures.insert().values(
            store_id=self._store_id,
            erasure_id=erasure_id,
            asked_at=asked_at,
            names=json.dumps(names),
            events=0,
            lines=0,
        )
        self._transaction.execute(row)
        self._notify()

    def count(self, erasure_id: int, *, events_gone: int, lines_changed: int) -> None:
        """Add to an erasure's counts."""
        columns = erasures.c
        changed = erasures.update().where(
            columns.store_id == self._store_id, columns.erasure_id == erasure_id
        )
        self._transaction.execute(
            changed.values(
                events=columns.events + events_gone, lines=columns.lines + lines_changed
            )
        )

    def clear(self, erasure_id: int, seq: int) -> None:
        """Record that all the shopper's records are deleted, and delete their ids."""
        columns = erasures.c
        changed = erasures.update().where(
            columns.store_id == self._store_id, columns.erasure_id == erasure_id
        )
        self._transaction.execute(changed.values(names=None, cleared_seq=seq))
        self._notify()

    def finish(self, erasure_id: int, now_ms: int) -> None:
        """Record that all derived data is purged too."""
        columns = erasures.c
        changed = erasures.update().where(
            columns.store_id == self._store_id,
            columns.erasure_id == erasure_id,
            columns.done_at.is_(None),
        )
        self._transaction.execute(changed.values(done_at=now_ms))

    def _notify(self) -> None:
        head = store_heads.update().where(store_heads.c.store_id == self._store_id)
        self._transaction.execute(head.values(erasures=store_heads.c.erasures + 1))


def stores_in_progress(connection: sa.Connection) -> list[StoreId]:
    """Return every store of the installation with an unfinished erasure."""
    query = (
        sa.select(erasures.c.store_id)
        .where(erasures.c.done_at.is_(None))
        .distinct()
        .order_by(erasures.c.store_id)
    )
    return [StoreId(store_id) for store_id in connection.execute(query).scalars()]


def all_names(connection: sa.Connection, store_id: StoreId) -> Iterator[str]:
    """Yield every name in a store's records; names may repeat."""
    for table, name in (
        (events, "person"),
        (events, "session"),
        (bot_events, "person"),
        (bot_events, "session"),
        (purchase_lines, "person"),
        (purchase_lines, "session"),
        (shopper_links, "session"),
        (shopper_links, "customer"),
        (exposures, "identity"),
    ):
        query = (
            sa.select(table.c[name])
            .where(table.c.store_id == store_id, table.c[name].is_not(None))
            .distinct()
            .execution_options(stream_results=True)
        )
        yield from connection.execute(query).scalars()


_PERSON_COLUMNS: Final = {
    events: events.c.person,
    bot_events: bot_events.c.person,
    purchase_lines: purchase_lines.c.person,
    shopper_links: shopper_links.c.customer,
    exposures: exposures.c.identity,
}
_KEY: Final = {
    events: events.c.seq,
    bot_events: bot_events.c.seq,
    purchase_lines: purchase_lines.c.line_seq,
}


def _chunks(values: Sequence[Any]) -> Iterator[list[Any]]:
    remaining = iter(values)
    while some := list(itertools.islice(remaining, _CHUNK)):
        yield some
