"""Catalog: products, rules, placements, bundles, lists and looks."""
