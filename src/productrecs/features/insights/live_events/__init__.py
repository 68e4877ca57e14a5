"""Live events: the last events of a store, with a verdict on each, for a live view.

API processes record the events of watched stores and store them within a second, so that
the view covers all processes. Unwatched stores cost one look-up per request.
"""
