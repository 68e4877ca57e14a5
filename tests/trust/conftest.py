"""What the tests of trust can ask for: a running service, and stores of it."""

from tests.api.conftest import merchant, other, service

__all__ = ["merchant", "other", "service"]
