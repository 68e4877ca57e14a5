"""Shorter timeout for writes: no fault, but six seconds less for a test to wait."""

from productrecs.serving.writes import write_client

write_client.CONFIRM_SECONDS = 2.0  # type: ignore[misc]  # a constant, elsewhere
