"""`productrecs rules`: a store's rules for its lists, and the history of their changes."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack

import click

from productrecs.cli.open_services import (
    COMMAND_LINE,
    database_with_audit_entry,
    open_services_as_owner,
    open_store,
)
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.core.plural import counted
from productrecs.core.timestamps import iso
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.merchandising.repository import RuleChange
from productrecs.records.merchandising.rule import (
    BOOST_STRENGTH,
    BURY_STRENGTH,
    ListKind,
    Rule,
    RuleAction,
    RuleContent,
    RuleListScope,
    RuleTarget,
    describe_rule,
    parse_attribute,
)
from productrecs.records.merchandising.rule_editor import RuleEditor
from productrecs.records.merchandising.rules_in_force import RulesView
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store

_PLACES = click.Choice([place.value for place in ListKind])
_NONE_SELECTED = (
    "It selects no product now: compare its ids, categories, attributes and words with the "
    "catalog. It applies to products that match later."
)


class _RuleOptions(TypedDict):
    """The options of `add`."""

    item: tuple[str, ...]
    category: tuple[str, ...]
    attribute: tuple[str, ...]
    title: tuple[str, ...]
    price_min: float | None
    price_max: float | None
    only_in: tuple[str, ...]
    not_in: tuple[str, ...]
    placement: tuple[str, ...]
    starts: str | None
    ends: str | None
    priority: int
    strength: float | None
    position: int | None
    name: str
    disabled: bool


@click.group()
def rules() -> None:
    """Exclude, boost, bury and pin products in lists."""


@rules.command("list")
@click.argument("domain")
@json_option
@data_option
def list_(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List a store's rules, and which are active now."""
    with _open_services_and_editor(domain, data) as (services, editor):
        now_ms, rules_of_store = services.clock(), editor.all()
    zone = editor.store.settings.zone
    states = [rule.content.state(now_ms, zone).value for rule in rules_of_store]
    if as_json:
        pairs = zip(rules_of_store, states, strict=True)
        print_json([{**_rule_fields(rule), "state": state} for rule, state in pairs])
        return
    if not rules_of_store:
        click.echo(f"No rules yet: productrecs rules add {domain} boost --category Sale")
    for rule, state in zip(rules_of_store, states, strict=True):
        click.echo(f"{rule.rule_id:>4}  {state:<7}  {_rule_line(rule)}")


@rules.command()
@click.argument("domain")
@click.argument("action", type=click.Choice([action.value for action in RuleAction]))
@click.option("--item", multiple=True, help="A product id; may be repeated.")
@click.option("--category", multiple=True, help="The products of a category, by its name.")
@click.option(
    "--attribute",
    multiple=True,
    help="Products with an attribute, as NAME:VALUE, such as brand:Acme.",
)
@click.option("--title", multiple=True, help="Products with these words in the title.")
@click.option("--price-min", type=float, help="The lowest price of the products.")
@click.option("--price-max", type=float, help="The highest price of the products.")
@click.option(
    "--in",
    "only_in",
    multiple=True,
    type=_PLACES,
    help="Only in these lists: a page type or a source (default: all lists).",
)
@click.option("--not-in", multiple=True, type=_PLACES, help="In all lists except these.")
@click.option(
    "--placement", multiple=True, help="Only in lists of this placement; may be repeated."
)
@click.option("--from", "starts", help="The first date or time, in the store's time zone.")
@click.option("--until", "ends", help="The last date or time, in the store's time zone.")
@click.option(
    "--priority",
    default=0,
    help=("If rules contradict each other, the one with the higher priority applies."),
)
@click.option(
    "--strength",
    type=float,
    help=(
        "The factor by which a score is multiplied (boost) or divided (bury).  "
        f"[default: {BOOST_STRENGTH:g} and {BURY_STRENGTH:g}]"
    ),
)
@click.option(
    "--position", type=int, help=("The position of the first pinned product, from 1.")
)
@click.option("--name", default="", help="The name of the rule.")
@click.option("--disabled", is_flag=True, help="Add the rule disabled.")
@json_option
@data_option
def add(
    domain: str,
    action: str,
    *,
    as_json: bool,
    data: Path | None,
    **options: Unpack[_RuleOptions],
) -> None:
    """Add a rule; a running server applies it within a second.

    ACTION is exclude, boost, bury or pin. Options of different kinds are combined: a
    category and a price select the products of the category at that price.

    Example: productrecs rules add shop.example.com pin --item gift-card --position 3
    """
    content = _rule_content(RuleAction(action), options)
    with open_services_as_owner(data) as services:
        detail = describe_rule(content)
        editor = _audited_editor(services, domain, "Saved a rule", detail)
        rule = editor.add(content)
        count = _count_selected_products(services, editor.store, rule.content)
    _print_rule("Added", rule, as_json=as_json)
    text = f"It selects {counted(count, 'product')} now." if count else _NONE_SELECTED
    click.echo(text, err=True)


def _count_selected_products(services: Services, store: Store, content: RuleContent) -> int:
    """Return how many products a rule selects, whether or not it is in force."""
    zone, now_ms = store.settings.zone, services.clock()
    catalog = CatalogView(store.store_id, zone, lambda _fields: b"")
    rule = Rule(0, replace(content, starts=None, ends=None, enabled=True), now_ms, now_ms)
    with contextlib.closing(services.database.raw_reader()) as reader:
        catalog.refresh(reader, 0)
        view = RulesView(store.store_id, zone, catalog)
        in_force = view.fixed_view_of_rules_alone(reader, [rule], now_ms).in_force
    return 0 if in_force is None else len(in_force.selected[rule.rule_id])


