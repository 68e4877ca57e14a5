"""Popularity engine: what most shoppers buy or view in a time window."""

from productrecs.engines.popularity.trending import Metric, Sales, rank_trending

__all__ = ["Metric", "Sales", "rank_trending"]
