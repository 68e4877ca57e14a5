"""Output of commands: JSON, and a progress bar on a terminal."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator

import click

_STEPS = 100


def print_json(value: object) -> None:
    """Print one JSON value to standard output, on one line."""
    click.echo(json.dumps(value, ensure_ascii=False))


@contextlib.contextmanager
def progress_bar(label: str, length: int) -> Iterator[Callable[[int], None]]:
    """Draw a progress bar on a terminal; yield a function to call with each advance."""
    with click.progressbar(
        length=max(length, 1), label=label, file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        yield bar.update


@contextlib.contextmanager
def share_progress_bar(label: str) -> Iterator[Callable[[float], None]]:
    """Draw a progress bar; yield a function to call with the share that is done."""
    with progress_bar(label, _STEPS) as advance:
        shown_steps = 0

        def show_share(share: float) -> None:
            nonlocal shown_steps
            advance(round(share * _STEPS) - shown_steps)
            shown_steps = round(share * _STEPS)

        yield show_share
