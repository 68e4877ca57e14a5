"""What the import commands share: options for the file's format, and the result's print."""

from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from productrecs.cli.output import print_json
from productrecs.core.errors import ProductRecsError
from productrecs.core.plural import counted
from productrecs.records.orders.order_history_import import RowCountsAndErrors, SkippedRow

Command = TypeVar("Command", bound=Callable[..., Any])


def table_format_options(
    kinds: type[StrEnum], section: str
) -> Callable[[Command], Command]:
    """Add `--format`, one of `kinds`, and `--mapping`, a file that has a `section`."""
    format_option = click.option(
        "--format",
        "kind",
        type=click.Choice([one.value for one in kinds]),
        help="The format of the file (default: detected from its content).",
    )
    mapping_option = click.option(
        "--mapping",
        type=click.Path(dir_okay=False, path_type=Path),
        help=f"A TOML file whose [{section}] maps the columns of a table to ours.",
    )
    return lambda command: format_option(mapping_option(command))


_MAX_SHOWN: Final = 10


class NothingImportedError(ProductRecsError):
    """No row of the file could be read."""


class RowsLeftOutError(ProductRecsError):
    """Some rows of the file could not be read; the others were imported."""


def print_import_result_or_fail(
    report: RowCountsAndErrors, summary: str, *, as_json: bool
) -> None:
    """Print the result of an import, and the rejected rows on standard error.

    Raises:
        NothingImportedError: when there were rows and none could be read.
        RowsLeftOutError: when some of them could not be read.
    """
    if as_json:
        fields = asdict(report)
        fields.pop("max_errors")
        fields["errors"] = [_error_fields(error) for error in report.errors]
        print_json(fields)
    else:
        click.echo(summary)
    for error in report.errors[:_MAX_SHOWN]:
        click.echo(f"row {error.row} skipped: {error.message}", err=True)
    further_count = report.rows_skipped - _MAX_SHOWN
    if further_count > 0:
        click.echo(f"... and {further_count} more rows skipped", err=True)
    if report.rows and report.rows_skipped == report.rows:
        message = "nothing was imported: no row could be read; correct the rows above"
        raise NothingImportedError(message)
    if report.rows_skipped:
        rejected_text = counted(report.rows_skipped, "row")
        message = (
            f"{rejected_text} skipped; correct the rows above and import the file again"
        )
        raise RowsLeftOutError(message)


def _error_fields(error: SkippedRow) -> dict[str, object]:
    cell = {"column": error.column, "value": error.value} if error.column else {}
    return {"row": error.row, "message": error.message, **cell}
