"""Listening options: those of the commands that serve HTTP, and the settings they give."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from productrecs.cli.options import data_option, joined_options
from productrecs.settings import Settings, from_environment

# Their environment variables are read with the other settings, whose errors name them.
listening_options = joined_options(
    click.option("--host", help="The address to listen on.", allow_from_autoenv=False),
    click.option(
        "--port",
        allow_from_autoenv=False,
        type=click.IntRange(0, 65_535),
        help="The port to listen on; 0 takes a free one.",
    ),
    data_option,
    click.option(
        "--workers",
        allow_from_autoenv=False,
        type=click.IntRange(1, 64),
        help="How many API processes to run.",
    ),
)


def settings_from_options(
    host: str | None = None,
    port: int | None = None,
    data: Path | None = None,
    workers: int | None = None,
) -> Settings:
    """Return the settings of the environment, overridden by the given options."""
    settings = from_environment(os.environ, data)
    options = {"host": host, "port": port, "workers": workers}
    chosen: dict[str, Any] = {key: one for key, one in options.items() if one is not None}
    return replace(settings, **chosen)
