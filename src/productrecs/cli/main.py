"""Main program of the command line: its commands, each loaded when it is called."""

import errno
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import Final

import click

from productrecs.core.errors import ProductRecsError, operator_text
from productrecs.core.program_version import PROGRAM_VERSION

UMASK: Final = 0o077
"""Files that a command writes are readable by this user only (keys, personal data)."""

# command -> module:attribute; imported on call, so that `serve` loads nothing else.
# The demo store is a separate package: only this table names it.
COMMANDS: Final = {
    "account": ".commands.dashboard_logins:account",
    "api": ".processes.api:api",
    "backup": ".commands.backup_and_restore:backup",
    "bundles": ".commands.bundles:bundles",
    "calendar": ".commands.sales_calendar:calendar",
    "compact": ".commands.migrate_and_compact:compact",
    "demo": "demo_store.command:demo",
    "doctor": ".doctor.command:doctor",
    "embed": ".commands.embed_tags:embed",
    "evaluate": ".commands.evaluate_lists:evaluate",
    "explain": ".commands.explain:explain",
    "export": ".commands.export:export",
    "feed": ".commands.scheduled_feed:feed",
    "forecast": ".commands.forecast:forecast",
    "import-events": ".commands.import_items_and_events:import_events",
    "import-items": ".commands.import_items_and_events:import_items",
    "import-orders": ".commands.import_orders:import_orders",
    "imports": ".commands.list_and_undo_imports:imports",
    "keys": ".commands.secret_keys:keys",
    "looks": ".commands.looks:looks",
    "measure-search": ".commands.measure_search:measure_and_record_search",
    "migrate": ".commands.migrate_and_compact:migrate",
    "openapi": ".commands.openapi_and_collections:openapi",
    "models": ".commands.installed_models:models",
    "origins": ".commands.stores_and_origins:origins",
    "pictures": ".commands.picture_fetches:pictures",
    "placements": ".commands.placements:placements",
    "plans": ".commands.plans:plans",
    "purchase-orders": ".commands.purchase_orders:purchase_orders",
    "report": ".commands.report:report",
    "restore": ".commands.backup_and_restore:restore",
    "rules": ".commands.merchandising_rules:rules",
    "search-rules": ".commands.synonyms_and_search_rules:search_rules",
    "serve": ".processes.serve:serve",
    "settings": ".commands.settings:settings",
    "shopper": ".commands.shopper_export_and_erasure:shopper",
    "store": ".commands.stores_and_origins:store",
    "suppliers": ".commands.suppliers:suppliers",
    "synonyms": ".commands.synonyms_and_search_rules:synonyms",
    "tests": ".commands.experiments:tests",
    "train": ".commands.train:train",
    "tune": ".commands.tune:tune",
    "worker": ".processes.worker:worker",
}

_COMPILED_KERNELS: Final = "productrecs.engines.compiled_kernels"


def _is_installed(place: str) -> bool:
    package = place.partition(".")[0]  # empty for a module of this package
    return not package or importlib.util.find_spec(package) is not None


class _LazyCommands(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        """Run a command; an expected error is one line, without a stack trace."""
        try:
            return super().invoke(ctx)
        except ProductRecsError as error:
            message = " ".join(operator_text(error).split())
            raise click.ClickException(message) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader closed the pipe: click exits quietly
            message = f"{error.filename or 'the disk'}: {error.strerror or error}"
            raise click.ClickException(message) from error

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's name
        return sorted(name for name, place in COMMANDS.items() if _is_installed(place))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click
        if cmd_name not in COMMANDS:
            return None
        if not _is_installed(COMMANDS[cmd_name]):
            package = COMMANDS[cmd_name].partition(".")[0]
            message = f"the package {package} is not installed, so there is no {cmd_name}"
            raise click.ClickException(message)
        module, name = COMMANDS[cmd_name].split(":")
        loaded = importlib.import_module(module, __package__)
        command = getattr(loaded, name)
        return command if isinstance(command, click.Command) else None


@click.group(
    cls=_LazyCommands,
    context_settings={
        "auto_envvar_prefix": "PRODUCTRECS",
        "help_option_names": ["-h", "--help"],
    },
)
@click.version_option(PROGRAM_VERSION, prog_name="productrecs")
def productrecs() -> None:
    """Recommendations, trending and more for online stores, on your own machine."""


def run_command(arguments: Sequence[str]) -> int:
    """Run one command in this process; return its exit status."""
    sys.argv[1:] = arguments
    os.umask(UMASK)
    try:
        productrecs(arguments)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    return 0


def main() -> None:
    """Run the command line; an expected error is one line on stderr and exit status 1."""
    os.umask(UMASK)
    try:
        productrecs()
    except ImportError as error:
        if error.name != _COMPILED_KERNELS:
            raise
        sys.exit(f"Error: {error}")
