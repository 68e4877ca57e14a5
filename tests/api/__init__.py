"""The interface and the decisions, as tests of a running service."""
