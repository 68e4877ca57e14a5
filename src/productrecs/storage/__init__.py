"""Storage: `sql` (database), `jobs` (queue), `files` (models and indexes) and `backup`.

It contains no business rules. Only `sql/sqlite_dialect.py` and
`sql/postgres_dialect.py` depend on the database, behind the interface of
`sql/dialects.py`; and `backup`, which copies a SQLite file page by page and a server
row by row. A backup has one format for both.
"""
