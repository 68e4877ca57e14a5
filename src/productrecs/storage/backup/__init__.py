"""Backup: saves a running installation to one file, and restores it.

A backup is a tar (compressed if its name ends in `.gz` or `.tgz`): `manifest.json`, the
database as one SQLite file, other required files, and `SHA256SUMS` of them all. Its format
is the same for SQLite and PostgreSQL, and both can be restored from it. Besides
`dialects.py` only this folder depends on the database: it copies a SQLite file page by
page, and a server row by row.
"""
