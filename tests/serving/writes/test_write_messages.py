"""Write messages: what waiting events weigh in the byte budget."""

from dataclasses import fields

import pytest

from productrecs.records.events.event import EventKind, NewEvent
from productrecs.serving.writes.write_messages import estimated_memory_bytes

NUMBERS = {"kind", "value", "quantity", "position", "ts_ms", "signed"}


@pytest.mark.parametrize(
    "name", [one.name for one in fields(NewEvent) if one.name not in NUMBERS]
)
def test_every_text_of_an_event_has_a_weight(name: str) -> None:
    event = NewEvent(EventKind.BUY)
    with_text = NewEvent(EventKind.BUY, **{name: "x" * 500})  # type: ignore[arg-type]

    assert estimated_memory_bytes([[with_text]]) - estimated_memory_bytes([[event]]) == 500
