"""Imports: products, orders and events from files of any shop system, or from a feed."""
