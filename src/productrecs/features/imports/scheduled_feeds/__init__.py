"""Scheduled feeds: products fetched from an address of the merchant, again and again."""
