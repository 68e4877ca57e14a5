"""Unknown settings: variables of the environment that look like settings but are none."""

import difflib
import logging
from collections.abc import Iterator, Mapping
from typing import Final

from productrecs.cli.main import COMMANDS
from productrecs.settings import SETTING_DESCRIPTIONS

_log = logging.getLogger(__name__)

_PREFIX: Final = "PRODUCTRECS_"
_BENCHMARKS: Final = frozenset({"PRODUCTRECS_BENCH_DATA"})  # of the source tree


def find_unknown_settings(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the names that are no settings of this program, each with its remedy."""
    known_variables = {description.environment for description in SETTING_DESCRIPTIONS}
    known_variables |= {
        f"{description.environment}_FILE"
        for description in SETTING_DESCRIPTIONS
        if description.is_secret
    }
    command_prefixes = tuple(
        f"{_PREFIX}{verb.upper().replace('-', '_')}_" for verb in COMMANDS
    )
    endings = [known.removeprefix(_PREFIX) for known in known_variables]
    for name in sorted(environment.keys() - known_variables - _BENCHMARKS):
        if name.startswith(_PREFIX) and not name.startswith(command_prefixes):
            near = difflib.get_close_matches(name.removeprefix(_PREFIX), endings, 1)
            meant = f"use {_PREFIX}{near[0]}, or " if near else ""
            yield name, f"{meant}unset it; `productrecs settings` lists all"


def log_unknown_settings(environment: Mapping[str, str]) -> None:
    """Log a warning for each name that is no setting of this program."""
    for name, remedy in find_unknown_settings(environment):
        _log.warning("setting unknown", extra={"setting": name, "remedy": remedy})
