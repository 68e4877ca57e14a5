"""Stores of tests: registered ones, and bare ids for tests of storage."""

from productrecs.core.clock import fixed_clock
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import stores
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import Registration, register_store


def new_store(database: Database, domain: str = "shop.example") -> Store:
    """Register a store of a domain, long ago; return it."""
    return register_store(database, Registration(domain), fixed_clock(0))[0]


def add_stores(database: Database, *store_ids: str) -> None:
    """Let stores of these ids be there."""
    rows = [
        {
            "store_id": store_id,
            "domain": f"{store_id}.example",
            "plan": "unlimited",
            "publishable_key": f"pk_{store_id}",
            "origins": "[]",
            "settings": "{}",
            "created_at": 0,
        }
        for store_id in store_ids
    ]
    with database.transaction() as transaction:
        transaction.execute(stores.insert(), rows)
