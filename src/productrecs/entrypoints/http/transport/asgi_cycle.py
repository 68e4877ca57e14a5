"""ASGI cycle: uvicorn's request-response cycle, with replies sent in a single write."""

from collections.abc import Mapping, MutableMapping
from typing import Any, Final
from urllib.parse import unquote
from weakref import ref

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from productrecs.entrypoints.http.transport.request_parser import ParsedRequest

SINGLE_WRITE_KEY: Final = "productrecs.whole"


class AsgiCycle(RequestResponseCycle):
    """One request and its response."""

    async def send(self, message: Any) -> None:
        """Close after the reply if 100 Continue was not sent: a body may follow."""
        if self.waiting_for_100_continue and not self.response_started:
            self.keep_alive = False
        await super().send(message)


def scope_of(request: ParsedRequest, connection: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ASGI scope of a request; `connection` has the connection's entries."""
    raw_path, _, query = request.target.partition(b"?")
    path = raw_path.decode("ascii")
    return {
        **connection,
        "type": "http",
        "http_version": request.version,
        "method": request.method.decode("ascii"),
        "path": unquote(path) if "%" in path else path,
        "raw_path": raw_path,
        "query_string": query,
        "headers": request.head.lines,
    }


def allow_single_write(cycle: AsgiCycle, scope: MutableMapping[str, Any]) -> None:
    """Let `send_in_single_write` find the cycle of a scope.

    The reference is weak, because the cycle holds the scope. Garbage collection of such
    reference cycles paused all requests for 20 ms.
    """
    scope[SINGLE_WRITE_KEY] = ref(cycle)


def send_in_single_write(scope: MutableMapping[str, Any], reply: bytes) -> bool:
    """Send a complete reply in one write; return whether that was possible.

    uvicorn validates each header again and writes twice, which takes a third of the time
    of a cached reply. Nothing is sent for HEAD, for the last reply of a connection, to a
    client that does not read, or with another server.
    """
    found: ref[AsgiCycle] | None = scope.get(SINGLE_WRITE_KEY)
    cycle = None if found is None else found()
    if (
        cycle is None
        or cycle.response_started
        or cycle.disconnected
        or not cycle.keep_alive
        or cycle.waiting_for_100_continue
        or cycle.flow.write_paused
        or cycle.scope["method"] == "HEAD"
    ):
        return False
    cycle.response_started = cycle.response_complete = True
    cycle.transport.write(reply)
    cycle.message_event.set()
    cycle.on_response()
    return True
