"""`productrecs looks propose`: proposes hotspots for a look; the merchant accepts them."""

from dataclasses import asdict
from pathlib import Path

import click

from productrecs.entrypoints.cli.command_context import (
    data_option,
    json_option,
    open_services,
    print_json,
)
from productrecs.entrypoints.http.caches.store_cache import load_store
from productrecs.entrypoints.services import Services
from productrecs.features.looks.hotspot_proposals import (
    HotspotProposal,
    look_picture,
    propose_hotspots,
)
from productrecs.features.looks.look import Hotspot, Look, LookError
from productrecs.features.looks.look_editor import LookEditor
from productrecs.features.looks.spot_detection import spots_in_picture
from productrecs.records.merchandising.rule import ListKind
from productrecs.records.pictures.sandboxed_decoder import (
    BATCH_CPU_SECONDS,
    SandboxedDecoder,
)
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.training.visual.photo_matcher import PhotoMatcher
from productrecs.training.visual.picture_embedding import choose_embedding


@click.command()
@click.argument("domain")
@click.argument("look_id", type=int)
@click.option(
    "--accept",
    "accepted",
    multiple=True,
    help="The number of a proposal to accept, as N or N=ITEM for another product; or all.",
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
    """Propose hotspots for a look: products of the catalog that its picture may show.

    Nothing changes without --accept. Areas with a hotspot are left out.

    Example: productrecs looks propose shop.example.com 3 --accept 1 --accept 2=tent
    """
    with open_services(data) as services:
        store = find_store(services.database, domain)
        looks_of = LookEditor(services.database, store, services.clock)
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
        click.echo("No product of the catalog was found in the picture.")
    if chosen:
        click.echo(f"Look {look_id} has {len(chosen)} more hotspots.")


def _proposals(
    services: Services, store: Store, looks_of: LookEditor, look: Look
) -> list[HotspotProposal]:
    settings = services.settings
    model = services.picture_model()
    embedding = choose_embedding(model)
    opened_shop = load_store(services, store)
    shop = opened_shop.shop
    visible = shop.eligible(services.clock(), ListKind.PRODUCT).visible
    data = look_picture(looks_of, look, store.domain, settings.image_hosts)
    path = None if model is None else model.path
    with SandboxedDecoder(BATCH_CPU_SECONDS, settings.image_detector, path) as viewer:
        eye = PhotoMatcher(viewer, opened_shop.pictures, embedding)
        spots = spots_in_picture(data, eye, shop.catalog, visible)
    return propose_hotspots(spots, shop.catalog, look.content.hotspots)


def _chosen(found: list[HotspotProposal], accepted: tuple[str, ...]) -> list[Hotspot]:
    """Return the accepted hotspots.

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
