"""Mail slots: a placement's products in newsletters and receipts, chosen at opening."""
