"""Terminal output: progress bars, and counts with their noun."""

import contextlib
import sys
from collections.abc import Callable, Iterator

import click


@contextlib.contextmanager
def progress(label: str, length: int) -> Iterator[Callable[[int], None]]:
    """Draw a progress bar on a terminal; yield a function to call with each advance."""
    with click.progressbar(
        length=max(length, 1), label=label, file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        yield bar.update


def counted(number: int, noun: str) -> str:
    """Return a number with thousands separators and its noun, such as `1,024 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
