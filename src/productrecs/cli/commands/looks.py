"""`productrecs looks`: creates, edits, publishes and archives looks."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import msgspec

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.core.timestamps import iso
from productrecs.features.looks.hotspot_proposals import (
    HotspotProposal,
    load_or_fetch_look_picture,
    propose_hotspots,
)
from productrecs.features.looks.look import (
    Hotspot,
    InvalidLookError,
    Look,
    LookContent,
    validate_box,
)
from productrecs.features.looks.look_editor import LookEditor
from productrecs.features.looks.photo_spots import find_spots_in_picture
from productrecs.records.merchandising.rule import ListKind
from productrecs.records.pictures.decode_picture import (
    PictureTooLargeError,
    UnreadablePictureError,
)
from productrecs.records.pictures.sandboxed_decoder import (
    BATCH_CPU_SECONDS,
    SandboxedDecoder,
)
from productrecs.services import Services
from productrecs.serving.cached_store import load_store
from productrecs.tenancy.accounts.store import Store
from productrecs.training.visual.photo_matcher import PhotoMatcher
from productrecs.training.visual.picture_encoders import OWN


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
    with open_store(data, domain) as (services, store):
        editor = LookEditor(services.database, store, services.clock)
        look = editor.get(look_id)
        proposals = _propose_hotspots(services, store, editor, look)
        accepted_hotspots = _accepted_hotspots(proposals, accepted)
        if accepted_hotspots:
            editor.add_hotspots(look_id, accepted_hotspots)
    if as_json:
        print_json(
            [{"number": n, **asdict(proposal)} for n, proposal in enumerate(proposals, 1)]
        )
        return
    for number, proposal in enumerate(proposals, 1):
        box = ",".join(f"{side:g}" for side in proposal.box)
        products = "  ".join(f"{item} {score:.2f}" for item, score in proposal.products[:3])
        click.echo(
            f"{number}  {proposal.confidence:.2f}  {proposal.label}  at {box}  {products}"
        )
    if not proposals:
        click.echo("No product of the catalog was found in the picture.")
    if accepted_hotspots:
        click.echo(f"Look {look_id} has {len(accepted_hotspots)} more hotspots.")


def _propose_hotspots(
    services: Services, store: Store, editor: LookEditor, look: Look
) -> list[HotspotProposal]:
    settings = services.settings
    cached_store = load_store(services, store)
    encoder = (
        services.find_or_convert_picture_encoders().named(cached_store.pictures.embedder)
        or OWN
    )
    state = cached_store.state
    visible = state.eligible_items(services.clock(), ListKind.PRODUCT).visible
    data = load_or_fetch_look_picture(editor, look, store.domain, settings.image_hosts)
    detectors = settings.image_detectors
    with SandboxedDecoder(BATCH_CPU_SECONDS, detectors, encoder.path) as viewer:
        photo_matcher = PhotoMatcher(viewer, cached_store.pictures, encoder.embedding)
        spots = find_spots_in_picture(data, photo_matcher, state.catalog, visible)
    return propose_hotspots(spots, state.catalog, look.content.hotspots)


def _accepted_hotspots(
    proposals: list[HotspotProposal], accepted: tuple[str, ...]
) -> list[Hotspot]:
    """Return the accepted hotspots.

    Raises:
        InvalidLookError: when there is no such proposal.
    """
    if "all" in accepted:
        return [proposal.hotspot() for proposal in proposals]
    chosen = []
    for text in accepted:
        number, _, item_id = text.partition("=")
        if not number.isdecimal() or not 1 <= int(number) <= len(proposals):
            message = f"there is no proposal {number!r}; there are {len(proposals)}"
            raise InvalidLookError(message)
        chosen.append(proposals[int(number) - 1].hotspot(item_id or None))
    return chosen


PICTURE = click.Path(exists=True, dir_okay=False, path_type=Path)


class _HotspotInput(msgspec.Struct):
    item_id: str
    bbox: list[float]
    label: str = ""


class _LookInput(msgspec.Struct):
    item_id: str
    image_url: str = ""
    image: str = ""  # a file for the service to store
    title: str = ""
    hotspots: list[_HotspotInput] = []

    def __post_init__(self) -> None:
        """Reject a look with two pictures."""
        if self.image_url and self.image:
            message = "a look has either image_url or image, not both"
            raise ValueError(message)


@click.group()
def looks() -> None:
    """Manage looks: pictures of several products, each product with a hotspot."""


@looks.command("list")
@click.argument("domain")
@json_option
@data_option
def list_looks(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List all looks with their state, oldest first."""
    with open_store(data, domain) as (services, store):
        listed_looks = LookEditor(services.database, store, services.clock).all()
    if as_json:
        print_json([_look_fields(look) for look in listed_looks])
        return
    for look in listed_looks:
        spots = len(look.content.hotspots)
        when = iso(look.published_at) if look.published_at else "never published"
        click.echo(
            f"{look.look_id}  {look.state}  on {look.content.item_id}  {spots} hotspots  "
            f"{when}  {look.content.title}"
        )


