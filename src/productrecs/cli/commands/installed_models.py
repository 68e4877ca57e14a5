"""`productrecs models`: fetch an operator's models, and choose which ones serve."""

import contextlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from productrecs.cli.commands.compare_picture_encoders import compare_models
from productrecs.cli.open_services import open_services_as_owner
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.cli.settings_and_folder_owner import (
    UnusableInstallationError,
    load_settings,
)
from productrecs.records.pictures.onnx_model_file import (
    BODY_DETECTOR,
    DETECTOR,
    EMBEDDER,
)
from productrecs.services import INSTALLED_MODELS_FOLDER, Services, search_index_folder
from productrecs.training.installed_models import (
    PACKAGED,
    InstalledModel,
    InstalledModels,
    ModelInUseError,
    ModelSourceError,
    OfferedModel,
    is_sha256,
    open_model_source,
)
from productrecs.training.search.semantic_space_files import (
    count_served_stores,
    delete_previous_vectors,
)
from productrecs.training.search.text_embedder import TEXT_EMBEDDER, text_vectors_name
from productrecs.training.visual.encoder_comparison import check_encoder_runs
from productrecs.training.visual.encoder_progress import (
    EncoderProgress,
    delete_encoder_descriptors,
    measure_encoder_progress,
)

_DETECTORS = (DETECTOR, BODY_DETECTOR)

_place_option = click.option(
    "--from",
    "place",
    help="A folder, an http or https address, or the archive of an npm package.",
)


@click.group()
def models() -> None:
    """Fetch ONNX models, and choose which ones serve. Nothing else fetches a model."""


def _installed_models(data: Path | None) -> InstalledModels:
    return InstalledModels(load_settings(data).data / INSTALLED_MODELS_FOLDER)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


@models.command("list")
@_place_option
@json_option
@data_option
def list_models(*, place: str | None, as_json: bool, data: Path | None) -> None:
    """List the installed models, or with --from what a place offers.

    For picture models it says how many pictures each has described; for these and text
    models, how many stores each serves.
    """
    if place is not None:
        _print_offers(open_model_source(place).offers(), as_json=as_json)
        return
    found = _installed_models(data).list()
    progress = _progress_by_encoder(data) if any(map(_is_encoder, found)) else {}
    if as_json:
        rows = [asdict(one) | _progress_fields(progress.get(one.name)) for one in found]
        if PACKAGED in progress:
            rows.append({"name": PACKAGED} | _progress_fields(progress[PACKAGED]))
        print_json(rows)
        return
    for one in found:
        used = ", used" if one.is_used else ""
        about = f"{one.name}: {one.kind}, {_megabytes(one.size)}, {one.licence}{used}"
        done = _describe_progress(progress.get(one.name)) or _describe_served_stores(
            one, data
        )
        click.echo(about + done)
    if PACKAGED in progress:
        click.echo(f"{PACKAGED}: {EMBEDDER}{_describe_progress(progress[PACKAGED])}")
    if not found:
        click.echo("No models.")


def _print_offers(offers: Sequence[OfferedModel], *, as_json: bool) -> None:
    if as_json:
        print_json([asdict(one) for one in offers])
        return
    for one in offers:
        click.echo(f"{one.name}: {one.about} ({one.licence})")
    if not offers:
        click.echo("No models.")


def _is_encoder(model: InstalledModel) -> bool:
    return model.kind == EMBEDDER


def _progress_by_encoder(data: Path | None) -> dict[str, EncoderProgress]:
    """Return what each picture model has done, by its name; nothing without a database."""
    try:
        with open_services_as_owner(data) as services:
            return {
                name: measure_encoder_progress(
                    services.database, services.visual_model_folder, encoder.embedding.name
                )
                for name, encoder in services.find_or_convert_picture_encoders()
                .by_name()
                .items()
            }
    except UnusableInstallationError:
        return {}


def _progress_fields(progress: EncoderProgress | None) -> dict[str, object]:
    return {} if progress is None else asdict(progress)


def _describe_progress(progress: EncoderProgress | None) -> str:
    if progress is None or not progress.pictures:
        return ""
    return (
        f"; described {progress.described:,} of {progress.pictures:,} pictures "
        f"({_megabytes(progress.descriptor_bytes)}), serves {progress.served_stores} of "
        f"{progress.stores} stores"
    )


