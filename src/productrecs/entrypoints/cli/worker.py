"""`productrecs worker`: the half of the service that works in the background."""

import os
import signal
from pathlib import Path
from typing import Final

import click

from productrecs.entrypoints.cli.lifeline import Lifeline
from productrecs.entrypoints.cli.session import data_option, opened
from productrecs.entrypoints.logs import configure_logging
from productrecs.entrypoints.worker.registry import build_worker

NICENESS: Final = 5
"""On a busy machine the API's processes get three times the worker's share."""


@click.command
@data_option
@click.option("--lifeline", type=int, hidden=True)
def worker(data: Path | None, lifeline: int | None) -> None:
    """Run background jobs and their timetable; any number may run beside one another.

    Stop it with SIGTERM or Ctrl-C: the job in hand is finished or given back first.
    """
    os.nice(NICENESS)
    with opened(data) as services:
        configure_logging(services.settings.log_format)
        working = build_worker(services)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: working.stop())
        if lifeline is not None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor decides
            line = Lifeline(lifeline)
            line.watch(working.stop)
            line.ready()
        working.run()
