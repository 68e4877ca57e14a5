"""What tests stand on: a PostgreSQL cluster of their own, and no way out of here."""
