"""Request pipeline: keys, CORS, errors, idempotency, metrics, readiness, worker pools."""
