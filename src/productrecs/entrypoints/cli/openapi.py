"""How is the interface described for programs, without a running service?"""

from pathlib import Path

import click
import msgspec

_ADDRESS = "http://127.0.0.1:8000"


@click.command()
@click.option(
    "--base-url",
    default=_ADDRESS,
    show_default=True,
    help="Where the service that it describes is reached.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it to this file instead of printing it.",
)
def openapi(base_url: str, out: Path | None) -> None:
    """Print the OpenAPI description, as `/openapi.json` answers it.

    Example: productrecs openapi --base-url https://recs.example.com --out openapi.json
    """
    # Imported here: the web framework takes longer than all else that the CLI does.
    from productrecs.entrypoints.http.application import declared_routes  # noqa: PLC0415
    from productrecs.entrypoints.http.description import described_by  # noqa: PLC0415

    described = described_by(declared_routes(), base_url.rstrip("/"))
    text = msgspec.json.format(msgspec.json.encode(described), indent=2).decode() + "\n"
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text, "utf-8")
