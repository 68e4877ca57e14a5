"""JSON parser: strict, with helpful errors."""

import json

import pytest

from productrecs.http.routes.server.item_changes import parse_push
from productrecs.records.catalog.item import ItemPatch
from productrecs.schemas.items import TooManyItemsError, parse_items
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import InvalidInputError
from tests.http.hostile import MISSHAPEN, UNREADABLE


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_not_json_is_one_problem_of_type_json_invalid(body: bytes) -> None:
    with pytest.raises(InvalidInputError) as refused:
        parse_json(body)

    (problem,) = refused.value.problems
    assert problem.type == "json_invalid"
    assert problem.loc[0] == "body"
    assert 0 <= int(problem.loc[1]) <= len(body)
    assert problem.msg.startswith("JSON decode error: ")


@pytest.mark.parametrize("body", MISSHAPEN.values(), ids=MISSHAPEN)
def test_json_of_any_shape_is_read_as_it_is(body: bytes) -> None:
    assert parse_json(body) == json.loads(body)


def test_a_lenient_parser_lets_some_of_the_corpus_through() -> None:
    # the control: were parse_json as lenient as the standard library, tests above fail
    let_through = {name for name, body in UNREADABLE.items() if _is_taken_leniently(body)}

    assert {"NaN", "1e400", "escaped high surrogate", "33 levels of lists"} <= let_through


def _is_taken_leniently(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty"),
        (b'{"price": NaN}', "NaN and Infinity are not JSON; send null"),
        (b"[-Infinity]", "NaN and Infinity are not JSON; send null"),
        (b'{"price": 1e400}', "a number is too large"),
        (b'{"a": "\xff"}', "encode the body as UTF-8"),
        (b"--a1\r\nContent-Disposition: form-data", "send JSON, with a photo in base64"),
        (b"\xff\xd8\xff\xe0", "a form or a picture was sent"),
        (b'["\\ud800"]', "half a surrogate pair"),
        (b"[" * 40 + b"]" * 40, "nested deeper than 32"),
        (b'{"a": ', "ends before it is complete"),
        (b'["a\tb"]', "control character"),
        (b"[1] 2", "trailing characters"),
    ],
)
def test_a_refusal_says_what_to_send_instead(body: bytes, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        parse_json(body)


@pytest.mark.parametrize(
    ("body", "position"),
    [
        (b'{"price": NaN}', 10),
        (b'{"price": 1e400}', 10),
        (b'{"a": "\xff"}', 7),
        (b'["ab\\ud800"]', 4),
        (b'{"a": 1', 7),
        (b"\xef\xbb\xbf[1,]", 3),
    ],
)
def test_a_refusal_says_at_which_byte(body: bytes, position: int) -> None:
    with pytest.raises(InvalidInputError) as refused:
        parse_json(body)

    assert refused.value.problems[0].loc == ("body", position)


def test_a_byte_order_mark_is_skipped() -> None:
    assert parse_json(b'\xef\xbb\xbf {"a": 1}') == {"a": 1}


def test_of_a_repeated_key_the_last_wins() -> None:
    assert parse_json(b'{"a": 1, "a": 2, "a": 3}') == {"a": 3}


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert parse_json(b'["\\ud83d\\ude00"]') == ["\U0001f600"]


@pytest.mark.parametrize("digits", [16, 30, 400])
def test_long_integers_come_whole_for_the_schema_to_judge(digits: int) -> None:
    assert parse_json(b"9" * digits) == 10**digits - 1


def test_exactly_32_levels_are_read() -> None:
    assert parse_json(b"[" * 32 + b"]" * 32) == json.loads("[" * 32 + "]" * 32)
    assert parse_json(b'{"a":' * 32 + b"1" + b"}" * 32) is not None


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 500_000 + b"[]]",
        b"[" + b"{}," * 500_000 + b"{}]",
        b"[" + b"1," * 4_000_001 + b"1]",
    ],
    ids=["lists", "objects", "numbers"],
)
def test_a_body_that_would_swell_in_memory_is_refused_undecoded(body: bytes) -> None:
    with pytest.raises(InvalidInputError, match="send less at a time"):
        parse_json(body)


