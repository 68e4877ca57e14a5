"""Metered calls, counted by store and month."""
