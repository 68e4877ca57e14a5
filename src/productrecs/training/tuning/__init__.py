"""Tuning: chooses an engine's hyperparameters on the store's own history.

A default changes only if the store's past weeks show that another value is better. The
result is stored in the database, so that every training uses it.
"""
