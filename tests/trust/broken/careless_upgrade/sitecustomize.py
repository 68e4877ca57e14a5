"""Broken variant: the body of a request with `Upgrade` is read as the next request."""

from productrecs.http.transport import request_parser

_read_head = request_parser.parse_head


def _careless(data: bytes) -> request_parser.ParsedRequest:
    request = _read_head(data)
    return request._replace(length=0) if b"upgrade" in request.headers.by_name else request


request_parser.parse_head = _careless  # the fault itself
