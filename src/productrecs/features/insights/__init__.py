"""Insights for merchants: attribution, experiments, widgets, customers and data health.

Each figure comes with its definition. Nothing here changes what shoppers see.
"""
