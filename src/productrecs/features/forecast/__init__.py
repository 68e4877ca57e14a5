"""Demand, as a merchant buys it: what will sell, how long stock lasts, and what to do.

Reads what the nightly run left; nothing here forecasts.
"""
