"""Live events: the last events of a store, with a verdict on each, while somebody looks.

API processes note what comes for watched stores and store it within a second, so that the
view shows all processes. Stores that nobody watches cost one look-up per request.
"""
