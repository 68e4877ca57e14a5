"""Body of an integration call, and a change of the store in its own transaction."""

from collections.abc import Callable
from typing import Final, TypeVar

from fastapi import Request

from productrecs.http.pipeline.route_context import RequestContext
from productrecs.http.transport.request_body import read_body
from productrecs.schemas.strict_json import parse_json
from productrecs.serving.writes.write_messages import WriteKind
from productrecs.storage.sql.group_commit import WriteTransaction

BODY_LIMIT: Final = 512 << 10
_BLANK: Final = b" \t\r\n"
Changed = TypeVar("Changed")


async def read_json_body(request: Request) -> object:
    """Return the JSON of a body that must be there."""
    return parse_json(await _read_body(request))


async def read_optional_json_body(request: Request) -> object:
    """Return the JSON of a body that may be left out; then, and for null, it is `{}`."""
    data = await _read_body(request)
    sent = parse_json(data) if data.strip(_BLANK) else None
    return {} if sent is None else sent


async def change_in_transaction(
    exchange: RequestContext, action: Callable[[WriteTransaction], Changed]
) -> Changed:
    """Change the caller's store in its own transaction, and return the result.

    Raises:
        QueueFullError: when too much waits to be written; nothing is changed.
    """
    store_id = exchange.known_caller.store.store_id
    changed: Changed = await exchange.context.write_client.submit_write(
        WriteKind.CHANGE, store_id, action, exchange.claim
    )
    return changed


async def _read_body(request: Request) -> bytes:
    exchange: RequestContext = request.scope["productrecs"]
    headers = request.scope["headers"]
    return await read_body(request.receive, headers, BODY_LIMIT, exchange.claim)
