"""API tests: the interface and the decisions, against a running service."""
