"""`productrecs models compare`: two picture encoders on a store's own products."""

import time
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click
import msgspec

from productrecs.cli.open_services import open_services_as_owner
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.pictures.fetch_picture import (
    PictureUnavailableError,
    absolute_url,
    fetch_picture,
)
from productrecs.services import INSTALLED_MODELS_FOLDER, Services
from productrecs.serving.cached_store import load_store
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.training.installed_models import InstalledModels
from productrecs.training.visual.encoder_comparison import (
    EncoderMeasurement,
    choose_sample_rows,
    measure_encoder,
)

_PAUSE_SECONDS: Final = 0.5  # between two requests to a shop's host


class _ProductPictureUrl(msgspec.Struct):
    image_url: str | None = None


_read_product: Final = msgspec.json.Decoder(_ProductPictureUrl).decode


@click.command("compare")
@click.argument("name")
@click.option("--store", "domain", required=True, help="The store's domain.")
@click.option(
    "--products",
    default=200,
    show_default=True,
    type=click.IntRange(10, 2_000),
    help="How many products to compare with.",
)
@json_option
@data_option
def compare_models(
    name: str, *, domain: str, products: int, as_json: bool, data: Path | None
) -> None:
    """Compare an installed picture model with the current one, on a store's products.

    Fetches pictures of the largest categories, two a second, and says how many of the five
    most similar products are of the same category, and the time and memory of each model.
    Changes nothing.

    Example: productrecs models compare fashion --store shop.example.com
    """
    with open_services_as_owner(data) as services:
        installed = InstalledModels(services.settings.data / INSTALLED_MODELS_FOLDER)
        candidate = installed.read_picture_model(name)
        store = find_store(services.database, domain)
        pictures, kinds = _fetch_pictures_and_categories(services, store, products)
        if not pictures:
            message = "no category has six products whose pictures can be fetched"
            raise click.ClickException(message)
        current = measure_encoder(services.find_or_convert_picture_model(), pictures, kinds)
        other = measure_encoder(candidate, pictures, kinds)
    if as_json:
        print_json({"current": asdict(current), name: asdict(other)})
        return
    for model_name, figures in (("current", current), (name, other)):
        click.echo(f"{model_name}: {_describe_measurement(figures)}")


def _describe_measurement(measurement: EncoderMeasurement) -> str:
    memory = (
        ""
        if measurement.memory_mb is None
        else f", {measurement.memory_mb:.0f} MB of memory"
    )
    return (
        f"{measurement.precision:.1%} of the five most similar are of the same category "
        f"({measurement.pictures} pictures), {measurement.milliseconds:.0f} ms a picture"
        f"{memory}"
    )


def _fetch_pictures_and_categories(
    services: Services, store: Store, sample_size: int
) -> tuple[list[bytes], list[str]]:
    """Return pictures of products, and their narrowest categories."""
    catalog = load_store(services, store).state.catalog
    urls = [_picture_url(catalog, number) for number in range(len(catalog))]
    named = [catalog.narrowest[number] if url else "" for number, url in enumerate(urls)]
    pictures, kinds = [], []
    for number in choose_sample_rows(named, sample_size):
        url = absolute_url(urls[number], store.domain)
        content = _fetch_picture_slowly(url, services.settings.image_hosts)
        if content is not None:
            pictures.append(content)
            kinds.append(named[number])
    return pictures, kinds


def _picture_url(catalog: CatalogView, item: int) -> str:
    card = catalog.cards[item]
    return "" if card is None else _read_product(card + b"}").image_url or ""


def _fetch_picture_slowly(url: str, trusted: Collection[str]) -> bytes | None:
    if urlsplit(url).netloc not in trusted:
        time.sleep(_PAUSE_SECONDS)
    try:
        return fetch_picture(url, trusted_hosts=trusted).content
    except PictureUnavailableError:
        return None
