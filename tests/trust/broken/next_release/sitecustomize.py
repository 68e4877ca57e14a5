"""The next release of the program: it adds a column to the schema."""

from typing import TYPE_CHECKING

from productrecs.storage.sql.migrations import schema_upgrade

if TYPE_CHECKING:
    import sqlalchemy as sa

NEXT = "2099_01_01_0000"
_upgrade = schema_upgrade._upgrade  # noqa: SLF001 - what the next release adds to


def _upgrade_further(transaction: "sa.Connection") -> None:
    _upgrade(transaction)
    transaction.exec_driver_sql("ALTER TABLE stores ADD COLUMN next_release TEXT")
    transaction.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{NEXT}'")  # noqa: S608 - our own


schema_upgrade.KNOWN = (*schema_upgrade.KNOWN, NEXT)  # type: ignore[misc]
schema_upgrade._upgrade = _upgrade_further  # noqa: SLF001
