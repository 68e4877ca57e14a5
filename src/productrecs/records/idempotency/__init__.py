"""Idempotency keys: a retried call gets the stored reply of the first call."""
