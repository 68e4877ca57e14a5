"""Shopper repository: SQL of a shopper's names, tests, uploads and erasures."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from productrecs.core.ids import StoreId, visitor_hash
from productrecs.records.events.repository import shopper_bot_events, shopper_events
from productrecs.records.purchases.repository import shopper_lines
from productrecs.storage.sql.shopper_row_export_and_erasure import (
    TableWithShopperIds,
    chunks,
)
from productrecs.storage.sql.store_counters_and_versions import increment_counter
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.stored_insights import read_insight, store_insight
from productrecs.storage.sql.tables import (
    attribution_marks,
    erasures,
    exposures,
    file_imports,
    import_changes,
    live_events,
    mail_choices,
    search_days,
    shopper_links,
    uploads,
)

_DELETING: Final = -1  # attribution reads the log from its beginning again
_SEGMENTS: Final = "customers"  # the only stored insight that names customers
_NAMES_OF_LINES: Final = frozenset({"shopper", "person", "session"})
_UNFINISHED: Final = ("queued", "running")
_CHECKING: Final = "checking"
_CHECKED: Final = "checked"
_BUSY: Final = (_CHECKING, *_UNFINISHED)


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    """One erasure request; `names` are stored until their records are deleted."""

    erasure_id: int
    asked_at: int
    names: tuple[str, ...]
    events: int
    lines: int
    cleared_seq: int | None
    done_at: int | None


class ShopperRecordRepository(StoreScopedRepository):
    """The records of one store's shoppers, inside one transaction; never commits."""

    def all_names_of_shopper(self, name: str) -> tuple[str, ...]:
        """Return every name of a shopper: the customer first, then their sessions."""
        links = shopper_links.c
        query = sa.select(links.customer).where(
            links.store_id == self._store_id, links.session == name
        )
        customer = self._connection.execute(query).scalar() or name
        query = (
            sa.select(links.session)
            .where(links.store_id == self._store_id, links.customer == customer)
            .order_by(links.since_seq, links.session)
        )
        sessions = self._connection.execute(query).scalars()
        return tuple(dict.fromkeys((customer, *sessions, name)))

    def tables_by_kind(self) -> dict[str, TableWithShopperIds]:
        """Return all tables of shoppers, in the order of an export."""
        own = (self._connection, self._store_id)
        return {
            "name": TableWithShopperIds(*own, shopper_links, shopper="customer"),
            "event": shopper_events(*own),
            "bot": shopper_bot_events(*own),
            "purchase": shopper_lines(*own),
            "test": TableWithShopperIds(*own, exposures, shopper="identity"),
        }

    def delete_test_arms_and_rename_units(self, names: Sequence[str]) -> None:
        """Delete the shopper's test arms.

        A unit that another customer shares with them is renamed to that customer's id.
        """
        for name_chunk in chunks(names):
            self._delete_rows(exposures, exposures.c.identity.in_(name_chunk))
            self._update_rows(
                exposures, exposures.c.unit.in_(name_chunk), unit=exposures.c.identity
            )

    def delete_names_from_uploads_and_imports(self, names: Sequence[str]) -> None:
        """Delete entries of upload reports that quote one of the names."""
        columns = uploads.c
        query = sa.select(columns.upload_id, columns.errors).where(
            columns.store_id == self._store_id, columns.errors != "[]"
        )
        for upload_id, errors in self._connection.execute(query).all():
            before = json.loads(errors)
            after = [
                error for error in before if not any(name in error[1] for name in names)
            ]
            if len(after) < len(before):
                self._update_rows(
                    uploads, columns.upload_id == upload_id, errors=json.dumps(after)
                )
        self._empty_import_reports_quoting(names)
        self._clear_names_of_import_changes(names)

    def _empty_import_reports_quoting(self, names: Sequence[str]) -> None:
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
            self._update_rows(file_imports, quoting, **{column.name: empty})

    def _clear_names_of_import_changes(self, names: Sequence[str]) -> None:
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
        for import_id, first_seq, text in self._connection.execute(query).all():
            before = json.loads(text)
            for _, fields in before if isinstance(before, list) else ():
                for name in _NAMES_OF_LINES & (fields or {}).keys():
                    fields[name] = None if fields[name] in names else fields[name]
            self._update_rows(
                import_changes,
                columns.import_id == import_id,
                columns.first_seq == first_seq,
                before=json.dumps(before, ensure_ascii=False),
            )

    def delete_mail_selections(self, names: Sequence[str]) -> None:
        """Delete which products the shopper's mails show."""
        for name_chunk in chunks(names):
            self._delete_rows(
                mail_choices,
                mail_choices.c.recipient.in_([visitor_hash(name) for name in name_chunk]),
            )

    def delete_live_events(self) -> None:
        """Delete all events of the live view, which holds one hour."""
        self._delete_rows(live_events)

    def delete_links(self, names: Sequence[str]) -> None:
        """Delete the links between the names; the last step of an erasure."""
        links = shopper_links.c
        for name_chunk in chunks(names):
            self._delete_rows(
                shopper_links,
                links.session.in_(name_chunk) | links.customer.in_(name_chunk),
            )

    def reset_attribution(self) -> None:
        """Reset attribution: it is recomputed from the log, except for settled days."""
        self._update_rows(attribution_marks, seq=_DELETING)

    def delete_rare_settled_queries(self, min_shoppers: int) -> None:
        """Delete the queries of settled days from fewer shoppers than `min_shoppers`.

        The events that would say who typed them may be purged.
        """
        settled = sa.select(attribution_marks.c.settled_day).where(
            attribution_marks.c.store_id == self._store_id
        )
        self._delete_rows(
            search_days,
            search_days.c.day < settled.scalar_subquery(),
            search_days.c.shoppers < min_shoppers,
        )

    def delete_names_from_customer_list(self, names: Sequence[str]) -> None:
        """Delete the shopper from the customers by name; the segments are due again.

        The sums of all customers stay until then.
        """
        stored = read_insight(self._connection, self._store_id, _SEGMENTS)
        if stored is None:
            return
        people = [person for person in stored.result["people"] if person[0] not in names]
        result = {**stored.result, "people": people}
        due_again = stored._replace(applied_seq=0, result=result)
        store_insight(self._connection, self._store_id, _SEGMENTS, due_again)

    def has_attribution_caught_up(self, seq: int) -> bool:
        """Return whether attribution has processed the log again at least up to `seq`."""
        query = sa.select(attribution_marks.c.seq).where(
            attribution_marks.c.store_id == self._store_id
        )
        processed_seq = self._connection.execute(query).scalar()
        return processed_seq is None or int(processed_seq) >= seq

    def mark_waiting_files_for_recheck(self) -> None:
        """Check files again that wait for the merchant: that drops the shopper's rows."""
        columns = file_imports.c
        self._update_rows(file_imports, columns.status == _CHECKED, status=_CHECKING)

    def unfinished_upload_count(self, until_ms: int) -> int:
        """Return how many files uploaded by `until_ms` are still checked or imported.

        A checked file has lost the shopper's rows, and may wait for the merchant.
        """
        query = sa.select(sa.func.count()).where(
            uploads.c.store_id == self._store_id,
            uploads.c.status.in_(_UNFINISHED),
            uploads.c.submitted_at <= until_ms,
        )
        columns = file_imports.c
        sent = sa.select(sa.func.count()).where(
            columns.store_id == self._store_id,
            columns.status.in_(_BUSY),
            columns.submitted_at <= until_ms,
        )
        return sum(
            int(self._connection.execute(count_query).scalar_one())
            for count_query in (query, sent)
        )


