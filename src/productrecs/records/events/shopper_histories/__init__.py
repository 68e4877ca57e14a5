"""Shopper histories: the facts of one person that lists depend on."""
