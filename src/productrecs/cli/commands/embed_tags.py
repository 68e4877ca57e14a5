"""`productrecs embed`: prints the tags for the head of a shop's pages."""

from pathlib import Path

import click

from productrecs.cli.last_service_run import local_address
from productrecs.cli.open_services import open_store
from productrecs.cli.options import data_option
from productrecs.features.widgets.repository import WidgetRepository
from productrecs.features.widgets.reserved_height import head_tags


@click.command()
@click.argument("domain")
@click.option("--base-url", help="The address at which browsers reach the service.")
@click.option(
    "--pinned", is_flag=True, help=("Pin the scripts' builds with integrity hashes.")
)
@data_option
def embed(domain: str, *, base_url: str | None, pinned: bool, data: Path | None) -> None:
    """Print the tags for the head of a shop's pages; use the scripts that you need.

    First a stylesheet made from the store's settings: it reserves the height of each
    widget, so that nothing moves when products appear. The script beside it releases
    that height when the service does not answer. Then one tag per script.

    With `--pinned` each tag has an integrity hash, so that browsers run only that
    build; replace the tag to get a newer one. The address is `--base-url`, else
    `PRODUCTRECS_BASE_URL`.

    Example: productrecs embed shop.example.com --base-url https://recs.example.com
    """
    # Imported here: the web framework is slow to import.
    from productrecs.http.routes.public.embed_code import (  # noqa: PLC0415
        live_script_tags,
    )
    from productrecs.http.routes.public.widget_scripts import (  # noqa: PLC0415
        archive_and_exchange_builds,
        pinned_script_tags,
    )

    with open_store(data, domain) as (services, store):
        settings = services.settings
        base_address = base_url or settings.base_url
        if not base_address:
            base_address = local_address(settings)
            click.echo(
                f"No address is configured: the tags use {base_address}, which only "
                "browsers on this machine reach. Set PRODUCTRECS_BASE_URL or give "
                "--base-url.",
                err=True,
            )
        with services.database.reading() as connection:
            configs = WidgetRepository(connection, store.store_id).all()
        if pinned:
            archive_and_exchange_builds(services.widget_build_folder, services.objects)
            script_tags = pinned_script_tags(
                base_address.rstrip("/"), store.publishable_key
            )
        else:
            script_tags = live_script_tags(base_address.rstrip("/"), store.domain)
    click.echo("\n".join((head_tags(store.settings, configs), *script_tags)))
