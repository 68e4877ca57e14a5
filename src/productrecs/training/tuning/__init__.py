"""Tuning: chooses an engine's hyperparameters on the store's own history.

A default changes only where the store's past weeks show that another value is better. The
result is kept in the database, so that every training and every rebuild uses it.
"""
