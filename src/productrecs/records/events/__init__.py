"""What shoppers did: events, received and kept. Knows nothing of orders, catalog or HTTP."""
