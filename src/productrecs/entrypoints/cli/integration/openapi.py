"""`productrecs openapi`: prints the OpenAPI description without a running service."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from productrecs.entrypoints.cli.integration.request_collections import (
    to_http_file,
    to_postman_collection,
)

_ADDRESS: Final = "http://127.0.0.1:8000"


@click.command()
@click.option(
    "--base-url",
    default=_ADDRESS,
    show_default=True,
    help="The address of the service that is described.",
)
@click.option(
    "--form",
    type=click.Choice(["openapi", "http", "postman"]),
    default="openapi",
    show_default=True,
    help="Print the calls as a .http file for editors, or as a Postman collection.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead of standard output.",
)
def openapi(base_url: str, form: str, out: Path | None) -> None:
    """Print the OpenAPI description, the same as `/openapi.json`.

    With --form, print its calls with examples, for API clients.

    Example: productrecs openapi --base-url https://recs.example.com --out openapi.json
    Example: productrecs openapi --form http --out productrecs.http
    """
    # Imported here: the web framework takes longer than all else that the CLI does.
    from productrecs.entrypoints.http.application import declared_routes  # noqa: PLC0415
    from productrecs.entrypoints.http.openapi.document import openapi_document  # noqa: PLC0415

    described = openapi_document(declared_routes(), base_url.rstrip("/"))
    text = to_http_file(described) if form == "http" else _json(described, form)
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text, "utf-8")


def _json(described: Mapping[str, Any], form: str) -> str:
    document = to_postman_collection(described) if form == "postman" else described
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
