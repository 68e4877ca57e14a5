"""How does what was clicked become an order? The log of lists, and the trees of a store."""