@rules.command()
@click.argument("domain")
@click.argument("rule_id", metavar="ID", type=int)
@json_option
@data_option
def remove(domain: str, rule_id: int, *, as_json: bool, data: Path | None) -> None:
    """Remove a rule; `rules history` still shows it."""
    with open_services_as_owner(data) as services:
        detail = f"Rule {rule_id}"
        rule = _audited_editor(services, domain, "Removed a rule", detail).remove(rule_id)
    _print_rule("Removed", rule, as_json=as_json)


@rules.command()
@click.argument("domain")
@click.argument("rule_id", metavar="ID", type=int)
@json_option
@data_option
def enable(domain: str, rule_id: int, *, as_json: bool, data: Path | None) -> None:
    """Enable a rule (again), within its schedule."""
    rule = _switch_rule(domain, rule_id, data, enabled=True)
    _print_rule("Enabled", rule, as_json=as_json)


@rules.command()
@click.argument("domain")
@click.argument("rule_id", metavar="ID", type=int)
@json_option
@data_option
def disable(domain: str, rule_id: int, *, as_json: bool, data: Path | None) -> None:
    """Disable a rule without removing it."""
    rule = _switch_rule(domain, rule_id, data, enabled=False)
    _print_rule("Disabled", rule, as_json=as_json)


@rules.command()
@click.argument("domain")
@json_option
@data_option
def history(domain: str, *, as_json: bool, data: Path | None) -> None:
    """Show who changed which rule and when, newest first."""
    with _open_services_and_editor(domain, data) as (_, editor):
        changes = editor.history()
    if as_json:
        print_json([_change_fields(change) for change in changes])
        return
    if not changes:
        click.echo("No rule has been changed yet.")
    for change in changes:
        click.echo(
            f"{iso(change.changed_at)}  {change.actor}: {change.what} "
            f"{change.rule.rule_id}  {_rule_line(change.rule)}"
        )


def _switch_rule(domain: str, rule_id: int, data: Path | None, *, enabled: bool) -> Rule:
    detail = f"Rule {rule_id}: {'on' if enabled else 'off'}"
    with open_services_as_owner(data) as services:
        editor = _audited_editor(services, domain, "Switched a rule on or off", detail)
        return editor.change(rule_id, enabled=enabled)


def _audited_editor(
    services: Services, domain: str, action: str, detail: str
) -> RuleEditor:
    """Return the editor of one change, which the audit log names."""
    store = find_store(services.database, domain)
    database = database_with_audit_entry(services, store, action, detail)
    return RuleEditor(database, store, services.clock, COMMAND_LINE)


@contextlib.contextmanager
def _open_services_and_editor(
    domain: str, data: Path | None
) -> Iterator[tuple[Services, RuleEditor]]:
    with open_store(data, domain) as (services, store):
        yield services, RuleEditor(services.database, store, services.clock, COMMAND_LINE)


def _rule_content(action: RuleAction, options: _RuleOptions) -> RuleContent:
    return RuleContent(
        action=action,
        target=RuleTarget(
            items=options["item"],
            categories=options["category"],
            title_words=options["title"],
            price_min=options["price_min"],
            price_max=options["price_max"],
            attributes=tuple(map(parse_attribute, options["attribute"])),
        ),
        places=RuleListScope(
            only_in=tuple(map(ListKind, options["only_in"])),
            not_in=tuple(map(ListKind, options["not_in"])),
            placements=options["placement"],
        ),
        name=options["name"],
        starts=options["starts"],
        ends=options["ends"],
        priority=options["priority"],
        enabled=not options["disabled"],
        strength=options["strength"],
        position=options["position"],
    )


def _print_rule(message: str, rule: Rule, *, as_json: bool) -> None:
    if as_json:
        print_json(_rule_fields(rule))
    else:
        click.echo(f"{message} rule {rule.rule_id}: {_rule_line(rule)}")


def _rule_line(rule: Rule) -> str:
    content, parts = rule.content, [describe_rule(rule.content)]
    if content.name:
        parts.insert(0, f"{content.name}:")
    if content.places.only_in:
        parts.append(f"(only in {', '.join(content.places.only_in)})")
    if content.places.not_in:
        parts.append(f"(not in {', '.join(content.places.not_in)})")
    if content.places.placements:
        parts.append(f"(in placement {', '.join(content.places.placements)})")
    if content.starts:
        parts.append(f"from {content.starts}")
    if content.ends:
        parts.append(f"until {content.ends}")
    if content.priority:
        parts.append(f"[priority {content.priority}]")
    return " ".join(parts)


def _rule_fields(rule: Rule) -> dict[str, object]:
    content = rule.content
    return {
        "id": rule.rule_id,
        "name": content.name,
        "action": content.action,
        "items": content.target.items,
        "categories": content.target.categories,
        "title_words": content.target.title_words,
        "price_min": content.target.price_min,
        "price_max": content.target.price_max,
        "attributes": [":".join(pair) for pair in content.target.attributes],
        "in": content.places.only_in,
        "not_in": content.places.not_in,
        "placements": content.places.placements,
        "from": content.starts,
        "until": content.ends,
        "priority": content.priority,
        "strength": content.strength,
        "position": content.position,
        "enabled": content.enabled,
        "created_at": iso(rule.created_at),
        "updated_at": iso(rule.updated_at),
    }


def _change_fields(change: RuleChange) -> dict[str, object]:
    return {
        "at": iso(change.changed_at),
        "by": change.actor,
        "what": change.what,
        "rule": _rule_fields(change.rule),
    }