@looks.command("import")
@click.argument("domain")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--publish", is_flag=True, help="Publish them at once.")
@data_option
def import_looks(domain: str, file: Path, *, publish: bool, data: Path | None) -> None:
    """Create looks from a file: JSON, one look or a list of them; all or none.

    A look has item_id (the product whose page shows it), image_url or image (a picture
    beside FILE, which the service stores and serves), title and hotspots: label, bbox
    ([x, y, width, height], fractions of the picture) and item_id.
    """
    look_inputs = _read_look_file(file)
    with open_store(data, domain) as (services, store):
        editor = LookEditor(services.database, store, services.clock)
        contents = _look_contents_with_stored_pictures(editor, look_inputs, file.parent)
        added_looks = editor.add(contents, publish=publish)
    for look in added_looks:
        click.echo(f"Made look {look.look_id} on {look.content.item_id} ({look.state}).")


@looks.command()
@click.argument("domain")
@click.option("--item", required=True, help="The product whose page shows the look.")
@click.option("--image-url", default="", help="The URL of the picture.")
@click.option("--image", type=PICTURE, help="A picture for the service to store and serve.")
@click.option("--title", default="", help="Its title.")
@click.option(
    "--hotspot",
    "hotspots",
    multiple=True,
    help="X,Y,WIDTH,HEIGHT=ITEM or X,Y,WIDTH,HEIGHT=ITEM:LABEL; may be repeated.",
)
@click.option("--publish", is_flag=True, help="Publish it at once.")
@data_option
def add(
    domain: str,
    *,
    item: str,
    image_url: str,
    image: Path | None,
    title: str,
    hotspots: tuple[str, ...],
    publish: bool,
    data: Path | None,
) -> None:
    """Create one look.

    Example: productrecs looks add shop.example.com --item tent --image-url
    https://shop.example.com/camp.jpg --hotspot 0.1,0.2,0.3,0.5=tent:Tent
    """
    spots = tuple(map(_parse_hotspot, hotspots))
    with open_store(data, domain) as (services, store):
        editor = LookEditor(services.database, store, services.clock)
        picture_id = _store_pictures(editor, [image])[0] if image else ""
        content = LookContent(item, image_url, title, spots, picture_id)
        look = editor.add([content], publish=publish)[0]
    click.echo(f"Created look {look.look_id} on {item} ({look.state}).")


@looks.command()
@click.argument("domain")
@click.argument("look_id", type=int)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@data_option
def edit(domain: str, look_id: int, file: Path, *, data: Path | None) -> None:
    """Replace a look's contents from FILE: JSON, in the format of `import`.

    Without image_url and image it keeps its picture.
    """
    look_inputs = _read_look_file(file)
    if len(look_inputs) != 1:
        message = "the file must contain exactly one look"
        raise InvalidLookError(message)
    with open_store(data, domain) as (services, store):
        editor = LookEditor(services.database, store, services.clock)
        editor.edit(
            look_id,
            _look_contents_with_stored_pictures(editor, look_inputs, file.parent)[0],
        )
    click.echo(f"Look {look_id} was replaced from {file.name}.")


@looks.command()
@click.argument("domain")
@click.argument("look_id", type=int)
@click.argument("file", type=PICTURE)
@data_option
def picture(domain: str, look_id: int, file: Path, *, data: Path | None) -> None:
    """Set the picture of a look to FILE; the service stores and serves it.

    JPEG, PNG, WebP, AVIF or GIF, up to 10 MiB and 25 megapixels. It is stored as a JPEG
    of at most 1,600 pixels a side, upright, without metadata.
    """
    with open_store(data, domain) as (services, store):
        editor = LookEditor(services.database, store, services.clock)
        editor.get(look_id)
        with SandboxedDecoder(BATCH_CPU_SECONDS) as viewer:
            stored_picture = editor.store_picture_and_delete_unused(
                file.read_bytes(), viewer
            )
        editor.set_picture(look_id, stored_picture)
    pixels = f"{stored_picture.width} x {stored_picture.height} pixels"
    size = f"{pixels}, {len(stored_picture.content):,} bytes"
    click.echo(f"Look {look_id} has the picture {file.name} ({size}).")


