"""API version: the version of the interface, and the header that says it."""

from typing import Final

INTERFACE: Final = "3.0.0"
"""Of the paths and bodies, by the interface's own count; the program has another."""
HEADER: Final = (b"x-api-version", INTERFACE.encode())
