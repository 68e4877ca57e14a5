"""Events: what shoppers did. Knows no orders, catalog or HTTP."""
