"""Validation errors: a 422 reply is always small, complete and readable."""

import json
import math
from typing import Any

import msgspec
import pytest

from productrecs.schemas.validation_errors import (
    InvalidInputError,
    ValidationProblem,
    validation_error_body,
)


def type_of(value: object) -> str:
    """Return a name for a case: some of the values here cannot be printed."""
    return type(value).__name__


def _entries(*problems: ValidationProblem) -> list[dict[str, Any]]:
    """Return the entries of the reply, read as strictly as a client may."""
    reply = validation_error_body(problems)
    assert len(reply) <= 64 * 1024
    detail: list[dict[str, Any]] = msgspec.json.decode(reply)["detail"]
    return detail


def test_a_problem_has_the_members_of_the_interface() -> None:
    problem = ValidationProblem(
        ("body", "items", 3, "price"), "too much", "less_than", 5, {"lt": 3}
    )

    assert _entries(problem) == [
        {
            "loc": ["body", "items", 3, "price"],
            "msg": "too much",
            "type": "less_than",
            "input": 5,
            "ctx": {"lt": 3},
        }
    ]


def test_without_input_or_context_neither_is_in_the_reply() -> None:
    assert _entries(ValidationProblem(("query", "num"), "no", "x")) == [
        {"loc": ["query", "num"], "msg": "no", "type": "x"}
    ]


@pytest.mark.parametrize(
    "value", [None, True, False, 0, -7, 1.5, "", "Röd €", [], {}, [1, "a", {"b": [None]}]]
)
def test_a_short_input_is_repeated_unchanged(value: object) -> None:
    assert _entries(ValidationProblem((), "", "", value))[0]["input"] == value


@pytest.mark.parametrize(
    "value",
    [
        "x" * 100_000,
        "\0" * 1000,
        '"' * 1000,
        "\U0001f600" * 1000,
        "\ud800" * 1000,
        b"\xff" * 10_000,
        ["x" * 50] * 1000,
        list(range(100_000)),
        {f"key {n}": n for n in range(10_000)},
        {"k" * 10_000: 1},
        [[[["deep"] * 100] * 100] * 100],
    ],
    ids=type_of,
)
def test_a_long_input_is_cut_at_256_bytes(value: object) -> None:
    shown = _entries(ValidationProblem((), "", "", value))[0]["input"]

    assert isinstance(shown, str)
    assert 200 <= len(msgspec.json.encode(shown)) <= 256


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        ("\ud800", "\\ud800"),
        (["\udfff", math.nan], ["\\udfff", "NaN"]),
        ({"\ud800": 1}, {"\\ud800": 1}),
        (10**5000, "an integer of more than 300 digits"),
        (b"\xff", "\\xff"),
        ((1, 2), [1, 2]),
    ],
    ids=type_of,
)
def test_values_that_json_cannot_hold_are_written_as_text(
    value: object, shown: object
) -> None:
    assert _entries(ValidationProblem((), "", "", value))[0]["input"] == shown


def test_an_endlessly_nested_input_is_cut() -> None:
    endless: list[object] = []
    endless.append(endless)

    assert len(_entries(ValidationProblem((), "", "", endless))) == 1


def test_at_most_a_hundred_problems_are_reported() -> None:
    assert (
        len(_entries(*(ValidationProblem(("body", n), "no", "x", n) for n in range(500))))
        == 100
    )


def test_the_reply_stays_within_64_kib() -> None:
    worst = ValidationProblem(
        loc=tuple("\U0001f600" * 200 for _ in range(100)),
        msg="\0" * 5000,
        type="x",
        input="\0" * 5000,
        ctx={"reason": "\0" * 100},
    )

    entries = _entries(*[worst] * 100)

    assert 1 <= len(entries) < 100


def test_a_context_that_is_too_long_is_left_out() -> None:
    assert (
        "ctx"
        not in _entries(ValidationProblem((), "", "", ctx={"expected": "x" * 2000}))[0]
    )


def test_an_exception_in_a_context_is_its_message() -> None:
    entries = _entries(ValidationProblem((), "", "", ctx={"error": ValueError("why")}))

    assert entries[0]["ctx"] == {"error": "why"}


def test_no_problem_is_an_empty_list() -> None:
    assert json.loads(validation_error_body([])) == {"detail": []}


def test_a_refusal_reads_as_a_sentence_for_the_command_line() -> None:
    error = InvalidInputError(
        [ValidationProblem(("body", "items", 3, "price"), "should be a number", "x")]
    )

    assert str(error) == "items.3.price: should be a number"
