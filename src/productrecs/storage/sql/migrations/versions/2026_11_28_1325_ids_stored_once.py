"""Ids stored once in an event: earlier programs cannot read such rows.

Rows of before stay as they are: both forms are read.
"""

revision = "2026_11_28_1325"
down_revision = "2026_11_28_1300"


def upgrade() -> None:
    """Change no table: an earlier program finds a newer database, and refuses it."""
