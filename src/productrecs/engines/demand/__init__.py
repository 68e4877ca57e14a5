"""Demand: what will be sold on each of the next 28 days, and what to do about it.

Daily amounts in, days ahead with a band out. Nothing here knows stores, zones or clocks.
"""
