"""Which hotspots might a look have? Proposed by the service, accepted by the merchant."""

from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

import click

from productrecs.entrypoints.cli.session import (
    data_option,
    json_option,
    opened,
    print_json,
)
from productrecs.entrypoints.demo.store import DOMAIN
from productrecs.entrypoints.demo.storefront.pictures import (
    PICTURES,
    Pictures,
    pictures_folder,
)
from productrecs.entrypoints.http.shops import read_shop
from productrecs.entrypoints.services import Services
from productrecs.features.looks.change import Looks
from productrecs.features.looks.look import Hotspot, Look, LookError
from productrecs.features.looks.propose import Proposal, picture_of, proposals_of
from productrecs.features.looks.spots import spots_in
from productrecs.records.merchandising.rule import Place
from productrecs.records.pictures.viewer import PATIENT_SECONDS, Viewer
from productrecs.records.pictures.weights import EMBEDDER, read_model_file
from productrecs.tenancy.accounts.registration import find_store
from productrecs.tenancy.accounts.store import Store
from productrecs.training.visual.embedding import embedding_of
from productrecs.training.visual.eye import Eye


@click.command()
@click.argument("domain")
@click.argument("look_id", type=int)
@click.option(
    "--accept",
    "accepted",
    multiple=True,
    help="The number of a proposal to keep, as N or N=ITEM for another product; or all.",
)
@json_option
@data_option
def propose(
    domain: str,
    look_id: int,
    *,
    accepted: tuple[str, ...],
    as_json: bool,
    data: Path | None,
) -> None:
    """Propose hotspots for a look: what of the catalog may be in its picture, and where.

    Nothing changes before you say --accept. Places that the look has already are left out.

    Example: productrecs looks propose shop.example.com 3 --accept 1 --accept 2=tent
    """
    with opened(data) as services:
        store = find_store(services.database, domain)
        looks_of = Looks(services.database, store, services.clock)
        look = looks_of.one(look_id)
        found = _proposals(services, store, looks_of, look)
        chosen = _chosen(found, accepted)
        if chosen:
            looks_of.add_hotspots(look_id, chosen)
    if as_json:
        print_json([{"number": n, **asdict(one)} for n, one in enumerate(found, 1)])
        return
    for number, one in enumerate(found, 1):
        box = ",".join(f"{side:g}" for side in one.box)
        products = "  ".join(f"{item} {score:.2f}" for item, score in one.products[:3])
        click.echo(f"{number}  {one.confidence:.2f}  {one.label}  at {box}  {products}")
    if not found:
        click.echo("Nothing in the picture looks like the catalog.")
    if chosen:
        click.echo(f"Look {look_id} has {len(chosen)} more hotspots.")


def _proposals(
    services: Services, store: Store, looks_of: Looks, look: Look
) -> list[Proposal]:
    settings = services.settings
    path = settings.image_model
    embedding = embedding_of(None if path is None else read_model_file(path, EMBEDDER))
    opened_shop = read_shop(services, store)
    shop = opened_shop.shop
    visible = shop.shelf(services.clock(), Place.PRODUCT).visible
    data = _demo_picture(services, store, look)
    if data is None:
        data = picture_of(looks_of, look, store.domain, settings.image_hosts)
    with Viewer(PATIENT_SECONDS, settings.image_detector, path) as viewer:
        eye = Eye(viewer, opened_shop.pictures, embedding)
        spots = spots_in(data, eye, shop.catalog, visible)
    return proposals_of(spots, shop.catalog, look.content.hotspots)


def _demo_picture(services: Services, store: Store, look: Look) -> bytes | None:
    """Return the picture of a look of the demo, whose host is no machine; else None."""
    path = urlsplit(look.content.image_url).path
    if store.domain != DOMAIN or not path.startswith(f"{PICTURES}/"):
        return None
    pictures = Pictures(pictures_folder(services.settings.data))
    return pictures.get(tuple(path.removeprefix(f"{PICTURES}/").split("/")))


def _chosen(found: list[Proposal], accepted: tuple[str, ...]) -> list[Hotspot]:
    """Return the hotspots that were accepted.

    Raises:
        LookError: when there is no such proposal.
    """
    if "all" in accepted:
        return [one.hotspot() for one in found]
    chosen = []
    for text in accepted:
        number, _, item_id = text.partition("=")
        if not number.isdecimal() or not 1 <= int(number) <= len(found):
            message = f"there is no proposal {number!r}; there are {len(found)}"
            raise LookError(message)
        chosen.append(found[int(number) - 1].hotspot(item_id or None))
    return chosen
