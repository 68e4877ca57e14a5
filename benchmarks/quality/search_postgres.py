"""What does PostgreSQL find? By its full text (tsvector), alone and with pg_trgm."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

import psycopg

from tests.support.postgres import MISSING, Owner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.quality.search_peers import Catalog, Find

_WORD: Final = re.compile(r"[a-z0-9]+")
_PREPARE: Final = """
CREATE EXTENSION pg_trgm;
CREATE TABLE p (n integer PRIMARY KEY, title text NOT NULL, t tsvector NOT NULL);
"""
_INDEXES: Final = """
CREATE INDEX ON p USING gin (t);
CREATE INDEX ON p USING gin (title gin_trgm_ops);
ANALYZE p;
"""
_INSERT: Final = """
INSERT INTO p VALUES (%s, %s, setweight(to_tsvector('english', %s), 'A')
                              || setweight(to_tsvector('english', %s), 'D'))
"""
# Titles count ten times descriptions, as in the other peers; long texts count less.
_RANK: Final = "ts_rank('{0.1, 0, 0, 1}', t, to_tsquery('english', %(any)s), 1)"
_WORDS_SQL: Final = f"""
SELECT n FROM p WHERE t @@ to_tsquery('english', %(any)s)
ORDER BY {_RANK} DESC, n LIMIT 50
"""  # noqa: S608 - constants
_LIKE_SQL: Final = f"""
SELECT n FROM p WHERE t @@ to_tsquery('english', %(any)s) OR %(text)s <%% title
ORDER BY {_RANK} + word_similarity(%(text)s, title) DESC, n LIMIT 50
"""  # noqa: S608 - constants


@cache
def _server() -> Owner:
    """Return a server that ends with this process.

    Raises:
        ImportError: where PostgreSQL is not installed.
    """
    owner = Owner.begin()
    if owner is None:
        raise ImportError(MISSING)
    owner.cluster.ensure_started()
    return owner


def _filled(catalog: Catalog) -> psycopg.Connection[tuple[int]]:
    cluster = _server().cluster
    url = cluster.create_database().replace("postgresql+psycopg", "postgresql")
    connection = psycopg.connect(url, autocommit=True)
    connection.execute(_PREPARE.encode())
    rows = zip(catalog.titles, catalog.descriptions, strict=True)
    with connection.cursor() as cursor, connection.transaction():
        cursor.executemany(
            _INSERT.encode(),
            [
                (
                    n,
                    title.replace("\0", ""),
                    title.replace("\0", ""),
                    body.replace("\0", ""),
                )
                for n, (title, body) in enumerate(rows)
            ],
        )
    connection.execute(_INDEXES.encode())
    return connection


def _asking(catalog: Catalog, sql: str) -> Find:
    connection = _filled(catalog)

    def find(query: str) -> Sequence[int]:
        words = _WORD.findall(query.lower())
        if not words:
            return []
        asked = {"any": " | ".join(words), "text": " ".join(words)}
        found = connection.execute(sql.encode(), asked).fetchall()
        return [catalog.ids[n] for (n,) in found]

    return find


def full_text(catalog: Catalog) -> Find:
    """Return PostgreSQL's full text search, any word, ranked by `ts_rank`.

    Raises:
        ImportError: where PostgreSQL is not installed.
    """
    return _asking(catalog, _WORDS_SQL)


def with_trigrams(catalog: Catalog) -> Find:
    """Return the same with what is spelled alike, by `word_similarity` of titles.

    Raises:
        ImportError: where PostgreSQL is not installed.
    """
    return _asking(catalog, _LIKE_SQL)
