"""Merchandising: rules that exclude, boost, bury and pin products in lists.

Rules are facts like the catalog: a merchant writes them, every process follows them.
Everything that makes a list (recommendations, trending) obeys the same `RuleBook`.
"""
