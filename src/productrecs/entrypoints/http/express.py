"""Lists that need not be waited for, answered in the very step that parsed the request.

For every request uvicorn makes a scope, a cycle and a task, and the gate a visit; for a
list that lies ready they cost more than all else. Here a well-formed call for a list goes
from its address to its reply at once. Whatever is out of the ordinary, or must be waited
for, is left to the gate, which gives the reference behaviour; both call the same functions.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from productrecs.entrypoints.http.authentication import (
    ROUTES,
    Credential,
    authenticate,
    keys_of,
)
from productrecs.entrypoints.http.context import Context
from productrecs.entrypoints.http.origins import cors_headers
from productrecs.entrypoints.http.paths import plain_query
from productrecs.entrypoints.http.pressure import Pressure
from productrecs.entrypoints.http.traffic import Traffic
from productrecs.entrypoints.http.visit import Header, valid_request_id, whole_reply
from productrecs.entrypoints.http.widget.recommendations import (
    answer_at_once,
    plain_request,
)

_PATH: Final = "/v1/recommendations"
_ROUTE: Final = ROUTES[_PATH]
_BEGINS: Final = _PATH.encode() + b"?"
_UNUSUAL: Final = frozenset(
    (b"content-length", b"transfer-encoding", b"expect", b"upgrade")
)
"""Headers by which more may belong to a request than its head."""


class Express:
    """The short way of one process."""

    def __init__(
        self, pressure: Pressure, traffic: Traffic, new_request_id: Callable[[], bytes]
    ) -> None:
        """Begin closed: until `open` everything is left to the gate."""
        self._pressure = pressure
        self._traffic = traffic
        self._new_request_id = new_request_id
        self._context: Context | None = None

    def open(self, context: Context) -> None:
        """Begin to answer."""
        self._context = context

    def answer(self, target: bytes, headers: Sequence[Header]) -> bytes | None:
        """Return the whole reply to a GET of `target`; None leaves it to the gate.

        Header names are in lower case.
        """
        context = self._context
        if context is None or self._pressure.is_behind or not target.startswith(_BEGINS):
            return None
        named = dict(headers)
        if not _UNUSUAL.isdisjoint(named) or b"#" in target:
            return None
        try:
            return self._reply(context, target[len(_BEGINS) :], named)
        except Exception:
            return None  # the gate meets it again, and says what it is

    def _reply(
        self, context: Context, query_string: bytes, headers: Mapping[bytes, bytes]
    ) -> bytes | None:
        began = time.monotonic()
        query = plain_query(query_string)
        if query is None:
            return None
        keys = keys_of(query_string, query, headers)
        store = authenticate(keys, Credential.PUBLISHABLE, context.accounts).store
        meter = context.metering.get(store.store_id)
        opened = context.shops.get(store)
        if meter is None or opened is None:
            return None
        if meter.ask(store.subscription, context.clock()) is not None:
            return None  # the plan has something to say
        asked = plain_request(query, opened.shop.settings.rec_num)
        body = None if asked is None else answer_at_once(context, opened, asked)
        if body is None:
            return None
        request_id = valid_request_id(headers) or self._new_request_id()
        reply = whole_reply(body, request_id, cors_headers(store, headers.get(b"origin")))
        meter.count()
        self._traffic.answered(_ROUTE, "GET", 200, began)
        return reply
