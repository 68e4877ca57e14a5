"""Backup and restore: everything, between both databases, or an error."""

import gzip
import io
import json
import random
import shutil
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from productrecs.core.errors import StorageError
from productrecs.storage.backup.backup_archive import (
    Advance,
    BackupError,
    DamagedBackupError,
    DatabaseInUseError,
    InsufficientSpaceError,
    NewerBackupError,
    NotABackupError,
    UnusableTargetError,
    unpack_archive,
)
from productrecs.storage.backup.create_backup import BackupRequest, create_backup
from productrecs.storage.backup.restore_backup import (
    RestoreTarget,
    restore_backup,
    verify_backup,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.migrations.schema_upgrade import migrate
from productrecs.storage.sql.tables import metadata, models, store_heads
from tests.support.postgres import Cluster

Dump = dict[str, list[tuple[object, ...]]]
ROWS = 7


def silently(_stage: str, _size: int) -> Advance:
    return lambda _done: None


def nothing_else(_snapshot: sa.Connection) -> dict[str, Path]:
    return {}


def text(column: sa.Column[Any], number: int) -> str:
    most = column.type.length if isinstance(column.type, sa.String) else None
    return f"{number}{column.name} 'ä☃\n\\N\t"[: most or 99]


VALUES: dict[type[sa.types.TypeEngine[Any]], Callable[[sa.Column[Any], int], object]] = {
    sa.Boolean: lambda _column, number: number % 2 == 0,
    sa.Double: lambda _column, number: 0.1 * number - 1e-9,
    sa.SmallInteger: lambda _column, number: number - 3,
    sa.Integer: lambda _column, number: 2**31 - 1 - number,
    sa.BigInteger: lambda _column, number: 2**53 - number,
    sa.LargeBinary: lambda _column, number: bytes((0, 255, number)),
    sa.String: text,
    sa.Text: text,
}
"""What only an exact copy keeps, of each type that the tables have."""


def value_of(column: sa.Column[Any], number: int) -> object:
    """Return a value for a row; some are null where they may be."""
    if column.nullable and number % 3 == 0:
        return None
    return VALUES[type(column.type)](column, number)


def fill(database: Database) -> None:
    """Put some rows into every table."""
    with database.transaction() as transaction:
        for table in metadata.sorted_tables:
            transaction.execute(table.delete())
            rows = [
                {column.name: value_of(column, number) for column in table.columns}
                for number in range(ROWS)
            ]
            transaction.execute(table.insert(), rows)


def everything(database: Database) -> Dump:
    """Return all rows of all tables, but for what a restore leaves to be trained."""
    dump = {}
    with database.reading() as connection:
        for table in metadata.sorted_tables:
            made_again = (store_heads.c.model_id, store_heads.c.index_id)
            columns = [c for c in table.columns if all(c is not one for one in made_again)]
            query = sa.select(*columns).order_by(*table.primary_key.columns)
            dump[table.name] = [tuple(row) for row in connection.execute(query)]
    del dump[models.name]
    return dump


def backed_up(database: Database, target: Path, **changes: Any) -> Path:
    wish = BackupRequest(database, nothing_else, target, "0.0.1")
    create_backup(replace(wish, **changes), silently)
    return target


def restored(backup: Path, folder: Path, url: str | None = None) -> Dump:
    """Restore into an empty folder or server; return all that is there then."""
    folder.mkdir(exist_ok=True)
    restore_backup(backup, RestoreTarget(folder, url), silently)
    database = Database.open(url, folder)
    try:
        assert not migrate(database)
        with database.reading() as connection:
            pointers = connection.execute(
                sa.select(sa.func.coalesce(store_heads.c.model_id, store_heads.c.index_id))
            ).scalars()
            assert set(pointers) <= {None}
        return everything(database)
    finally:
        database.close()


@pytest.fixture
def backup(sqlite_database: Database, tmp_path: Path) -> Path:
    """Return a backup of a database with some rows."""
    fill(sqlite_database)
    return backed_up(sqlite_database, tmp_path / "backup.tar")


@pytest.mark.parametrize("name", ["backup.tar", "backup.tar.gz"])
def test_a_backup_holds_every_row_of_every_table(
    database: Database, tmp_path: Path, name: str
) -> None:
    fill(database)

    backup = backed_up(database, tmp_path / name)

    assert restored(backup, tmp_path / "other") == everything(database)
    assert backup.stat().st_mode & 0o777 == 0o600
    assert (backup.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert {path.name for path in tmp_path.iterdir()} == {name, "data", "other"}


@pytest.mark.postgres
def test_a_backup_of_either_database_fills_a_server(
    database: Database, tmp_path: Path, postgres_url: str
) -> None:
    fill(database)
    backup = backed_up(database, tmp_path / "backup.tar")

    assert restored(backup, tmp_path / "other", postgres_url) == everything(database)


def test_files_that_the_moment_needs_are_in_it(
    sqlite_database: Database, tmp_path: Path
) -> None:
    upload = tmp_path / "up_1"
    upload.write_bytes(b"order_id,item_id\n")
    needed = {"uploads/up_1": upload, "uploads/up_lost": tmp_path / "up_lost"}

    backup = backed_up(sqlite_database, tmp_path / "b.tar", needed=lambda _snapshot: needed)
    restored(backup, tmp_path / "other")

    assert (tmp_path / "other/uploads/up_1").read_bytes() == b"order_id,item_id\n"
    assert [path.name for path in (tmp_path / "other/uploads").iterdir()] == ["up_1"]


def test_a_file_that_goes_while_we_look_belongs_to_a_later_moment(
    sqlite_database: Database, tmp_path: Path
) -> None:
    # It was needed, and before it could be opened its import was stored and it was gone.
    moments: Iterator[dict[str, Path]] = iter(
        [{"uploads/up_1": tmp_path / "up_1"}, {"uploads/up_2": tmp_path / "up_2"}, {}]
    )
    seen: list[int] = []

    def needed(snapshot: sa.Connection) -> dict[str, Path]:
        with sqlite_database.transaction() as transaction:  # the log goes on meanwhile
            transaction.execute(store_heads.insert().values(store_id=f"st_{len(seen)}"))
        query = sa.select(sa.func.count()).select_from(store_heads)
        seen.append(snapshot.execute(query).scalar_one())
        return next(moments)

    backup = backed_up(sqlite_database, tmp_path / "b.tar", needed=needed)

    assert seen == [1, 2, 3]
    assert len(restored(backup, tmp_path / "other")["store_heads"]) == 3


def test_a_target_that_is_there_is_kept(backup: Path, sqlite_database: Database) -> None:
    before = backup.read_bytes()

    with pytest.raises(UnusableTargetError, match="exists; choose another name"):
        backed_up(sqlite_database, backup)

    assert backup.read_bytes() == before
    assert backed_up(sqlite_database, backup, replace=True).read_bytes() != before


def test_a_disk_without_room_is_refused_before_anything_is_written(
    sqlite_database: Database, backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        free = 1 << 20

    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Full)

    with pytest.raises(InsufficientSpaceError, match="GB free"):
        backed_up(sqlite_database, tmp_path / "more.tar")
    with pytest.raises(InsufficientSpaceError, match="GB free"):
        restored(backup, tmp_path / "other")

    assert list((tmp_path / "other").iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"backup.tar", "data", "other"}


def test_a_damaged_database_is_not_backed_up(
    sqlite_database: Database, data_folder: Path, tmp_path: Path
) -> None:
    fill(sqlite_database)
    with sqlite_database.reading() as connection:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = 'items'"
        page = connection.exec_driver_sql(query).scalar_one()
    sqlite_database.close()
    path = data_folder / "productrecs.db"
    content = bytearray(path.read_bytes())
    content[(page - 1) * 4096 + 100 : page * 4096] = bytes(4096 - 100)
    path.write_bytes(content)

    with pytest.raises((DamagedBackupError, StorageError)):
        backed_up(sqlite_database, tmp_path / "b.tar")

    assert not (tmp_path / "b.tar").exists()


@dataclass(frozen=True)
class Harm:
    """Something that was done to a file, and what it became."""

    how: str
    content: bytes


def harms(content: bytes, seed: int) -> Iterator[Harm]:
    chance = random.Random(seed)  # noqa: S311 - where to strike, not a key
    for _ in range(60):
        position, bit = chance.randrange(len(content)), chance.randrange(8)
        flipped = bytearray(content)
        flipped[position] ^= 1 << bit
        yield Harm(f"bit {bit} of byte {position}", bytes(flipped))
    for length in (0, 1, 300, 600, len(content) // 2, len(content) - 12_000):
        yield Harm(f"only {length} bytes", content[:length])


def contents(backup: Path) -> dict[str, bytes]:
    """Return the members of a backup."""
    with tarfile.open(backup) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar}  # type: ignore[union-attr]  # all are files


@pytest.mark.parametrize("name", ["b.tar", "b.tar.gz"])
def test_a_changed_byte_or_a_missing_end_is_found(
    sqlite_database: Database, tmp_path: Path, name: str
) -> None:
    fill(sqlite_database)
    backup = backed_up(sqlite_database, tmp_path / name)
    content, members = backup.read_bytes(), contents(backup)
    if name == "b.tar":  # tar ends in empty blocks that nobody reads
        content = content[: content.index(b"SHA256SUMS") + 1024]
    refused = 0
    for harm in harms(content, seed=1):
        (tmp_path / "harmed").write_bytes(harm.content)
        try:
            unpack_archive(tmp_path / "harmed", None, lambda _: None, lambda _: None)
        except BackupError:
            refused += 1
        else:  # padding, or another way to write the same
            assert contents(tmp_path / "harmed") == members, harm.how

    assert refused >= 55


def test_a_harmless_copy_would_not_be_found(backup: Path, tmp_path: Path) -> None:
    # The control of the test above.
    assert verify_backup(backup, tmp_path, silently).rows["items"] == ROWS


def rewritten(backup: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Return a backup whose manifest says something else; its checksums are right."""
    members = contents(backup)
    manifest = json.loads(members["manifest.json"])
    change(manifest)
    members["manifest.json"] = json.dumps(manifest).encode()
    other = backup.with_name("other.tar")
    with tarfile.open(other, "w") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return other


@pytest.mark.parametrize(
    ("change", "refusal", "words"),
    [
        ({"format": 2}, NewerBackupError, "newer ProductRecs"),
        ({"schema": "2099_01_01_0900"}, NewerBackupError, "ProductRecs 0.0.1 made"),
        ({"product": "something else"}, NotABackupError, "not a backup"),
        ({"sizes": {"../../evil": 3}}, NotABackupError, "not a backup"),
        ({"sizes": {"productrecs.db": 3, "uploads/../../evil": 3}}, NotABackupError, "no"),
        ({"rows": "many"}, NotABackupError, "not a backup"),
        ({"rows": {"items": 1}}, DamagedBackupError, "damaged"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(
    backup: Path,
    tmp_path: Path,
    change: dict[str, Any],
    refusal: type[BackupError],
    words: str,
) -> None:
    other = rewritten(backup, lambda manifest: manifest.update(change))

    with pytest.raises(refusal, match=words):
        verify_backup(other, tmp_path, silently)

    assert not (tmp_path.parent / "evil").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", gzip.compress(b"hello", mtime=0), b"SQLite format 3\0" + bytes(9_999)],
)
def test_another_file_is_no_backup(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)

    with pytest.raises(NotABackupError, match="not a backup of ProductRecs"):
        verify_backup(tmp_path / "file", tmp_path, silently)


def _cut(content: bytes) -> bytes:
    return content[:20]


def _broken_at_the_start(content: bytes) -> bytes:
    return content[:30] + bytes(40) + content[70:]


def _broken_header(content: bytes) -> bytes:
    return content[:2] + b"\xff" + content[3:]


@pytest.mark.parametrize("damage", [_cut, _broken_at_the_start, _broken_header])
def test_a_compressed_backup_that_breaks_before_its_manifest_is_damaged(
    backup: Path, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    broken = tmp_path / "broken.tar.gz"
    broken.write_bytes(damage(gzip.compress(backup.read_bytes(), mtime=0)))

    with pytest.raises(DamagedBackupError, match="this backup is damaged"):
        verify_backup(broken, tmp_path, silently)


def test_data_that_are_there_stay_unless_they_may_be_replaced(
    backup: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    first = restored(backup, other)
    (other / "uploads").mkdir()
    (other / "uploads/up_old").write_bytes(b"waits")
    (other / "models").mkdir()

    with pytest.raises(UnusableTargetError, match="is not empty"):
        restore_backup(backup, RestoreTarget(other, None), silently)
    done = restore_backup(backup, RestoreTarget(other, None, replace=True), silently)

    assert done.replaced_folder is not None
    assert {path.name for path in other.iterdir()} == {
        "productrecs.db",
        done.replaced_folder.name,
    }
    assert (done.replaced_folder / "uploads/up_old").read_bytes() == b"waits"
    for folder in (other, done.replaced_folder):
        database = Database.open(None, folder)
        assert everything(database) == first
        database.close()


def test_a_database_without_a_store_is_no_reason_to_refuse(
    backup: Path, tmp_path: Path, migrated_folder: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "productrecs.db").write_bytes(
        (migrated_folder / "productrecs.db").read_bytes()
    )

    done = restore_backup(backup, RestoreTarget(other, None), silently)

    assert done.replaced_folder is None


def test_a_file_that_is_no_database_is_kept_aside(backup: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "productrecs.db").write_bytes(b"was one once" * 999)

    with pytest.raises(UnusableTargetError):
        restore_backup(backup, RestoreTarget(other, None), silently)
    done = restore_backup(backup, RestoreTarget(other, None, replace=True), silently)

    assert done.replaced_folder is not None
    assert (
        (done.replaced_folder / "productrecs.db").read_bytes().startswith(b"was one once")
    )


def test_a_place_in_use_is_refused_whatever_is_said(backup: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    before = restored(backup, other)
    using = Database.open(None, other)
    reader = using.raw_reader()
    reader.all("SELECT 1 FROM stores", ())  # as every process of the service does

    for may_replace in (False, True):
        with pytest.raises(DatabaseInUseError, match="stop it first"):
            restore_backup(
                backup, RestoreTarget(other, None, replace=may_replace), silently
            )

    assert everything(using) == before
    reader.close()
    using.close()
    assert restore_backup(
        backup, RestoreTarget(other, None, replace=True), silently
    ).replaced_folder


@pytest.mark.postgres
def test_a_server_in_use_or_with_stores_is_refused(
    backup: Path, tmp_path: Path, postgres_url: str, postgres_cluster: Cluster
) -> None:
    del postgres_cluster
    before = restored(backup, tmp_path / "other", postgres_url)
    place = RestoreTarget(tmp_path / "other", postgres_url)

    with pytest.raises(UnusableTargetError, match="7 stores already"):
        restore_backup(backup, place, silently)
    using = Database.open(postgres_url, tmp_path)
    with using.reading() as connection:
        connection.execute(sa.select(1))
        with pytest.raises(DatabaseInUseError, match="1 other connection"):
            restore_backup(backup, replace(place, replace=True), silently)
    using.close()
    restore_backup(backup, replace(place, replace=True), silently)

    after = Database.open(postgres_url, tmp_path)
    assert everything(after) == before
    after.close()


@pytest.mark.postgres
def test_a_server_of_another_schema_is_not_backed_up(
    tmp_path: Path, postgres_url: str
) -> None:
    empty = Database.open(postgres_url, tmp_path)

    with pytest.raises((BackupError, StorageError), match="schema"):
        backed_up(empty, tmp_path / "b.tar")

    empty.close()


def test_every_stage_is_reported_with_its_size(
    sqlite_database: Database, tmp_path: Path
) -> None:
    stages: list[tuple[str, int]] = []
    done: dict[str, int] = {}

    def begin(stage: str, size: int) -> Advance:
        stages.append((stage, size))

        def advance(step: int) -> None:
            done[stage] = done.get(stage, 0) + step

        return advance

    wish = BackupRequest(sqlite_database, nothing_else, tmp_path / "b.tar", "0.0.1")
    create_backup(wish, begin)

    assert [stage for stage, _ in stages] == ["copying", "packing", "reading back"]
    assert done == dict(stages)
