"""Fast query reader: plain values are read as FastAPI reads them, others are left to it."""

from enum import StrEnum
from typing import Annotated

import pytest
from fastapi import Query
from pydantic import AfterValidator

from productrecs.http.pipeline.fast_query_reader import BLANK_IS_FALSE, FastQueryReader
from productrecs.schemas.validation_errors import InvalidInputError, ValidationProblem


class Colour(StrEnum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


def _read(
    word: str = "none",
    number: Annotated[int, Query(alias="num", ge=1, le=9)] = 5,
    switch: Annotated[bool, BLANK_IS_FALSE] = False,  # noqa: FBT002 - a query parameter
    colour: Colour | None = None,
    checked: Annotated[str, AfterValidator(str.strip), Query(alias="c")] = "",
    open_number: Annotated[int, Query(ge=0)] = 0,
    strict: bool = False,  # noqa: FBT001, FBT002 - a query parameter
    words: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
) -> tuple[object, ...]:
    if word == "refused":
        raise InvalidInputError(
            [ValidationProblem(("query", "word"), "refused", "value_error")]
        )
    return word, number, switch, colour, checked, open_number, strict, words


READER = FastQueryReader(_read)


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ({}, ("none", 5, False, None)),
        ({"word": "", "num": "9"}, ("", 9, False, None)),
        ({"switch": "1", "colour": "blue"}, ("none", 5, True, Colour.BLUE)),
        ({"switch": ""}, ("none", 5, False, None)),
        ({"key": "pk_1"}, ("none", 5, False, None)),
    ],
)
def test_plain_values_are_read(query: dict[str, str], values: tuple[object, ...]) -> None:
    assert READER.read(query) == (*values, "", 0, False, [])


@pytest.mark.parametrize(
    "query",
    [
        {"num": "0"},
        {"num": "10"},
        {"num": "07"},
        {"num": ""},
        {"num": "٣"},
        {"switch": "TRUE"},
        {"strict": ""},
        {"colour": "green"},
        {"colour": ""},
        {"c": "x"},
        {"open_number": "1"},
        {"words": "a"},
        {"word": "refused"},
        {"number": "7"},  # by its alias only
    ],
)
def test_whatever_else_is_left_to_fastapi(query: dict[str, str]) -> None:
    assert READER.read(query) is None
