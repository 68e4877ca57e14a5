"""How events and orders come from the processes that answer to the one that writes."""
