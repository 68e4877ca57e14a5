"""Where it is kept: the database, its tables and migrations, jobs and model files.

Never decides what a merchant gets; only `dialects.py` knows which database it is.
"""
