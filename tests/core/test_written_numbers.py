"""Written numbers: what people type into forms."""

import pytest

from productrecs.core.written_numbers import parse_typed_amount, parse_typed_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("500", 500.0), (" 500.50 ", 500.5), ("500,50", 500.5), ("-20", -20.0)),
        *(("1.299,00", 1299.0), ("1,299.00", 1299.0), ("1 299,00", 1299.0)),
        *(("1'299.00", 1299.0), ("0,125", 0.125), ("1.234.567", 1_234_567.0)),
    ],
)
def test_a_number_has_a_decimal_point_or_comma(text: str, value: float) -> None:
    assert parse_typed_number(text) == parse_typed_amount(text) == value


@pytest.mark.parametrize("text", ["", "lots", "€200", "inf", "nan", "1e400", "1,2,3"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        parse_typed_number(text)


@pytest.mark.parametrize("text", ["1.234", "1,234", "12,500"])
def test_an_amount_that_may_be_a_thousand_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="may be a thousand or not"):
        parse_typed_amount(text)
