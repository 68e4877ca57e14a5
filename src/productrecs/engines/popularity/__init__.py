"""What do many people want right now? Counted in a window of time, for everybody alike."""

from productrecs.engines.popularity.trending import Metric, Sales, rank_trending

__all__ = ["Metric", "Sales", "rank_trending"]
