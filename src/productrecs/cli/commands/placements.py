"""`productrecs placements`: a store's named places for lists."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, joined_options, json_option
from productrecs.cli.output import print_json
from productrecs.core.timestamps import iso
from productrecs.records.placements.placement import (
    MAX_NUM,
    Placement,
    PlacementContent,
    RelativeFilter,
    Strategy,
)
from productrecs.records.placements.placement_editor import PlacementEditor

_STRATEGIES: Final = click.Choice([one.value for one in Strategy])
_NO_FALLBACK: Final = "none"
_content_options = joined_options(
    click.option(
        "--strategy", type=_STRATEGIES, help="How the products are chosen (default: mix)."
    ),
    click.option(
        "--title",
        help="The list's title; {product} becomes the product that the list is about.",
    ),
    click.option(
        "--filter",
        "filters",
        multiple=True,
        help="A filter that every product passes, such as price:10..50; may be repeated.",
    ),
    click.option(
        "--relative",
        multiple=True,
        type=click.Choice([one.value for one in RelativeFilter]),
        help="A filter relative to the page's product; may be repeated.",
    ),
    click.option(
        "--num",
        type=click.IntRange(1, MAX_NUM),
        help="The number of products (default: the store's setting).",
    ),
    click.option(
        "--minimum",
        type=click.IntRange(0, MAX_NUM),
        help="The number of products below which the list is hidden (default: 1).",
    ),
    click.option(
        "--most-per-category",
        type=click.IntRange(1, MAX_NUM),
        help="The most products of one category.",
    ),
    click.option(
        "--most-per-brand",
        type=click.IntRange(1, MAX_NUM),
        help="The most products of one brand.",
    ),
    click.option(
        "--fallback",
        type=click.Choice([*_STRATEGIES.choices, _NO_FALLBACK]),
        help="The strategy that fills up a short list (default: none).",
    ),
)


@click.group()
def placements() -> None:
    """Name places on your pages, and say which products each one shows."""


@placements.command("list")
@click.argument("domain")
@json_option
@data_option
def list_(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List a store's placements."""
    with _open_editor(domain, data) as editor:
        stored_placements = editor.all()
    if as_json:
        print_json([_placement_fields(placement) for placement in stored_placements])
        return
    if not stored_placements:
        click.echo(
            "No placements yet: productrecs placements add "
            f"{domain} product-page-1 --strategy complementary"
        )
    for placement in stored_placements:
        click.echo(_placement_line(placement))


@placements.command()
@click.argument("domain")
@click.argument("name")
@_content_options
@json_option
@data_option
def add(
    domain: str, name: str, *, as_json: bool, data: Path | None, **options: Any
) -> None:
    """Add a placement; a running server answers for it within a second.

    NAME is what pages ask for: <product-recs placement="NAME">.

    Example: productrecs placements add shop.example.com cart --strategy complementary
    --fallback trending --num 4 --minimum 2
    """
    with _open_editor(domain, data) as editor:
        placement = editor.add(name, PlacementContent(**_given_content_fields(options)))
    _print_placement("Added", placement, as_json=as_json)


@placements.command()
@click.argument("domain")
@click.argument("name")
@_content_options
@json_option
@data_option
def change(
    domain: str, name: str, *, as_json: bool, data: Path | None, **options: Any
) -> None:
    """Change a placement; what no option names stays as it is.

    An empty --filter "" removes all filters.
    """
    with _open_editor(domain, data) as editor:
        placement = editor.change(name, **_given_content_fields(options))
    _print_placement("Changed", placement, as_json=as_json)


@placements.command()
@click.argument("domain")
@click.argument("name")
@json_option
@data_option
def remove(domain: str, name: str, *, as_json: bool, data: Path | None) -> None:
    """Remove a placement; pages that still ask for it get an error and show nothing."""
    with _open_editor(domain, data) as editor:
        placement = editor.remove(name)
    _print_placement("Removed", placement, as_json=as_json)


@contextlib.contextmanager
def _open_editor(domain: str, data: Path | None) -> Iterator[PlacementEditor]:
    with open_store(data, domain) as (services, store):
        yield PlacementEditor(services.database, store, services.clock)


def _given_content_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `PlacementContent` that the options name."""
    found = {name: value for name, value in options.items() if value not in {None, ()}}
    if "strategy" in found:
        found["strategy"] = Strategy(found["strategy"])
    if "relative" in found:
        found["relative"] = tuple(map(RelativeFilter, found["relative"]))
    if "fallback" in found:
        is_none = found["fallback"] == _NO_FALLBACK
        found["fallback"] = None if is_none else Strategy(found["fallback"])
    return found


def _print_placement(done_verb: str, placement: Placement, *, as_json: bool) -> None:
    if as_json:
        print_json(_placement_fields(placement))
    else:
        click.echo(f"{done_verb} {_placement_line(placement)}")


def _placement_line(placement: Placement) -> str:
    content = placement.content
    parts = [f"{placement.name}: {content.strategy}"]
    if content.num is not None:
        parts.append(f"{content.num} products")
    if content.minimum > 1:
        parts.append(f"hidden below {content.minimum}")
    parts += [*content.filters, *content.relative]
    if content.most_per_category is not None:
        parts.append(f"at most {content.most_per_category} of a category")
    if content.most_per_brand is not None:
        parts.append(f"at most {content.most_per_brand} of a brand")
    if content.fallback is not None:
        parts.append(f"then {content.fallback}")
    return ", ".join(parts)


def _placement_fields(placement: Placement) -> dict[str, object]:
    content = placement.content
    return {
        "name": placement.name,
        "strategy": content.strategy,
        "title": content.title,
        "filters": content.filters,
        "relative": content.relative,
        "num": content.num,
        "minimum": content.minimum,
        "most_per_category": content.most_per_category,
        "most_per_brand": content.most_per_brand,
        "fallback": content.fallback,
        "created_at": iso(placement.created_at),
        "updated_at": iso(placement.updated_at),
    }
