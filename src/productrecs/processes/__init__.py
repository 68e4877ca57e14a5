"""Child processes: start, limit, restart and end them, and exchange messages with them."""
