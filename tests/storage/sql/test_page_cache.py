"""Page cache: a reader that scans tables caches fewer pages of a SQLite database."""

import contextlib

import pytest

from productrecs.storage.sql.database import Database


@pytest.mark.parametrize(("is_scan", "kib"), [(False, 4_096), (True, 1_024)])
def test_a_reader_that_scans_caches_fewer_pages(
    database: Database, *, is_scan: bool, kib: int
) -> None:
    with contextlib.closing(database.raw_reader(is_scan=is_scan)) as reader:
        assert reader.all("SELECT 1", ()) == [(1,)]
        if database.dialect.name == "sqlite":
            assert reader.all("PRAGMA cache_size", ()) == [(-kib,)]
