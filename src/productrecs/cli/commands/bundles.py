"""`productrecs bundles`: sets of products that a store offers together."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option, joined_options, json_option
from productrecs.cli.output import print_json
from productrecs.features.recommendations.bundles import BundleOverview, bundle_overviews
from productrecs.records.placements.bundle import BundleContent, BundleState
from productrecs.records.placements.bundle_editor import BundleEditor
from productrecs.serving.cached_store import load_store

_content_options = joined_options(
    click.option("--name", help="A name for you and for your shop."),
    click.option(
        "--percent", "discount_percent", type=float, help="The discount in percent."
    ),
    click.option(
        "--amount",
        "discount_amount",
        type=float,
        help="The discount as an amount in the store's currency.",
    ),
)


@click.group()
def bundles() -> None:
    """Offer sets of two to four products that sell together."""


@bundles.command("list")
@click.argument("domain")
@json_option
@data_option
def list_(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List a store's bundles, the sets that it rejected, and the proposals.

    Proposals are sets that orders of the last year contain together more often than by
    chance.
    """
    with open_store(data, domain) as (services, store):
        state = load_store(services, store).state
        rows = bundle_overviews(services.database, state, services.clock())
    if as_json:
        print_json([row.as_fields() for row in rows])
        return
    if not rows:
        click.echo(
            "No bundles and no proposals yet: too few orders contain the same products. "
            f"Make one by hand: productrecs bundles add {domain} ITEM ITEM"
        )
    for row in rows:
        click.echo(_bundle_line(row))


@bundles.command()
@click.argument("domain")
@click.argument("items", nargs=-1, required=True)
@_content_options
@json_option
@data_option
def add(
    domain: str, items: tuple[str, ...], *, as_json: bool, data: Path | None, **options: Any
) -> None:
    """Offer two to four products as a bundle: a proposal, or one made by hand.

    ITEMS are the ids of its products, in the order in which they are shown.

    Example: productrecs bundles add shop.example.com tent mat --name "Camping night"
    --percent 10
    """
    with _open_editor(domain, data) as editor:
        bundle = editor.add(BundleContent(items, **_given_options(options)))
    _print_bundle("Added", bundle.bundle_id, bundle.content, as_json=as_json)


@bundles.command()
@click.argument("domain")
@click.argument("items", nargs=-1, required=True)
@json_option
@data_option
def reject(
    domain: str, items: tuple[str, ...], *, as_json: bool, data: Path | None
) -> None:
    """Reject a proposal: it is not proposed again."""
    with _open_editor(domain, data) as editor:
        bundle = editor.add(BundleContent(items, state=BundleState.REJECTED))
    _print_bundle("Rejected", bundle.bundle_id, bundle.content, as_json=as_json)


@bundles.command()
@click.argument("domain")
@click.argument("number", type=int)
@click.option(
    "--item", "items", multiple=True, help="A product, in order; repeat it for each."
)
@click.option(
    "--state",
    type=click.Choice([one.value for one in BundleState]),
    help="Accept a rejected set, or stop offering a bundle.",
)
@_content_options
@click.option("--no-discount", is_flag=True, help="Remove the discount.")
@json_option
@data_option
def change(
    domain: str,
    number: int,
    *,
    items: tuple[str, ...],
    state: str | None,
    no_discount: bool,
    as_json: bool,
    data: Path | None,
    **options: Any,
) -> None:
    """Change a bundle; what no option names stays as it is."""
    changes: dict[str, Any] = _given_options(options)
    if no_discount:
        changes |= {"discount_percent": None, "discount_amount": None}
    if items:
        changes["items"] = items
    if state is not None:
        changes["state"] = BundleState(state)
    with _open_editor(domain, data) as editor:
        bundle = editor.change(number, **changes)
    _print_bundle("Changed", bundle.bundle_id, bundle.content, as_json=as_json)


@bundles.command()
@click.argument("domain")
@click.argument("number", type=int)
@json_option
@data_option
def remove(domain: str, number: int, *, as_json: bool, data: Path | None) -> None:
    """Remove a bundle, or forget a rejection; the set may be proposed again."""
    with _open_editor(domain, data) as editor:
        bundle = editor.remove(number)
    _print_bundle("Removed", bundle.bundle_id, bundle.content, as_json=as_json)


@contextlib.contextmanager
def _open_editor(domain: str, data: Path | None) -> Iterator[BundleEditor]:
    with open_store(data, domain) as (services, store):
        yield BundleEditor(services.database, store, services.clock)


def _given_options(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _print_bundle(
    done_verb: str, number: int, content: BundleContent, *, as_json: bool
) -> None:
    if as_json:
        print_json({"id": number, "item_ids": content.items, "state": content.state})
    else:
        named = f" ({content.name})" if content.name else ""
        click.echo(f"{done_verb} bundle {number}{named}: {' + '.join(content.items)}")


def _bundle_line(row: BundleOverview) -> str:
    content, price = row.content, row.price
    state_text = "proposed" if row.bundle is None else f"{row.bundle_id} {content.state}"
    parts = [f"{state_text}: {' + '.join(content.items)}"]
    if content.name:
        parts.append(content.name)
    if row.orders is not None and row.lift is not None:
        parts.append(f"in {row.orders} orders, at least {row.lift:.1f} x chance")
    if price.total is not None:
        parts.append(f"sum {price.total:.2f}")
    if price.price is not None and price.price != price.total:
        parts.append(f"price {price.price:.2f}")
    if row.margin is not None:
        parts.append(f"margin {row.margin:.2f}")
    if (
        row.bundle is not None
        and content.state is BundleState.ACCEPTED
        and not row.is_shown
    ):
        parts.append("not shown now: a part or the discount does not allow it")
    return ", ".join(parts)
