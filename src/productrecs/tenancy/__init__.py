"""Tenancy: stores and their keys, settings, plans and usage.

It has no knowledge of items, events and recommendations.
"""
