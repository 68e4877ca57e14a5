"""Backup: saves a running installation to one file, and restores it.

A backup is a tar (compressed where its name ends in `.gz` or `.tgz`): `manifest.json`, the
database as one SQLite file, whatever else must be kept, and `SHA256SUMS` of them all. It is
the same from SQLite and from PostgreSQL, and either can be filled from it. Beside
`dialects.py` this folder is the only place that knows which database it is: a file is
copied page by page, a server row by row.
"""
