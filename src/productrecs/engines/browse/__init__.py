"""Session-based kNN engine (`browse`): predicts next items from similar past sessions."""

from productrecs.engines.browse.options import InteractionType, SessionOptions
from productrecs.engines.browse.session_index import SessionIndex, warm_up
from productrecs.engines.browse.session_index_builder import fit_sessions
from productrecs.engines.browse.sessionize import sessionize

__all__ = [
    "InteractionType",
    "SessionIndex",
    "SessionOptions",
    "fit_sessions",
    "sessionize",
    "warm_up",
]
