"""Shop connection repository: SQL of a store's connection to its shop system."""

from dataclasses import asdict

import sqlalchemy as sa

from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import (
    store_connections,
)
from productrecs.tenancy.accounts.shop_connection import ShopConnection, ShopPlatform


class ShopConnectionRepository(StoreScopedRepository):
    """One store's connection to its shop system, in one transaction; never commits."""

    def find(self) -> ShopConnection:
        """Return the state of the connection; empty before the first call."""
        query = sa.select(store_connections).where(
            store_connections.c.store_id == self._store_id
        )
        row = self._connection.execute(query).mappings().first()
        if row is None:
            return ShopConnection()
        platform = row["platform"]
        return ShopConnection(
            platform=None if platform is None else ShopPlatform(platform),
            platform_chosen=bool(row["platform_chosen"]),
            plugin_version=row["plugin_version"],
            store_url=row["store_url"],
            first_connected_at=row["first_connected_at"],
        )

    def put(self, connection: ShopConnection) -> None:
        """Store the connection; lock the store first."""
        values = asdict(connection)
        self._put_row(store_connections, **values)
