"""Demand forecast for merchants: expected sales, days of cover and stock actions.

It reads what the nightly run stored; it computes no forecast itself.
"""
