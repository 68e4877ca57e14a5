"""What do visits like this one look at next? Asked of sessions, without training."""

from productrecs.engines.browse.fit import fit_sessions
from productrecs.engines.browse.index import SessionIndex, warm_up
from productrecs.engines.browse.options import Deed, SessionOptions
from productrecs.engines.browse.visits import visits

__all__ = [
    "Deed",
    "SessionIndex",
    "SessionOptions",
    "fit_sessions",
    "visits",
    "warm_up",
]
