"""Where it is kept: the database, its tables and migrations, jobs and model files.

Never decides what a merchant gets; only `dialects.py`, `postgres.py` and
`bare.py` know which database it is.
"""
