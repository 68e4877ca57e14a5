"""Recommendations and trending, from trained models and the live catalog.

Engines return ids and scores; the catalog view decides what may be shown.
"""
