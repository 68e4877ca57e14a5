"""Storage: the database, its tables and migrations, jobs, backups and model files.

Never decides what a merchant gets; only `dialects.py`, `postgres.py` and
`raw_sql.py` know which database it is.
"""
