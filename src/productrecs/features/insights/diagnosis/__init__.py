"""Why do a store's numbers not add up? What its newest records say is wrong with them."""
