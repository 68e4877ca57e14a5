"""Tenancy: stores and their keys, settings, plans and usage.

Never knows what an item, an event or a recommendation is.
"""
