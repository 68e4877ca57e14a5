"""Broken variant: no timeout for writes."""

from productrecs.serving.writes import write_client

write_client.CONFIRM_SECONDS = 3_600.0  # type: ignore[misc]  # the fault itself
