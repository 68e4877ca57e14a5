"""Storage: the database, its tables and migrations, jobs, backups and model files.

It contains no business rules. Only `sqlite.py` and `postgres.py` depend on the database,
behind the interface of `dialects.py`; and `create_backup.py` and `restore_backup.py`, which
copy a SQLite file page by page and a server row by row. A backup has one format for both.
"""
