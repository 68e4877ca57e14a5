"""What was bought: orders with their receipts and lines. Orders write events, never back."""
