"""Events: shoppers' actions, who did them, and each shopper's history in memory."""
