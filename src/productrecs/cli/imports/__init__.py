"""Commands that import products, orders and events from files."""
