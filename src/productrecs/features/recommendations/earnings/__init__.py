"""Earnings: what a store earns by each product, and a replay of lists ordered by it."""
