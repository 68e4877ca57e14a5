"""`productrecs embed`: prints the tags that a shop copies into its pages."""

from pathlib import Path

import click

from productrecs.entrypoints.cli.command_context import data_option, open_services
from productrecs.tenancy.accounts.store_management import find_store


@click.command()
@click.argument("domain")
@click.option("--base-url", help="Where browsers reach the service.")
@click.option("--pinned", is_flag=True, help="Scripts that never change, with integrity.")
@data_option
def embed(domain: str, *, base_url: str | None, pinned: bool, data: Path | None) -> None:
    """Print the tags that a shop puts on its pages, one a script; take those you need.

    `--pinned` names what each script must be, so that browsers run nothing else; such a tag
    stays as it is until you take a newer one.

    Example: productrecs embed shop.example.com --base-url https://recs.example.com
    """
    # Imported here: the web framework takes longer than all else that the CLI does.
    from productrecs.entrypoints.http.routes.public.pinned_scripts import (  # noqa: PLC0415
        archive_builds,
        tags,
    )
    from productrecs.entrypoints.http.routes.public.widget_scripts import live_tags  # noqa: PLC0415

    with open_services(data) as services:
        store = find_store(services.database, domain)
        settings = services.settings
        base = base_url or settings.base_url or f"http://localhost:{settings.port}"
        if pinned:
            archive_builds(services.builds)
            found = tags(base.rstrip("/"), store.publishable_key)
        else:
            found = live_tags(base.rstrip("/"), store.domain)
    click.echo("\n".join(found))
