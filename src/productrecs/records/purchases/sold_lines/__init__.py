"""Sold lines: what forecasts, reports and checks read of a store's purchases."""
