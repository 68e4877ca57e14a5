"""What was bought: orders, receipts and lines. Orders write events, never back."""
