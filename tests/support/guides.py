"""Guide inspection: blocks, links, and the command line's generated guide.

`python -m tests.support.guides` writes the guide of the command line anew, from its verbs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import click

from productrecs.cli.main import COMMANDS, productrecs
from tests.support.project import ROOT

FENCE = re.compile(r"^```(\w+)([ \w]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
PAGES = ROOT / "src" / "productrecs" / "features" / "guides" / "pages"
REFERENCE = re.compile(r"<!-- reference -->\n(.*?)<!-- /reference -->", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: `language`, and whether it is to be run, or is a reply."""

    language: str
    mark: str
    text: str


def blocks(markdown: str) -> list[Block]:
    """Return the fenced blocks of a guide, in order."""
    return [Block(a, b.strip(), text) for a, b, text in FENCE.findall(markdown)]


def prose(markdown: str) -> str:
    """Return a guide without its fenced blocks."""
    return FENCE.sub("", markdown)


def verbs() -> Iterator[tuple[str, click.Command]]:
    """Yield every verb with its command; those of a group by both words."""
    context = click.Context(productrecs)
    for name in sorted(COMMANDS):
        command = productrecs.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            for inner in command.commands.values():
                yield f"{name} {inner.name}", inner
        else:
            yield name, command


def cli_reference() -> str:
    """Return what the guide of the command line must say of every verb."""
    parts = []
    for name, command in verbs():
        context = click.Context(command, info_name=name)
        usage = " ".join(["productrecs", name, *command.collect_usage_pieces(context)])
        parts += [f"### {name}", "", f"`{usage}`", ""]
        parts += [command.get_short_help_str(200), ""]
        rows = [
            f"| `{', '.join(option.opts)}` | {' '.join((option.help or '').split())} |"
            for option in command.params
            if isinstance(option, click.Option)
            and not option.hidden
            and option.opts not in (["--data"], ["--json"])
        ]
        if rows:
            parts += ["| option | meaning |", "| --- | --- |", *rows, ""]
    return "\n".join(parts)


def _write() -> None:
    page = PAGES / "cli.md"
    reference = f"<!-- reference -->\n{cli_reference()}<!-- /reference -->"
    page.write_text(REFERENCE.sub(lambda _: reference, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    _write()