def _describe_served_stores(model: InstalledModel, data: Path | None) -> str:
    """Return how many stores a text model serves, as text; "" for others."""
    if model.kind != TEXT_EMBEDDER:
        return ""
    vectors = text_vectors_name(model.sha256)
    served, stores = count_served_stores(search_index_folder(load_settings(data)), vectors)
    return f"; serves {served} of {stores} stores" if stores else ""


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
        click.echo(f"{model.name}: {model.kind}, {_megabytes(model.size)}, {model.licence}")
        click.echo(f"from {model.source}, SHA-256 {model.sha256}")
        if expected and model.sha256 != expected:
            message = f"{name} has another SHA-256 than --sha256 says; it was not installed"
            raise ModelSourceError(message)
        if not yes:
            click.confirm("Install it?", abort=True)
        installed.install_staged(name)
    finally:
        installed.discard_staged(name)
    click.echo(f"Installed. `productrecs models use {name}` lets it serve.")


@models.command()
@click.argument("name")
@data_option
def use(name: str, *, data: Path | None) -> None:
    """Let an installed model serve, in the place of the one of its kind.

    A picture or text model first works through the pictures or texts of all stores in the
    background; each store then switches to it, without a restart. The name `packaged` lets
    the packaged picture model serve again.

    Example: productrecs models use fashion
    """
    installed = _installed_models(data)
    if name == PACKAGED:
        installed.use_packaged(EMBEDDER)
        click.echo(_describe_switch(name, EMBEDDER, data))
        return
    if (kind := installed.kind_of(name)) == EMBEDDER:
        check_encoder_runs(installed.read_picture_model(name))
    before = installed.used_name(kind)
    installed.use(name)
    click.echo(_describe_switch(name, kind, data))
    if before not in {name, PACKAGED}:
        click.echo(f"`productrecs models use {before}` undoes it.")
    elif before == PACKAGED:
        click.echo(f"`productrecs models stop {name}` undoes it.")


def _describe_switch(name: str, kind: str, data: Path | None) -> str:
    """Return what happens after a model was chosen."""
    if kind in _DETECTORS:
        return (
            f"{name} finds the products in photos and looks after a restart of the "
            "service. No picture is indexed again."
        )
    settings = load_settings(data)
    if kind == EMBEDDER:
        done, setting = "describes the pictures", "PRODUCTRECS_IMAGE_MODEL"
        is_set = not settings.has_packaged_encoder
    else:
        done, setting = "embeds the texts of the products", "PRODUCTRECS_SEARCH_MODEL"
        is_set = not settings.has_packaged_search_model
    if is_set:
        return f"{setting} is set, and comes before {name}."
    return (
        f"{name} {done} that it does not know yet, in the background. A store switches "
        "when this is done; `productrecs models list` shows how far it is."
    )


@models.command()
@click.argument("name")
@data_option
def stop(name: str, *, data: Path | None) -> None:
    """Let a model no longer serve; the packaged one does, where it is installed."""
    model = _installed_models(data).stop_using(name)
    if model.kind in _DETECTORS:
        click.echo(f"{name} stops with a restart of the service.")
    else:
        click.echo(_describe_switch(PACKAGED, model.kind, data))


@models.command()
@click.argument("name")
@data_option
def remove(name: str, *, data: Path | None) -> None:
    """Delete a model that is not used, with what it has described.

    The name `packaged` deletes only what the packaged picture model has described.
    """
    installed = _installed_models(data)
    kind = EMBEDDER if name == PACKAGED else installed.require_unused(name).kind
    if kind == TEXT_EMBEDDER:
        _delete_text_vectors(installed.sha256_of(name), name, data)
    if kind == EMBEDDER:
        with (
            contextlib.suppress(UnusableInstallationError),
            open_services_as_owner(data) as services,
        ):
            _delete_descriptors(services, name)
    if name == PACKAGED:
        installed.forget_previous(name)
    else:
        installed.remove(name)
    click.echo(f"Removed {name}.")


def _delete_descriptors(services: Services, name: str) -> None:
    """Delete what a picture model has described.

    Raises:
        ModelInUseError: when it is the current one, or lists still come from it.
    """
    encoders = services.find_or_convert_picture_encoders()
    if (encoder := encoders.by_name().get(name)) is None:
        return  # its file is damaged: the next switch deletes them
    embedder = encoder.embedding.name
    progress = measure_encoder_progress(
        services.database, services.visual_model_folder, embedder
    )
    if progress.served_stores or encoders.current().embedding.name == embedder:
        message = f"{name} serves {progress.served_stores} stores; use another model first"
        raise ModelInUseError(message)
    delete_encoder_descriptors(services.database, services.visual_model_folder, embedder)


def _delete_text_vectors(sha256: str, name: str, data: Path | None) -> None:
    """Delete what a text model has embedded.

    Raises:
        ModelInUseError: when it serves stores.
    """
    root, vectors = search_index_folder(load_settings(data)), text_vectors_name(sha256)
    if served := count_served_stores(root, vectors)[0]:
        message = f"{name} serves {served} stores until another model is ready"
        raise ModelInUseError(message)
    delete_previous_vectors(root, vectors)


models.add_command(compare_models)
