"""`productrecs settings`: a store's settings, and the installation's."""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from productrecs.cli.open_services import database_with_audit_entry, open_store
from productrecs.cli.options import data_option, json_option
from productrecs.cli.output import print_json
from productrecs.cli.settings_and_folder_owner import load_settings
from productrecs.core.errors import ProductRecsError
from productrecs.settings import SETTING_DESCRIPTIONS, SettingDescription
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import change_settings
from productrecs.tenancy.accounts.store_settings import SETTINGS, StoreSettings

_Row = dict[str, object]


class SettingSyntaxError(ProductRecsError):
    """A setting is not written as NAME=VALUE."""


@click.command()
@click.argument("domain", required=False)
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@json_option
@data_option
def settings(
    domain: str | None, changes: tuple[str, ...], *, as_json: bool, data: Path | None
) -> None:
    """Show or change a store's settings; without a domain, show the installation's.

    After a change only the changed settings are printed, with --json all.

    Example: productrecs settings shop.example.com rec_num=12 timezone=Europe/Berlin
    """
    rows = (
        _installation_setting_rows(data)
        if domain is None
        else _change_and_list_settings(domain, changes, data)
    )
    if as_json:
        print_json(rows)
        return
    changed = {_parse_setting_pair(text)[0] for text in changes}
    rows = {name: row for name, row in rows.items() if not changed or name in changed}
    lines = {f"{name}={_format_value(row['value'])}": row for name, row in rows.items()}
    width = max(map(len, lines))
    for line, row in lines.items():
        default = _format_value(row["default"]) or "empty"
        click.echo(f"{line.ljust(width)}  {row['meaning']} (default {default})")


def _change_and_list_settings(
    domain: str, changes: Sequence[str], data: Path | None
) -> dict[str, _Row]:
    changed = dict(_parse_setting_pair(text) for text in changes)
    with open_store(data, domain) as (services, store):
        if changed:
            database = database_with_audit_entry(
                services, store, "Changed the store's settings", ", ".join(changes)
            )
            return _store_setting_rows(change_settings(database, store, changed))
    return _store_setting_rows(store)


def _format_value(value: object) -> str:
    """Return a value in the form of NAME=VALUE."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parse_setting_pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        message = f"{text!r} is not a setting; write NAME=VALUE, such as rec_num=12"
        raise SettingSyntaxError(message)
    return name.strip(), value.strip()


def _store_setting_rows(store: Store) -> dict[str, _Row]:
    defaults = StoreSettings()
    return {
        setting.name: {
            "value": getattr(store.settings, setting.name),
            "default": getattr(defaults, setting.name),
            "meaning": setting.meaning,
        }
        for setting in SETTINGS
    }


def _installation_setting_rows(data: Path | None) -> dict[str, _Row]:
    load_settings(data)  # adds those of the environment file
    return {
        description.environment: {
            "value": _public_value(
                description, os.environ.get(description.environment) or description.default
            ),
            "default": description.default,
            "meaning": description.meaning,
        }
        for description in SETTING_DESCRIPTIONS
    }


def _public_value(description: SettingDescription, value: str) -> str:
    """Return a setting's value; for a secret one only whether it is set."""
    if not description.is_secret:
        return value
    return "(set)" if value or os.environ.get(f"{description.environment}_FILE") else ""
