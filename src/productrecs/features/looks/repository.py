"""Look repository: SQL for looks and their pictures."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.features.looks.look import (
    Hotspot,
    Look,
    LookContent,
    LookState,
    LookVersion,
    SanitizedPicture,
)
from productrecs.storage.sql.dialects import RawConnection, RawReader
from productrecs.storage.sql.sequence_and_item_numbers import increment_existing_counter
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import look_pictures, look_versions, looks

_PUBLISHED_SQL: Final = (
    "SELECT look_id, item_id, image_url, title, hotspots, state, published_at, "
    "updated_at, picture_id, updated_by FROM looks "
    "WHERE store_id = ? AND state = 'published' ORDER BY published_at, look_id"
)

_PICTURE_SQL: Final = (
    "SELECT content FROM look_pictures WHERE store_id = ? AND picture_id = ?"
)


def read_published_looks(reader: RawReader, store_id: StoreId) -> list[Look]:
    """Return a store's published looks, newest last."""
    return [_to_look(row) for row in reader.all(_PUBLISHED_SQL, (store_id,))]


def read_look_picture(
    reader: RawReader | RawConnection, store_id: StoreId, picture_id: str
) -> bytes | None:
    """Return the JPEG of a stored picture of a store's looks."""
    rows = reader.all(_PICTURE_SQL, (store_id, picture_id))
    return bytes(rows[0][0]) if rows else None


class LookRepository(StoreScopedRepository):
    """One store's looks, inside one transaction; never commits."""

    def lock_and_next_id(self) -> int:
        """Lock the store's looks and return an id that no look has had.

        Raises:
            StoreDeletedError: when the store was deleted.
        """
        return increment_existing_counter(self._connection, self._store_id, "looks_seq")

    def all(self) -> list[Look]:
        """Return every look, the oldest first."""
        query = self._select_looks().order_by(looks.c.look_id)
        return [_to_look(row) for row in self._connection.execute(query)]

    def published_page(self, after_id: int, limit: int, updated_after: int) -> list[Look]:
        """Return published looks by their ids, of those that changed after a time."""
        query = self._select_looks().where(
            looks.c.look_id > after_id,
            looks.c.state == LookState.PUBLISHED,
            looks.c.updated_at > updated_after,
        )
        query = query.order_by(looks.c.look_id).limit(limit)
        return [_to_look(row) for row in self._connection.execute(query)]

    def find(self, look_id: int) -> Look | None:
        """Return one look."""
        query = self._select_looks().where(looks.c.look_id == look_id)
        row = self._connection.execute(query).first()
        return None if row is None else _to_look(row)

    def count(self) -> int:
        """Return how many looks there are."""
        query = sa.select(sa.func.count()).where(looks.c.store_id == self._store_id)
        return int(self._connection.execute(query).scalar_one())

    def add(self, look: Look) -> None:
        """Store a new look."""
        self._insert_row(
            looks, look_id=look.look_id, created_at=look.updated_at, **_look_columns(look)
        )

    def change(self, look: Look) -> None:
        """Store a look's new values."""
        self._update_rows(looks, looks.c.look_id == look.look_id, **_look_columns(look))

    def remove(self, look_id: int) -> None:
        """Delete a look."""
        for table in (looks, look_versions):
            self._delete_rows(table, look_id=look_id)

    def versions(self, look_id: int) -> list[LookVersion]:
        """Return the earlier versions of a look, newest first."""
        columns = look_versions.c
        query = (
            sa.select(look_versions)
            .where(columns.store_id == self._store_id, columns.look_id == look_id)
            .order_by(columns.version.desc())
        )
        return [
            LookVersion(
                row.version, _to_look_content(row), row.updated_at, row.updated_by or ""
            )
            for row in self._connection.execute(query)
        ]

    def add_version_and_delete_oldest(self, look: Look, version: int, limit: int) -> None:
        """Store a look before its change; delete the oldest versions above `limit`."""
        values = _look_columns(look)
        row = {name: values[name] for name in look_versions.c.keys() if name in values}  # noqa: SIM118 - no mapping
        self._insert_row(look_versions, look_id=look.look_id, version=version, **row)
        old = [old_version.version for old_version in self.versions(look.look_id)[limit:]]
        columns = look_versions.c
        if old:
            self._delete_rows(look_versions, columns.version.in_(old), look_id=look.look_id)

    def has_picture(self, picture_id: str) -> bool:
        """Return whether a picture is stored."""
        columns = look_pictures.c
        query = sa.select(columns.picture_id).where(self._is_picture(picture_id))
        return self._connection.execute(query).first() is not None

    def picture(self, picture_id: str) -> bytes | None:
        """Return the JPEG of a stored picture."""
        reader = self._raw
        return read_look_picture(reader, self._store_id, picture_id)

    def store_picture(self, picture: SanitizedPicture, now_ms: int) -> None:
        """Store a picture; equal content is stored once, with its time renewed."""
        self._put_row(
            look_pictures,
            picture_id=picture.picture_id,
            content=picture.content,
            width=picture.width,
            height=picture.height,
            created_at=now_ms,
        )

    def delete_unused_picture_and_old(self, picture_id: str, before_ms: int) -> None:
        """Delete a picture, and all pictures older than a time, unless looks use them."""
        columns = look_pictures.c
        used = sa.union(
            *(
                sa.select(table.c.picture_id).where(
                    table.c.store_id == self._store_id, table.c.picture_id.is_not(None)
                )
                for table in (looks, look_versions)
            )
        )
        self._delete_rows(
            look_pictures,
            sa.or_(columns.picture_id == picture_id, columns.created_at < before_ms),
            columns.picture_id.not_in(used),
        )

    def _is_picture(self, picture_id: str) -> sa.ColumnElement[bool]:
        columns = look_pictures.c
        return sa.and_(columns.store_id == self._store_id, columns.picture_id == picture_id)

    def _select_looks(self) -> sa.Select[Any]:
        columns = looks.c
        return sa.select(
            columns.look_id,
            columns.item_id,
            columns.image_url,
            columns.title,
            columns.hotspots,
            columns.state,
            columns.published_at,
            columns.updated_at,
            columns.picture_id,
            columns.updated_by,
        ).where(columns.store_id == self._store_id)


