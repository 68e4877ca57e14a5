"""What do other shops' files say of their products? Exports of shop platforms, and feeds.

Rows go in, one product each comes out: variants of one product become one item, since a
page shows one card for it. Nothing here writes; what an item may hold is decided where
every push is read.
"""
