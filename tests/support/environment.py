"""Documents of the settings: `python -m tests.support.environment` writes them.

They are `.env.example` and the table of `docs/operations.md`.
"""

import re
import textwrap
from typing import Final

from productrecs.settings import SETTING_DESCRIPTIONS
from tests.support.project import ROOT

EXAMPLE: Final = ROOT / ".env.example"
OPERATIONS: Final = ROOT / "docs/operations.md"
_HEAD: Final = """\
# Every setting of the service, each with its default. Copy what you change to
# deploy/docker/.env for Docker Compose, to /etc/productrecs/productrecs.env for systemd, or
# to the environment of whatever else starts the service. The service itself reads no file;
# a command reads /etc/productrecs/productrecs.env if nothing else names an installation.
# Made by: python -m tests.support.environment
"""
_TABLE_HEAD: Final = "| variable | default | meaning |\n| --- | --- | --- |\n"
_TABLE: Final = re.compile(re.escape(_TABLE_HEAD) + r"(\|.*\n)*")


def example() -> str:
    """Return the text of `.env.example`."""
    parts = [_HEAD]
    for setting in SETTING_DESCRIPTIONS:
        lines = textwrap.wrap(setting.meaning, 88)
        if setting.is_secret:
            lines.append(
                f"A secret: {setting.environment}_FILE may name a file that holds it."
            )
        parts.append("".join(f"# {line}\n" for line in lines))
        parts[-1] += f"#{setting.environment}={setting.default}\n"
    return "\n".join(parts)


def with_table(page: str) -> str:
    """Return a page whose table of variables lists every setting."""
    rows = []
    for setting in SETTING_DESCRIPTIONS:
        default = f" `{setting.default}`" if setting.default else ""
        meaning = setting.meaning.replace("|", "\\|")
        if setting.is_secret:
            meaning += (
                f"; a secret, which a file can hold that `{setting.environment}_FILE` names"
            )
        rows.append(f"| `{setting.environment}` |{default} | {meaning} |\n")
    return _TABLE.sub(lambda _: _TABLE_HEAD + "".join(rows), page, count=1)


if __name__ == "__main__":
    EXAMPLE.write_text(example(), "utf-8")
    OPERATIONS.write_text(with_table(OPERATIONS.read_text("utf-8")), "utf-8")
