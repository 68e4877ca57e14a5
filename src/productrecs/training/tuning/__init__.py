"""By which constants does an engine learn in a store? Chosen on the store's own past.

An engine's defaults stay but where weeks that have passed show another value to be better.
What was chosen is kept in the database, so that every training and every rebuild uses it.
"""
