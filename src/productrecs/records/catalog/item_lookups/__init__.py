"""Item lookups: the columns and titles of items that other rooms read or join."""
