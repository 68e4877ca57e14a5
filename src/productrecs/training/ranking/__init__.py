"""Ranking training: builds shown lists from the log, for a store's ranking model."""
