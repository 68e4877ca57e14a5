"""Numbers a merchant can act on: attribution, experiments, widgets, customers, health.

Each number comes with its definition. Nothing here changes what shoppers see.
"""
