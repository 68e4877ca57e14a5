"""Commands that manage stores, plans, keys, origins and settings."""
