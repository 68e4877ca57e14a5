"""Session-based kNN engine (`browse`): predicts next items from similar past sessions."""

from productrecs.engines.browse.session_index import (
    SessionIndex,
    fit_sessions,
    sessionize,
    warm_up,
)
from productrecs.engines.browse.session_knn import InteractionType, SessionOptions

__all__ = [
    "InteractionType",
    "SessionIndex",
    "SessionOptions",
    "fit_sessions",
    "sessionize",
    "warm_up",
]
