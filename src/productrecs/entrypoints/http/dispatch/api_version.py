"""API version: the version of the interface, and the header that says it."""

from typing import Final

INTERFACE_VERSION: Final = "3.0.0"
"""Of the paths and bodies, by the interface's own count; the program has another."""
VERSION_HEADER: Final = (b"x-api-version", INTERFACE_VERSION.encode())
