"""MCP route: a process without guide requests stays small."""

from __future__ import annotations

import subprocess
import sys

LOADED = """
import sys
import productrecs.application
print([name for name in ("mcp", "mcp_types", "markdown_it", "fastapi_offline")
       if name in sys.modules])
"""


def test_what_only_the_guides_need_is_loaded_when_it_is_asked_for() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
