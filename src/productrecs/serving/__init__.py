"""Serving: the open stores of a process, their views and caches, and the way to write."""
