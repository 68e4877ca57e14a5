"""Customer insights, from orders that carry a customer."""
