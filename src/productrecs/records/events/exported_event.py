"""Exported event: a row of the log in the form in which events are imported."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from productrecs.core.clock import iso
from productrecs.records.events.event import EVENT_SUBJECTS, EventKind, EventSubject

Fields: TypeAlias = dict[str, object]


def event_fields(row: Mapping[str, Any], names: Mapping[int, str]) -> Fields:
    """Return a row of the log in the form of the import; `names` gives the item ids."""
    kind = EventKind(row["kind"])
    item = names.get(row["item"])
    fields: Fields = {
        "event": kind.wire_name,
        **identity_fields(row["shopper"], row["session"]),
    }
    if EVENT_SUBJECTS[kind] is EventSubject.INDICATOR:
        fields["item_id"] = row["term"]
    elif kind is EventKind.REC_IMPRESSION:
        fields["item_ids"] = [item]
        fields["sources"], fields["positions"] = [row["source"]], [row["position"]]
    else:
        fields |= {"item_id": item, "search_query": row["term"]}
        fields |= {"source": row["source"], "position": row["position"]}
    for name in ("value", "currency", "quantity", "widget"):
        fields[name] = row[name]
    return without_empty_fields(fields | {"timestamp": iso(row["ts"])})


def identity_fields(shopper: str, session: str | None) -> Fields:
    """Return the shopper's ids as they were sent."""
    return {"user_id": None if shopper == session else shopper, "session_id": session}


def without_empty_fields(fields: Fields) -> Fields:
    """Return the fields that are not empty."""
    return {name: value for name, value in fields.items() if value is not None}
