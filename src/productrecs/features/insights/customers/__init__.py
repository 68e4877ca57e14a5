"""Who are a shop's customers? From orders that carry a customer, and from no others."""
