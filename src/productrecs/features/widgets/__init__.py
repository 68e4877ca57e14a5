"""Widget settings: what the merchant set, and defaults for the rest.

It handles settings only: it draws no widget and returns no products.
"""