def _look_columns(look: Look) -> dict[str, Any]:
    content = look.content
    spots = [[hotspot.label, *hotspot.box, hotspot.item_id] for hotspot in content.hotspots]
    return {
        "item_id": content.item_id,
        "image_url": content.image_url,
        "title": content.title,
        "hotspots": json.dumps(spots, ensure_ascii=False),
        "state": look.state,
        "published_at": look.published_at,
        "updated_at": look.updated_at,
        "picture_id": content.picture_id or None,
        "updated_by": look.updated_by or None,
    }


def _to_look(row: Any) -> Look:
    look_id, item_id, image_url, title, hotspots, state, published_at = row[:7]
    updated_at, picture_id, updated_by = row[7:]
    spots = _parse_hotspots(hotspots)
    content = LookContent(item_id, image_url, title, spots, picture_id or "")
    return Look(
        int(look_id), content, LookState(state), published_at, updated_at, updated_by or ""
    )


@dataclass(frozen=True, slots=True)
class PublishedLooks:
    """A store's published looks at one moment."""

    seq: int = -1
    newest: dict[str, Look] = field(default_factory=dict)  # by the anchor's id

    @classmethod
    def load(cls, reader: RawReader, store_id: StoreId, seq: int) -> "PublishedLooks":
        """Return the published looks as of `seq`: the newest of each product."""
        published = read_published_looks(reader, store_id) if seq else []
        return cls(seq, {look.content.item_id: look for look in published})


def _to_look_content(row: Any) -> LookContent:
    spots = _parse_hotspots(row.hotspots)
    return LookContent(row.item_id, row.image_url, row.title, spots, row.picture_id or "")


def _parse_hotspots(text: str) -> tuple[Hotspot, ...]:
    return tuple(
        Hotspot(label, (x, y, width, height), item_id)
        for label, x, y, width, height, item_id in json.loads(text)
    )
