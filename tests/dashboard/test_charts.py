"""Charts: every day of the period has its place, and the axes have round amounts."""

import pytest

from productrecs.dashboard.charts import (
    ExpectedSalesDay,
    days_between,
    forecast_chart,
    share_line_chart,
    stacked_money_bar_chart,
)
from productrecs.dashboard.formats import Formats

FORMATS = Formats.plain()


def test_one_day_of_sales_is_a_thirtieth_of_the_chart() -> None:
    days = days_between("2026-11-01", "2026-11-30")

    chart = stacked_money_bar_chart(days, {"Sales": [0.0] * 29 + [12.5]}, FORMATS)

    assert chart.width == 30 * 10
    assert len(chart.rows) == 30
    assert chart.rows[-1] == ("30 Nov 2026", "12.50")
    assert chart.layers[0].path.count("M") == 1
    assert chart.labels == ("1 Nov", "8 Nov", "15 Nov", "23 Nov", "30 Nov")


@pytest.mark.parametrize(
    ("highest", "amounts"),
    [
        (0, ("1", "0")),
        (3.9, ("4", "3", "2", "1", "0")),
        (12.5, ("15", "10", "5", "0")),
        (0.7, ("0.80", "0.60", "0.40", "0.20", "0.00")),
        (4100, ("6,000", "4,000", "2,000", "0")),
    ],
)
def test_the_amounts_at_the_side_are_round(
    highest: float, amounts: tuple[str, ...]
) -> None:
    assert (
        stacked_money_bar_chart(["2026-11-01"], {"Sales": [highest]}, FORMATS).amounts
        == amounts
    )


def test_bars_are_stacked_on_one_another() -> None:
    values = {"After a click": [1.0, 3.0], "Only seen": [3.0, 0.0]}

    chart = stacked_money_bar_chart(["2026-11-01", "2026-11-02"], values, FORMATS)

    lower, upper = chart.layers
    assert lower.path.startswith("M1.5 100.0v-25.0h7v25.0z")
    assert upper.path == "M1.5 75.0v-75.0h7v75.0z"
    assert chart.rows[0] == ("1 Nov 2026", "1.00", "3.00")


def test_a_forecast_follows_what_was_sold() -> None:
    ahead = [
        ExpectedSalesDay("2026-11-02", 1, 2, 4),
        ExpectedSalesDay("2026-11-03", 0, 0.4, 0),
    ]

    chart = forecast_chart([("2026-11-01", 3.0)], ahead, FORMATS)

    assert [one.name for one in chart.layers] == ["Likely between", "Sold", "Expected"]
    assert chart.rows[0][1:] == ("3", "\N{EN DASH}", "\N{EN DASH}", "\N{EN DASH}")
    assert chart.rows[2][1:] == ("\N{EN DASH}", "0.4", "0", "0.4")


def test_shares_are_lines_between_nothing_and_everything() -> None:
    days = days_between("2026-11-01", "2026-11-04")
    values = {"Relevance": [None, 0.5, None, 1.0], "Empty": [None, None, None, 0.25]}

    chart = share_line_chart(days, values, FORMATS)

    assert [one.path for one in chart.layers] == [
        "M15 50.0 35 0.0",
        "M35 75.0m-2 0h4",  # one value alone is a dash that can be seen
    ]
    assert [text.replace("\N{NO-BREAK SPACE}", "") for text in chart.amounts] == [
        *("100%", "75%", "50%", "25%", "0%")
    ]
    assert [row[1] for row in chart.rows[:3:2]] == ["–", "–"]
