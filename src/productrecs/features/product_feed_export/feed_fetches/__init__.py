"""Feed fetches: how often each product feed was fetched, and what it held."""
