"""Idempotency keys: a retried call is answered from the record of the first."""
