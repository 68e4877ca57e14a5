"""What shoppers did: events, received and kept. Knows no orders, catalog or HTTP."""
