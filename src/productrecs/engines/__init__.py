"""Pure mathematics: numbers in, numbers out.

Everything here speaks of items by their dense numbers 0..n_items-1. No engine knows the
database, HTTP, the clock or chance, and no engine imports another.
"""
