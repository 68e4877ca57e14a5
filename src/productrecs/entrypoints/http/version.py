"""Which version of the interface is spoken here?"""

from typing import Final

INTERFACE: Final = "3.0.0"
"""Of the paths and bodies, by the interface's own count; the program has another."""
HEADER: Final = (b"x-api-version", INTERFACE.encode())
