"""`productrecs tests`: tests of variants of a placement or of search."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.records.experiments.experiment import (
    PLACEMENT,
    SEARCH,
    Experiment,
    ExperimentContent,
    Goal,
    Treatment,
)
from productrecs.records.experiments.experiment_editor import ExperimentEditor

_LISTS: Final = frozenset({"filters", "relative"})
_NONE: Final = frozenset({"", "none"})


@click.group()
def tests() -> None:
    """Test variants of a placement or of search against what shoppers get now."""


@tests.command("list")
@click.argument("domain")
@json_option
@data_option
def list_(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List a store's tests, the newest first."""
    with _open_editor(domain, data) as editor:
        experiments = editor.all()
    if as_json:
        print_json([experiment.as_fields() for experiment in experiments])
        return
    if not experiments:
        click.echo(
            f"No tests yet: productrecs tests add {domain} a-name --placement cart "
            "--variant similar=50 --set similar.strategy=similar"
        )
    for experiment in experiments:
        click.echo(_experiment_line(experiment))


@tests.command()
@click.argument("domain")
@click.argument("name")
@click.option("--placement", help="The placement to test; without it, search is tested.")
@click.option(
    "--variant",
    "variants",
    multiple=True,
    required=True,
    help="A variant and its share in per cent, such as similar=50; may be repeated.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    help=(
        "What a variant changes, such as similar.strategy=similar or "
        "last.search_sold_out=last; may be repeated."
    ),
)
@click.option(
    "--goal",
    type=click.Choice([one.value for one in Goal]),
    default=Goal.REVENUE.value,
    help="The metric that decides (default: revenue).",
)
@json_option
@data_option
def add(
    domain: str, name: str, *, as_json: bool, data: Path | None, **options: Any
) -> None:
    """Add a test as a draft; `tests start` starts it.

    Shoppers outside the variants get what the store has now: they are the control.

    Example: productrecs tests add shop.example.com cart-size --placement cart
    --variant four=50 --set four.num=4
    """
    subject = f"{PLACEMENT}{options['placement']}" if options["placement"] else SEARCH
    variants = _parse_variants(options["variants"], options["changes"])
    content = ExperimentContent(subject, variants, Goal(options["goal"]))
    with _open_editor(domain, data) as editor:
        experiment = editor.add(name, content)
    _print_experiment("Added", experiment, as_json=as_json)


def _add_action_command(action: str, done_verb: str, help_text: str) -> click.Command:
    @click.argument("domain")
    @click.argument("name")
    @json_option
    @data_option
    def command(domain: str, name: str, *, as_json: bool, data: Path | None) -> None:
        with _open_editor(domain, data) as editor:
            experiment = editor.act(name, action)
        _print_experiment(done_verb, experiment, as_json=as_json)

    command.__doc__ = help_text
    return tests.command(action)(command)


_add_action_command("start", "Started", "Start a test, or go on with a paused one.")
_add_action_command("pause", "Paused", "Pause a test: every shopper gets the control.")
_add_action_command(
    "stop", "Stopped", "End a test: every shopper gets the control, and counting ends."
)
_add_action_command(
    "remove", "Removed", "Remove a draft, or an ended test with its result."
)


@tests.command()
@click.argument("domain")
@click.argument("name")
@click.argument("variant")
@json_option
@data_option
def choose(
    domain: str, name: str, variant: str, *, as_json: bool, data: Path | None
) -> None:
    """End a test and give every shopper VARIANT, or `control` for what there was.

    The placement, or the settings of search, get the changes of the variant.
    """
    with _open_editor(domain, data) as editor:
        experiment = editor.act(name, "choose", variant)
    _print_experiment(f"Chose {variant} of", experiment, as_json=as_json)


@contextlib.contextmanager
def _open_editor(domain: str, data: Path | None) -> Iterator[ExperimentEditor]:
    with open_store(data, domain) as (services, store):
        yield ExperimentEditor(services.database, store, services.clock, "command line")


def _parse_variants(shares: Sequence[str], changes: Sequence[str]) -> tuple[Treatment, ...]:
    by_name: dict[str, dict[str, Any]] = {}
    variants = []
    for text in shares:
        name, _, share = text.partition("=")
        try:
            variant = Treatment(name, float(share), by_name.setdefault(name, {}))
        except ValueError as error:
            message = f"{text!r}: write a variant as NAME=SHARE, such as similar=50"
            raise click.UsageError(message) from error
        variants.append(variant)
    for text in changes:
        path, has_value, value = text.partition("=")
        name, _, field = path.partition(".")
        if name not in by_name or not has_value or not field:
            message = (
                f"{text!r}: write a change as VARIANT.FIELD=VALUE, such as similar.num=4, "
                "and name the variant with --variant"
            )
            raise click.UsageError(message)
        if field in _LISTS:
            by_name[name].setdefault(field, [])
            by_name[name][field] += [value] if value else []
        else:
            by_name[name][field] = None if value in _NONE else value
    return tuple(variants)


def _print_experiment(done_verb: str, experiment: Experiment, *, as_json: bool) -> None:
    if as_json:
        print_json(experiment.as_fields())
    else:
        click.echo(f"{done_verb} {_experiment_line(experiment)}")


def _experiment_line(experiment: Experiment) -> str:
    content = experiment.content
    shares = ", ".join(f"{name} {share:g} %" for name, share in content.shares.items())
    subject = f"placement {content.placement}" if content.placement else SEARCH
    winner = f", {experiment.winner} was chosen" if experiment.winner else ""
    return f"{experiment.name}: {subject}, {shares}, {experiment.state}{winner}"
