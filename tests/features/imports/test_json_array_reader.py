"""JSON array reader: members one at a time, whatever the block boundaries."""

import io
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.features.imports import json_array_reader
from productrecs.features.imports.json_array_reader import (
    BrokenJsonArrayError,
    JsonArrayReader,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def members(text: str | bytes) -> list[object]:
    content = text.encode() if isinstance(text, str) else text
    array = JsonArrayReader(io.BytesIO(content), 1_000_000, lambda _bytes: None)
    return [json.loads(member) for member in array]


@given(st.lists(VALUES), st.sampled_from([None, 2]), st.integers(1, 40))
@pytest.mark.parametrize("wrapping", [{}, {"note": {"items": [1]}}])
def test_every_member_comes_out_as_it_is(
    wrapping: dict[str, object], values: list[object], indent: int | None, block: int
) -> None:
    whole = {**wrapping, "items": values} if wrapping else values
    text = json.dumps(whole, indent=indent, ensure_ascii=False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_array_reader, "BLOCK", block)
        found = members(text.encode("utf-8", "surrogatepass"))

    assert found == values


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "1", '"items"', "{}", '{"items": {}}', '{"items": 1}', "[1 2]", "[1,]"),
        *("[,]", "[1", "[1,", '["a', '{"items": [1', "[1}", "\ufeff", '{"a": 1, "b": 2}'),
    ],
)
def test_what_is_no_array_is_refused(text: str) -> None:
    with pytest.raises(BrokenJsonArrayError, match="not a JSON array"):
        members(text)


def test_what_follows_the_array_does_not_matter() -> None:
    assert members('{"items": [1, 2], "total": 2}') == [1, 2]


def test_a_member_may_not_be_endless() -> None:
    with pytest.raises(BrokenJsonArrayError):
        members('["' + "x" * 4_000_000 + '"]')


def test_a_long_array_is_read_in_bounded_memory() -> None:
    item = json.dumps({"id": "a", "title": "x" * 2_000}).encode()
    content = b"[" + b",".join([item] * 20_000) + b"]"
    array = JsonArrayReader(io.BytesIO(content), 1_000_000, lambda _bytes: None)

    tracemalloc.start()
    count = sum(1 for _ in array)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (count, peak < len(content) / 4) == (20_000, True)
