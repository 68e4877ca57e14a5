"""`productrecs report`: a store's report as a table, CSV or JSON."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypedDict, Unpack

import click

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.core.report import (
    FigureDefinition,
    Report,
    ReportValue,
    parse_report_query,
)
from productrecs.report_registry import (
    REPORT_TYPES,
    make_report,
    refresh_report_counts,
    report_to_csv,
    report_to_dict,
)

_SUBJECTS: Final = "\n".join(
    f"  {name:<16} {subject.summary}" for name, subject in REPORT_TYPES.items()
)


class _ReportOptions(TypedDict):
    """The options of the command."""

    first_day: str | None
    last_day: str | None
    by: str | None
    limit: int | None
    test: str | None


@click.command(epilog=f"\b\nReports:\n{_SUBJECTS}")
@click.argument("domain")
@click.argument("name", metavar="NAME")
@click.option("--from", "first_day", help="The first day, such as 2026-03-01.")
@click.option("--until", "last_day", help="The last day; today when not given.")
@click.option("--by", help="The columns to group by, such as day or widget,source.")
@click.option("--limit", type=int, help="The most rows to print (default 100).")
@click.option("--test", help="The test to report (default: the current holdout test).")
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV.")
@json_option
@data_option
def report(
    domain: str,
    name: str,
    *,
    as_csv: bool,
    as_json: bool,
    data: Path | None,
    **period_options: Unpack[_ReportOptions],
) -> None:
    """Report a store's numbers of the last 30 days, each with its definition.

    Example: productrecs report shop.example.com attribution --by day
    """
    if domain in REPORT_TYPES and name not in REPORT_TYPES:
        domain, name = name, domain
    with open_store(data, domain) as (services, store):
        query = parse_report_query(services.clock(), store.settings.zone, **period_options)
        refresh_report_counts(services, store, name, query)
        table = make_report(services, store, name, query)
    if as_json:
        print_json(report_to_dict(table))
    elif as_csv:
        click.echo(report_to_csv(table), nl=False)
    else:
        for line in _report_lines(table):
            click.echo(line)


def _report_lines(table: Report) -> Iterator[str]:
    yield table.title
    yield ""
    if table.figures:
        name_width = max(len(figure.definition.name) for figure in table.figures)
        values = [
            _format_value(figure_value.value, figure_value.definition.unit)
            for figure_value in table.figures
        ]
        value_width = max(map(len, values))
        for figure, value in zip(table.figures, values, strict=True):
            definition = figure.definition
            name = f"{definition.name:<{name_width}}"
            yield f"{name}  {value:>{value_width}}  {definition.meaning}"
        yield ""
    if table.columns:
        yield from _table_lines(table)
        yield ""
    yield from table.notes


def _table_lines(table: Report) -> Iterator[str]:
    names = [column.name for column in table.columns]
    cells = [
        [
            _format_value(value, column.unit)
            for value, column in zip(row, table.columns, strict=True)
        ]
        for row in table.rows
    ]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    yield _aligned_row(names, widths, table.columns)
    for row in cells:
        yield _aligned_row(row, widths, table.columns)
    if not cells:
        yield "(nothing)"
    yield ""
    for column in table.columns:
        yield f"  {column.name}: {column.meaning}"


def _aligned_row(
    row: Sequence[str], widths: Sequence[int], columns: Sequence[FigureDefinition]
) -> str:
    cells = [
        f"{cell:<{width}}" if column.unit in {"text", "day", "time"} else f"{cell:>{width}}"
        for cell, width, column in zip(row, widths, columns, strict=True)
    ]
    return "  ".join(cells).rstrip()


def _format_value(figure: ReportValue, unit: str) -> str:
    if figure is None:
        return "-"
    if isinstance(figure, bool | str):
        return " ".join(str(figure).split())
    if unit == "share":
        return f"{100 * figure:.1f} %"
    if unit == "money":
        return f"{figure:,.2f}"
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:,.4g}"