def _written_forms(name: str) -> tuple[str, str, str]:
    """Return a name as written in JSON and in a CSV."""
    return json.dumps(name)[1:-1], name, name.replace('"', '""')


class ErasureRepository(StoreScopedRepository):
    """One store's erasures, inside one transaction; never commits."""

    def all(self) -> list[ErasureRequest]:
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
            ErasureRequest(row[0], row[1], tuple(json.loads(row[2] or "[]")), *row[3:])
            for row in self._connection.execute(query)
        ]

    def add(self, erasure_id: int, asked_at: int, names: Sequence[str]) -> None:
        """Store a new erasure; processes that cache records are notified."""
        self._insert_row(
            erasures,
            erasure_id=erasure_id,
            asked_at=asked_at,
            names=json.dumps(names),
            events=0,
            lines=0,
        )
        self._notify()

    def add_counts(self, erasure_id: int, *, events_gone: int, lines_changed: int) -> None:
        """Add to an erasure's counts."""
        columns = erasures.c
        self._update_rows(
            erasures,
            columns.erasure_id == erasure_id,
            events=columns.events + events_gone,
            lines=columns.lines + lines_changed,
        )

    def record_cleared_and_delete_names(self, erasure_id: int, seq: int) -> None:
        """Record that all the shopper's records are deleted, and delete their ids."""
        columns = erasures.c
        self._update_rows(
            erasures, columns.erasure_id == erasure_id, names=None, cleared_seq=seq
        )
        self._notify()

    def record_finished(self, erasure_id: int, now_ms: int) -> None:
        """Record that all derived data is purged too."""
        columns = erasures.c
        self._update_rows(
            erasures,
            columns.erasure_id == erasure_id,
            columns.done_at.is_(None),
            done_at=now_ms,
        )

    def _notify(self) -> None:
        increment_counter(self._connection, self._store_id, "erasures")


def stores_with_unfinished_erasures(connection: sa.Connection) -> list[StoreId]:
    """Return every store of the installation with an unfinished erasure."""
    query = (
        sa.select(erasures.c.store_id)
        .where(erasures.c.done_at.is_(None))
        .distinct()
        .order_by(erasures.c.store_id)
    )
    return [StoreId(store_id) for store_id in connection.execute(query).scalars()]


def all_shopper_names(connection: sa.Connection, store_id: StoreId) -> Iterator[str]:
    """Yield every name in a store's records; names may repeat."""
    rows = ShopperRecordRepository(connection, store_id).tables_by_kind()
    for kind, column in (
        ("event", "person"),
        ("event", "session"),
        ("bot", "person"),
        ("bot", "session"),
        ("purchase", "person"),
        ("purchase", "session"),
        ("name", "session"),
        ("name", "customer"),
        ("test", "identity"),
    ):
        yield from rows[kind].distinct_names(column)
