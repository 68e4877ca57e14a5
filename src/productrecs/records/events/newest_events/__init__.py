"""Newest events: what reports, checks and the live view read at the end of a log."""
