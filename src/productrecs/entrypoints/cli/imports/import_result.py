"""Import result: its output as text or JSON, and its errors."""

from dataclasses import asdict
from typing import Final

import click

from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.cli.command_context import print_json
from productrecs.entrypoints.cli.terminal_output import counted
from productrecs.records.orders.row_report import RowReport

_MOST_SHOWN: Final = 10


class NothingImportedError(ProductRecsError):
    """No row of the file could be read."""


class RowsLeftOutError(ProductRecsError):
    """Some rows of the file could not be read; the others were imported."""


def print_import_result(report: RowReport, summary: str, *, as_json: bool) -> None:
    """Print the result of an import, and the rejected rows on standard error.

    Raises:
        NothingImportedError: when there were rows and none could be read.
        RowsLeftOutError: when some of them could not be read.
    """
    if as_json:
        told = asdict(report)
        told.pop("errors_kept")
        print_json(told)
    else:
        click.echo(summary)
    for error in report.errors[:_MOST_SHOWN]:
        click.echo(f"row {error.row} skipped: {error.message}", err=True)
    further = report.rows_skipped - _MOST_SHOWN
    if further > 0:
        click.echo(f"... and {further} more rows skipped", err=True)
    if report.rows and report.rows_skipped == report.rows:
        message = "nothing was imported: no row could be read; correct the rows above"
        raise NothingImportedError(message)
    if report.rows_skipped:
        left_out = counted(report.rows_skipped, "row")
        message = f"{left_out} skipped; correct the rows above and import the file again"
        raise RowsLeftOutError(message)
