"""A service that takes the body of a request with `Upgrade` for the next request."""

from productrecs.entrypoints.http import parser

_read_head = parser.read_head


def _careless(data: bytes) -> parser.Request:
    request = _read_head(data)
    return request._replace(length=0) if b"upgrade" in request.head.named else request


parser.read_head = _careless  # the fault itself
