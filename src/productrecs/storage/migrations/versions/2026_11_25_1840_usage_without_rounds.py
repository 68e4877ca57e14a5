"""Count usage without rounds: the counts themselves are flushed twice a second."""

from alembic import op

revision = "2026_11_25_1840"
down_revision = "2026_11_24_0035"


def upgrade() -> None:
    """Drop the table that said how far each process's usage file was stored."""
    op.drop_table("metering_rounds")
