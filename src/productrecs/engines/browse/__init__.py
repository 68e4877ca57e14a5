"""Session-based kNN engine (`browse`): predicts next items from similar past sessions."""

from productrecs.engines.browse.session_index import SessionIndex
from productrecs.engines.browse.session_knn import InteractionType, SessionKnnOptions
from productrecs.engines.browse.sessionization import (
    PartitionSessions,
    build_session_index,
    fit_sessions,
    gather_visits,
    sessionize,
)

__all__ = [
    "InteractionType",
    "PartitionSessions",
    "SessionIndex",
    "SessionKnnOptions",
    "build_session_index",
    "fit_sessions",
    "gather_visits",
    "sessionize",
]
