"""Feeds: product and order files of shop platforms, and product feeds.

Readers take rows and return one item for each product: the variants of a product become
one item, because a page shows one card for it. Nothing here writes, and items are validated
where every push is validated.
"""
