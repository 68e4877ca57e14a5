"""Child processes: one way to start, limit, restart and end them, and to speak to them."""
