"""`productrecs synonyms` and `productrecs search-rules`: a store's search settings."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from productrecs.cli.open_services import database_with_audit_entry, open_services_as_owner
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.features.search.search_rule_editor import SearchRuleEditor
from productrecs.features.search.search_rules import SearchRule, SearchRuleAction, Synonym
from productrecs.services import Services
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store


@click.group()
def synonyms() -> None:
    """Manage the synonyms of search."""


@synonyms.command("list")
@click.argument("domain")
@json_option
@data_option
def list_synonyms(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List a store's synonyms."""
    with _open_editors(domain, data) as editors:
        stored = editors.reading_editor.synonyms()
    if as_json:
        print_json([_synonym_fields(number, one) for number, one in stored.items()])
        return
    if not stored:
        click.echo(f"No synonyms yet: productrecs synonyms add {domain} sofa couch")
    for number, one in stored.items():
        click.echo(f"{number:>4}  {_synonym_text(one)}")


@synonyms.command("add")
@click.argument("domain")
@click.argument("texts", nargs=-1, required=True)
@click.option(
    "--one-way", is_flag=True, help="The first text also finds the others, not the reverse."
)
@json_option
@data_option
def add_synonym(
    domain: str,
    texts: tuple[str, ...],
    *,
    one_way: bool,
    as_json: bool,
    data: Path | None,
) -> None:
    """Add 2 to 20 texts with the same meaning; quote texts of several words.

    They also apply to a misspelt or unfinished word. A running server applies them
    within a second.

    Example: productrecs synonyms add shop.example.com sofa couch "love seat"
    """
    detail = f"{' -> ' if one_way else ' = '}".join((texts[0], ", ".join(texts[1:])))
    with _open_editors(domain, data) as editors:
        number, synonym = editors.adding_editor(detail).add_synonym(*texts, one_way=one_way)
    if as_json:
        print_json(_synonym_fields(number, synonym))
    else:
        click.echo(f"Added {number}: {_synonym_text(synonym)}")


@synonyms.command("remove")
@click.argument("domain")
@click.argument("number", metavar="ID", type=int)
@data_option
def remove_synonym(domain: str, number: int, *, data: Path | None) -> None:
    """Remove a synonym."""
    with _open_editors(domain, data) as editors:
        stored = editors.reading_editor.synonyms().get(number)
        detail = "" if stored is None else _synonym_text(stored)
        editors.removing_editor(detail).remove_synonym(number)
    click.echo(f"Removed {number}.")


@click.group("search-rules")
def search_rules() -> None:
    """Pin or hide products for a query, or redirect it."""


@search_rules.command("list")
@click.argument("domain")
@json_option
@data_option
def list_rules(domain: str, *, as_json: bool, data: Path | None) -> None:
    """List a store's search rules."""
    with _open_editors(domain, data) as editors:
        stored = editors.reading_editor.rules()
    if as_json:
        print_json([_rule_fields(number, rule) for number, rule in stored.items()])
        return
    if not stored:
        add = f"productrecs search-rules add {domain} pin tent --item t-1"
        click.echo(f"No search rules yet: {add}")
    for number, rule in stored.items():
        click.echo(f"{number:>4}  {_rule_line(rule)}")


@search_rules.command("add")
@click.argument("domain")
@click.argument("action", type=click.Choice([action.value for action in SearchRuleAction]))
@click.argument("query")
@click.option("--item", multiple=True, help="A product id; may be repeated.")
@click.option("--to", "address", help="The target of a redirect: a URL or a path.")
@click.option("--from", "starts", help="The first date or time, in the store's time zone.")
@click.option("--until", "ends", help="The last date or time, in the store's time zone.")
@json_option
@data_option
def add_rule(  # noqa: PLR0913 - one an option
    domain: str,
    action: str,
    query: str,
    *,
    item: tuple[str, ...],
    address: str | None,
    starts: str | None,
    ends: str | None,
    as_json: bool,
    data: Path | None,
) -> None:
    """Add a search rule; a running server applies it within a second.

    ACTION is pin, hide or redirect. The rule applies to every form of the QUERY's
    words.

    Example: productrecs search-rules add shop.example.com pin "winter coat" --item c-7
    """
    rule = SearchRule(SearchRuleAction(action), query, item, address, starts, ends)
    with _open_editors(domain, data) as editors:
        number, stored_rule = editors.adding_editor(_rule_line(rule)).add_rule(rule)
    if as_json:
        print_json(_rule_fields(number, stored_rule))
    else:
        click.echo(f"Added {number}: {_rule_line(stored_rule)}")


@search_rules.command("remove")
@click.argument("domain")
@click.argument("number", metavar="ID", type=int)
@data_option
def remove_rule(domain: str, number: int, *, data: Path | None) -> None:
    """Remove a search rule."""
    with _open_editors(domain, data) as editors:
        stored = editors.reading_editor.rules().get(number)
        detail = "" if stored is None else _rule_line(stored)
        editors.removing_editor(detail).remove_rule(number)
    click.echo(f"Removed {number}.")


@dataclass(frozen=True, slots=True)
class _SearchEditors:
    """Editors of a store's synonyms and search rules; a change is in the audit log."""

    services: Services
    store: Store

    @property
    def reading_editor(self) -> SearchRuleEditor:
        """The editor that changes nothing."""
        return self._editor(self.services.database)

    def adding_editor(self, detail: str) -> SearchRuleEditor:
        """Return the editor of an addition that `detail` describes."""
        return self._audited_editor("Saved a synonym or search rule", detail)

    def removing_editor(self, detail: str) -> SearchRuleEditor:
        """Return the editor of a removal that `detail` describes."""
        return self._audited_editor("Removed a synonym or search rule", detail)

    def _audited_editor(self, action: str, detail: str) -> SearchRuleEditor:
        return self._editor(
            database_with_audit_entry(self.services, self.store, action, detail)
        )

    def _editor(self, database: Database) -> SearchRuleEditor:
        return SearchRuleEditor(database, self.store, self.services.clock)


@contextlib.contextmanager
def _open_editors(domain: str, data: Path | None) -> Iterator[_SearchEditors]:
    with open_services_as_owner(data) as services:
        yield _SearchEditors(services, find_store(services.database, domain))


def _synonym_text(one: Synonym) -> str:
    first, *other_texts = one.texts
    return f"{first} {'->' if one.one_way else '='} {', '.join(other_texts)}"


def _rule_line(rule: SearchRule) -> str:
    target = rule.address or ", ".join(rule.items)
    dates = (
        f" ({rule.starts or ''} to {rule.ends or ''})" if rule.starts or rule.ends else ""
    )
    return f"{rule.action.value} for {rule.query!r}: {target}{dates}"


def _synonym_fields(number: int, one: Synonym) -> dict[str, object]:
    return {"id": number, "texts": list(one.texts), "one_way": one.one_way}


def _rule_fields(number: int, rule: SearchRule) -> dict[str, object]:
    return {
        "id": number,
        "action": rule.action.value,
        "query": rule.query,
        "items": list(rule.items),
        "address": rule.address,
        "from": rule.starts,
        "until": rule.ends,
    }
