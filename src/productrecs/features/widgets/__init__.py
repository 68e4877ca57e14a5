"""How do a store's widgets look? What the merchant set, and defaults for the rest.

Knows settings only: it never draws a widget and never answers with products.
"""
