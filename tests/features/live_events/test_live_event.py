"""Live events: what the live view says of an event or order."""

import json

import pytest

from productrecs.core.ids import StoreId
from productrecs.features.live_events.live_event import (
    LiveEventVerdict,
    ReceivedEventRequest,
    live_events_of_request,
)

VIEW = {"event": "detail-page-view", "item_id": "a", "session_id": "s_1"}
ORDER = {"order_id": "A-1", "session_id": "s_1", "items": [{"item_id": "a"}]}


@pytest.mark.parametrize(
    ("body", "is_order", "detail"),
    [
        (VIEW, False, ""),
        (VIEW | {"colour": 1}, False, "Unknown field 'colour' was ignored."),
        (
            ORDER | {"customer_id": "c"},
            True,
            "Order A-1. Unknown field 'customer_id' was ignored; did you mean 'user_id'?",
        ),
    ],
)
def test_an_accepted_event_or_order_names_its_unknown_fields(
    body: dict[str, object], detail: str, *, is_order: bool
) -> None:
    data = json.dumps(body).encode()
    received = ReceivedEventRequest(StoreId("s"), 0, "", data, is_order=is_order)

    (event,) = live_events_of_request(received)

    assert (event.verdict, event.detail) == (LiveEventVerdict.ACCEPTED, detail)
