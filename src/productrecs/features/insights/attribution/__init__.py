"""Which sales and carts followed a recommendation? Counted behind the events, exactly."""
