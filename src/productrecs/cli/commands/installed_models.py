"""`productrecs models`: fetch an operator's models, and choose which ones serve."""

from dataclasses import asdict
from pathlib import Path

import click

from productrecs.cli.commands.compare_models import compare_models
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.cli.settings_and_folder_owner import find_settings
from productrecs.services import INSTALLED_MODELS_FOLDER
from productrecs.training.installed_models import (
    InstalledModel,
    InstalledModels,
    ModelSourceError,
    is_sha256,
    open_model_source,
)

_RESTART = "Restart the service; it then indexes all pictures or texts again by itself."

_place_option = click.option(
    "--from",
    "place",
    help="A folder, an http or https address, or an archive of @mediapipe/pose.",
)


@click.group()
def models() -> None:
    """Fetch ONNX models, and choose which ones serve. Nothing else fetches a model."""


def _installed_models(data: Path | None) -> InstalledModels:
    return InstalledModels(find_settings(data).data / INSTALLED_MODELS_FOLDER)


def _megabytes(model: InstalledModel) -> str:
    return f"{model.size / 1e6:,.1f} MB"


@models.command("list")
@_place_option
@json_option
@data_option
def list_models(*, place: str | None, as_json: bool, data: Path | None) -> None:
    """List the installed models, or with --from what a place offers."""
    found = open_model_source(place).offers() if place else _installed_models(data).list()
    if as_json:
        print_json([asdict(one) for one in found])
        return
    for one in found:
        if isinstance(one, InstalledModel):
            used = ", used" if one.is_used else ""
            click.echo(f"{one.name}: {one.kind}, {_megabytes(one)}, {one.licence}{used}")
        else:
            click.echo(f"{one.name}: {one.about} ({one.licence})")
    if not found:
        click.echo("No models.")


@models.command()
@click.argument("name")
@click.option(
    "--from",
    "place",
    required=True,
    help="The folder, http or https address, or archive that offers the model.",
)
@click.option("--sha256", default="", help="The SHA-256 that the model must have.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@data_option
def install(name: str, *, place: str, sha256: str, yes: bool, data: Path | None) -> None:
    """Fetch a model, show its size, licence and SHA-256, and install it after a yes.

    Example: productrecs models install fashion --from /srv/models
    """
    expected = sha256.strip().lower()
    if expected and not is_sha256(expected):
        message = "--sha256 takes 64 hexadecimal digits"
        raise click.UsageError(message)
    installed, source = _installed_models(data), open_model_source(place)
    try:
        model = installed.stage(source, source.offer(name))
        click.echo(f"{model.name}: {model.kind}, {_megabytes(model)}, {model.licence}")
        click.echo(f"from {model.source}, SHA-256 {model.sha256}")
        if expected and model.sha256 != expected:
            message = f"{name} has another SHA-256 than --sha256 says; it was not installed"
            raise ModelSourceError(message)
        if not yes:
            click.confirm("Install it?", abort=True)
        installed.install(name)
    finally:
        installed.discard(name)
    click.echo(f"Installed. `productrecs models use {name}` lets it serve.")


@models.command()
@click.argument("name")
@data_option
def use(name: str, *, data: Path | None) -> None:
    """Let an installed model serve, in the place of the one of its kind."""
    model = _installed_models(data).use(name)
    click.echo(f"{name} serves as {model.kind} from the next start on. {_RESTART}")


@models.command()
@click.argument("name")
@data_option
def stop(name: str, *, data: Path | None) -> None:
    """Let a model no longer serve; the packaged one does, where it is installed."""
    _installed_models(data).stop_using(name)
    click.echo(f"{name} no longer serves from the next start on. {_RESTART}")


@models.command()
@click.argument("name")
@data_option
def remove(name: str, *, data: Path | None) -> None:
    """Delete a model that is not used."""
    _installed_models(data).remove(name)
    click.echo(f"Removed {name}.")


models.add_command(compare_models)
