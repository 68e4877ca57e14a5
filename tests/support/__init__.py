"""Test support: a PostgreSQL cluster of the run, and blocked network access."""
