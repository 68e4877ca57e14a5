"""Which looks does a store have? Made from files, published and taken back."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import msgspec

from productrecs.core.clock import iso
from productrecs.entrypoints.cli.session import (
    data_option,
    json_option,
    opened,
    print_json,
)
from productrecs.features.looks.change import Looks
from productrecs.features.looks.look import (
    Hotspot,
    Look,
    LookContent,
    LookError,
    checked_box,
)
from productrecs.tenancy.accounts.registration import find_store


class _Spot(msgspec.Struct):
    item_id: str
    bbox: list[float]
    label: str = ""


class _Written(msgspec.Struct):
    item_id: str
    image_url: str
    title: str = ""
    hotspots: list[_Spot] = []


@click.group()
def looks() -> None:
    """Make looks: pictures of several products, each with its place in it."""


@looks.command("list")
@click.argument("domain")
@json_option
@data_option
def list_looks(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List all looks with their state, the oldest first."""
    with opened(data) as services:
        store = find_store(services.database, domain)
        found = Looks(services.database, store, services.clock).all()
    if as_json:
        print_json([_told(one) for one in found])
        return
    for one in found:
        spots = len(one.content.hotspots)
        when = iso(one.published_at) if one.published_at else "never published"
        click.echo(
            f"{one.look_id}  {one.state}  on {one.content.item_id}  {spots} hotspots  "
            f"{when}  {one.content.title}"
        )


@looks.command("import")
@click.argument("domain")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--publish", is_flag=True, help="Show them at once.")
@data_option
def import_looks(domain: str, file: Path, *, publish: bool, data: Path | None) -> None:
    """Make looks from a file: JSON, one look or a list of them; all or none.

    A look has item_id (the product whose page it stands on), image_url, title and
    hotspots: label, bbox ([x, y, width, height], fractions of the picture) and item_id.
    """
    contents = _read(file)
    with opened(data) as services:
        store = find_store(services.database, domain)
        made = Looks(services.database, store, services.clock).add(
            contents, publish=publish
        )
    for one in made:
        click.echo(f"Made look {one.look_id} on {one.content.item_id} ({one.state}).")


@looks.command()
@click.argument("domain")
@click.option("--item", required=True, help="The product whose page it stands on.")
@click.option("--image-url", required=True, help="Where the picture is.")
@click.option("--title", default="", help="Its title.")
@click.option(
    "--hotspot",
    "hotspots",
    multiple=True,
    help="X,Y,WIDTH,HEIGHT=ITEM or X,Y,WIDTH,HEIGHT=ITEM:LABEL; may be repeated.",
)
@click.option("--publish", is_flag=True, help="Show it at once.")
@data_option
def add(  # noqa: PLR0913 - one an option
    domain: str,
    *,
    item: str,
    image_url: str,
    title: str,
    hotspots: tuple[str, ...],
    publish: bool,
    data: Path | None,
) -> None:
    """Make one look.

    Example: productrecs looks add shop.example.com --item tent
    --image-url https://shop.example.com/camp.jpg --hotspot 0.1,0.2,0.3,0.5=tent:Tent
    """
    content = LookContent(item, image_url, title, tuple(map(_spot, hotspots)))
    with opened(data) as services:
        store = find_store(services.database, domain)
        looks_of = Looks(services.database, store, services.clock)
        made = looks_of.add([content], publish=publish)[0]
    click.echo(f"Made look {made.look_id} on {item} ({made.state}).")


@looks.command()
@click.argument("domain")
@click.argument("look_id", type=int)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@data_option
def edit(domain: str, look_id: int, file: Path, *, data: Path | None) -> None:
    """Let a look say what FILE says: JSON, as `import` reads it."""
    contents = _read(file)
    if len(contents) != 1:
        message = "the file must hold one look"
        raise LookError(message)
    with opened(data) as services:
        store = find_store(services.database, domain)
        Looks(services.database, store, services.clock).edit(look_id, contents[0])
    click.echo(f"Look {look_id} says what {file.name} says.")


@looks.command()
@click.argument("domain")
@click.argument("look_id", type=int)
@data_option
def publish(domain: str, look_id: int, *, data: Path | None) -> None:
    """Show a look from now on; of several of one product the last published is shown."""
    _change(data, domain, lambda looks_of: looks_of.publish(look_id))


@looks.command()
@click.argument("domain")
@click.argument("look_id", type=int)
@data_option
def unpublish(domain: str, look_id: int, *, data: Path | None) -> None:
    """Show a look no more; it is a draft again."""
    _change(data, domain, lambda looks_of: looks_of.unpublish(look_id))


@looks.command()
@click.argument("domain")
@click.argument("look_id", type=int)
@data_option
def archive(domain: str, look_id: int, *, data: Path | None) -> None:
    """Put a look away: it is shown no more and kept."""
    _change(data, domain, lambda looks_of: looks_of.archive(look_id))


@looks.command()
@click.argument("domain")
@click.argument("look_id", type=int)
@data_option
def remove(domain: str, look_id: int, *, data: Path | None) -> None:
    """Forget a look."""
    with opened(data) as services:
        store = find_store(services.database, domain)
        Looks(services.database, store, services.clock).remove(look_id)
    click.echo(f"Removed look {look_id}.")


def _change(data: Path | None, domain: str, change: Callable[[Looks], Look]) -> None:
    with opened(data) as services:
        store = find_store(services.database, domain)
        changed = change(Looks(services.database, store, services.clock))
    click.echo(f"Look {changed.look_id} is {changed.state}.")


def _read(file: Path) -> list[LookContent]:
    """Return the looks that a file tells.

    Raises:
        LookError: when it tells something else.
    """
    try:
        told = msgspec.json.decode(file.read_bytes(), type=_Written | list[_Written])
    except msgspec.DecodeError as error:
        message = f"{file.name} holds no looks: {error}"
        raise LookError(message) from error
    return [
        LookContent(
            one.item_id,
            one.image_url,
            one.title,
            tuple(
                Hotspot(spot.label, checked_box(spot.bbox), spot.item_id)
                for spot in one.hotspots
            ),
        )
        for one in (told if isinstance(told, list) else [told])
    ]


def _spot(text: str) -> Hotspot:
    numbers, _, named = text.partition("=")
    item_id, _, label = named.partition(":")
    try:
        box = checked_box([float(one) for one in numbers.split(",")])
    except ValueError as error:
        message = f"--hotspot {text!r} is not X,Y,WIDTH,HEIGHT=ITEM"
        raise LookError(message) from error
    return Hotspot(label, box, item_id)


def _told(look: Look) -> dict[str, Any]:
    published = None if look.published_at is None else iso(look.published_at)
    content = asdict(look.content)
    spots = [
        {"label": one["label"], "bbox": list(one["box"]), "item_id": one["item_id"]}
        for one in content["hotspots"]
    ]
    return {
        "id": look.look_id,
        "state": look.state.value,
        "published_at": published,
        **content,
        "hotspots": spots,
    }
