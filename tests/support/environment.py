"""Generator of `.env.example`: `python -m tests.support.environment` rewrites it."""

from __future__ import annotations

import textwrap

from productrecs.settings import KNOBS
from tests.support.project import ROOT

EXAMPLE = ROOT / ".env.example"
_HEAD = """\
# Every setting of the service, each with its default. Copy what you change to `.env`, or
# give it to whatever starts the service. Made by: python -m tests.support.environment
"""


def example() -> str:
    """Return the file's text."""
    parts = [_HEAD]
    for knob in KNOBS:
        lines = textwrap.wrap(knob.meaning, 88)
        if knob.is_secret:
            lines.append(
                f"A secret: {knob.environment}_FILE may name a file that holds it."
            )
        parts.append("".join(f"# {line}\n" for line in lines))
        parts[-1] += f"#{knob.environment}={knob.default}\n"
    return "\n".join(parts)


if __name__ == "__main__":
    EXAMPLE.write_text(example(), "utf-8")
