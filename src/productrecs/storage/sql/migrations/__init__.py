"""Migrations of the database, one dated module each, and the upgrade that runs them."""
