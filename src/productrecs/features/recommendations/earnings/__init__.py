"""Earnings: what a store earns by each product, and a replay on its past orders."""
