"""Merchandising: rules that exclude, boost, bury and pin products in lists.

Rules are facts like the catalog: a merchant writes them, and every process follows them.
All lists (recommendations, trending) apply the same `RulesInForce`.
"""
