"""Storage: the database, its tables and migrations, jobs, backups and model files.

It contains no business rules. Only `sqlite.py` and `postgres.py` depend on the database,
behind the interface of `dialects.py`.
"""
