"""Storage: the database, its tables and migrations, jobs, backups and model files.

Never decides what a merchant gets; only `sqlite.py` and `postgres.py` know which database
it is, behind the interface of `dialects.py`.
"""
