"""Demand forecast engine: daily sales in, the next 28 days with prediction intervals out.

It does not know stores, time zones or clocks.
"""
