"""Events: shoppers' actions. No knowledge of orders, the catalog or HTTP."""
