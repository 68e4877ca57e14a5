"""Encrypted secrets: TOTP secrets take more characters than their base32 form."""

import sqlalchemy as sa
from alembic import op

revision = "2026_11_28_0945"
down_revision = "2026_11_28_0515"


def upgrade() -> None:
    """Widen a column; the previous release reads the secrets that are not encrypted."""
    with op.batch_alter_table("dashboard_second_factors") as table:
        table.alter_column("secret", type_=sa.String(255), existing_nullable=False)