def test_a_push_of_a_thousand_full_items_is_not_too_much() -> None:
    item = {
        "id": "a",
        "categories": ["c"] * 200,
        "category_ids": ["1"] * 200,
        "description": "Light, dry and warm. " * 1000,
        "vector": [0.5] * 1536,
    }
    body = json.dumps({"items": [item] * 1000}).encode()

    assert len(body) > 20_000_000
    assert len(parse_push(body)) == 1000
    with pytest.raises(InvalidInputError, match="send less at a time"):
        parse_json(body)  # the control: at once it would take ten times its size


PUSHES = {
    "plain": b'{"items": [{"id": "a", "title": "T\xc3\xa4lt", "stock_qty": 2}]}',
    "with a mark": b'\xef\xbb\xbf{"items": [{"id": 1}]}',
    "none": b'{"items": []}',
    "twice": b'{"items": [{"id": "a"}], "x": {"items": [1]}, "items": [{"id": "b"}]}',
    "blanks": b' { "items" :\n[ {"id":"a"} ,\t{"id":"b", "categories":["c"]} ] } ',
    "many": b'{"items": [' + b",".join([b'{"id": "a", "price": null}'] * 1000) + b"]}",
    "a state": b'{"items": [{"id": "a", "availability": "in stock", "category_ids": [1]}]}',
}


@pytest.mark.parametrize("body", PUSHES.values(), ids=PUSHES)
def test_a_push_read_item_by_item_is_the_same(body: bytes) -> None:
    expected = parse_items(parse_json(body))

    assert [ItemPatch(one.item_id, one.fields) for one in parse_push(body)] == expected


BROKEN = {
    **{f"as it is: {name}": body for name, body in UNREADABLE.items()},
    **{f"as it is: {name}": body for name, body in MISSHAPEN.items()},
    **{
        f"an item: {name}": b'{"items": [{"id": "a"}, %b]}' % body
        for name, body in UNREADABLE.items()
    },
    **{
        f"beside: {name}": b'{"x": %b, "items": [{"id": "a"}]}' % body
        for name, body in UNREADABLE.items()
    },
    "no list": b'{"items": {"id": "a"}}',
    "null": b'{"items": null}',
    "no items": b"{}",
    "a number too large, second": b'{"items": [{"id": "a"}, {"id": "b", "price": 1e400}]}',
    "half a pair in an escape": b'{"items": [{"id": "a"}, {"id": "\\ud800"}]}',
    "a wrong item": b'{"items": [{"id": "a"}, {"id": "", "price": "x"}]}',
    "no UTF-8, second": b'{"items": [{"id": "a"}, {"id": "b\xff"}]}',
    "no UTF-8 beside it": b'{"items": [{"id": "a"}], "x": "b\xff"}',
    "a number too large beside it": b'{"items": [{"id": "a"}], "x": [1e400]}',
    "32 levels": b'{"items": [{"id": "a", "x": ' + b"[" * 30 + b"]" * 30 + b"}]}",
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_what_is_no_push_is_refused_alike_item_by_item(body: bytes) -> None:
    with pytest.raises(InvalidInputError) as expected:
        parse_items(parse_json(body))
    with pytest.raises(InvalidInputError) as refused:
        parse_push(body)

    (first, *_), (same, *_) = expected.value.problems, refused.value.problems
    assert (same.type, same.loc[0]) == (first.type, first.loc[0])
    if first.type != "json_invalid" or "JSON is malformed" in first.msg:
        assert same.loc == first.loc


def test_more_than_a_thousand_items_are_not_even_split() -> None:
    with pytest.raises(TooManyItemsError):
        parse_push(b'{"items": [' + b"1," * 2_000_000 + b"1]}")
