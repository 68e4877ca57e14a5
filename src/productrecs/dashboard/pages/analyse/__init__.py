"""Analyse: sales after recommendations, tests, search, demand and customers."""
