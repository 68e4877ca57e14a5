"""Output of commands: JSON, and a progress bar on a terminal."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator

import click


def print_json(value: object) -> None:
    """Print one JSON value to standard output, on one line."""
    click.echo(json.dumps(value, ensure_ascii=False))


@contextlib.contextmanager
def progress(label: str, length: int) -> Iterator[Callable[[int], None]]:
    """Draw a progress bar on a terminal; yield a function to call with each advance."""
    with click.progressbar(
        length=max(length, 1), label=label, file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        yield bar.update
