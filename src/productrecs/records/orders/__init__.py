"""Orders: purchases, receipts and lines. Orders write events, never the reverse."""