@looks.command()
@click.argument("domain")
@click.argument("look_id", type=int)
@data_option
def publish(domain: str, look_id: int, *, data: Path | None) -> None:
    """Publish a look; if a product has several, the last published one is shown."""
    _change_look_and_print(data, domain, lambda editor: editor.publish(look_id))


@looks.command()
@click.argument("domain")
@click.argument("look_id", type=int)
@data_option
def unpublish(domain: str, look_id: int, *, data: Path | None) -> None:
    """Hide a look; it is a draft again."""
    _change_look_and_print(data, domain, lambda editor: editor.unpublish(look_id))


@looks.command()
@click.argument("domain")
@click.argument("look_id", type=int)
@data_option
def archive(domain: str, look_id: int, *, data: Path | None) -> None:
    """Archive a look: hidden, not deleted."""
    _change_look_and_print(data, domain, lambda editor: editor.archive(look_id))


@looks.command()
@click.argument("domain")
@click.argument("look_id", type=int)
@data_option
def remove(domain: str, look_id: int, *, data: Path | None) -> None:
    """Delete a look."""
    with open_store(data, domain) as (services, store):
        LookEditor(services.database, store, services.clock).remove(look_id)
    click.echo(f"Removed look {look_id}.")


def _change_look_and_print(
    data: Path | None, domain: str, change: Callable[[LookEditor], Look]
) -> None:
    with open_store(data, domain) as (services, store):
        changed = change(LookEditor(services.database, store, services.clock))
    click.echo(f"Look {changed.look_id} is {changed.state}.")


def _read_look_file(file: Path) -> list[_LookInput]:
    """Return the looks in a file.

    Raises:
        InvalidLookError: when the file holds something else.
    """
    try:
        content = msgspec.json.decode(file.read_bytes(), type=_LookInput | list[_LookInput])
    except msgspec.DecodeError as error:
        message = f"{file.name} is not a valid file of looks: {error}"
        raise InvalidLookError(message) from error
    return content if isinstance(content, list) else [content]


def _look_contents_with_stored_pictures(
    editor: LookEditor, look_inputs: Sequence[_LookInput], folder: Path
) -> list[LookContent]:
    """Return the contents of looks, after storing their pictures.

    Raises:
        InvalidLookError: when a picture's file cannot be read.
    """
    picture_ids = iter(
        _store_pictures(
            editor,
            [folder / look_input.image for look_input in look_inputs if look_input.image],
        )
    )
    return [
        LookContent(
            look_input.item_id,
            look_input.image_url,
            look_input.title,
            tuple(
                Hotspot(spot.label, validate_box(spot.bbox), spot.item_id)
                for spot in look_input.hotspots
            ),
            next(picture_ids) if look_input.image else "",
        )
        for look_input in look_inputs
    ]


def _store_pictures(editor: LookEditor, files: Sequence[Path]) -> list[str]:
    """Store pictures; return the id of each.

    Raises:
        InvalidLookError: when a file cannot be read, or holds no picture.
    """
    picture_ids = []
    with SandboxedDecoder(BATCH_CPU_SECONDS) as viewer:
        for file in files:
            try:
                picture_ids.append(
                    editor.store_picture_and_delete_unused(
                        file.read_bytes(), viewer
                    ).picture_id
                )
            except (OSError, UnreadablePictureError, PictureTooLargeError) as error:
                message = f"{file.name} cannot be used as the picture of a look: {error}"
                raise InvalidLookError(message) from error
    return picture_ids


def _parse_hotspot(text: str) -> Hotspot:
    numbers, _, named = text.partition("=")
    item_id, _, label = named.partition(":")
    try:
        box = validate_box([float(one) for one in numbers.split(",")])
    except ValueError as error:
        message = f"--hotspot {text!r} is not X,Y,WIDTH,HEIGHT=ITEM"
        raise InvalidLookError(message) from error
    return Hotspot(label, box, item_id)


def _look_fields(look: Look) -> dict[str, Any]:
    published = None if look.published_at is None else iso(look.published_at)
    content = asdict(look.content)
    spots = [
        {
            "label": hotspot["label"],
            "bbox": list(hotspot["box"]),
            "item_id": hotspot["item_id"],
        }
        for hotspot in content["hotspots"]
    ]
    return {
        "id": look.look_id,
        "state": look.state.value,
        "published_at": published,
        **content,
        "hotspots": spots,
    }


looks.add_command(propose)
