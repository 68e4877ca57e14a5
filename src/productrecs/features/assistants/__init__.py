"""Assistants: the catalog for shopping assistants, by the Universal Commerce Protocol."""
