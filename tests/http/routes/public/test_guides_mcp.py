"""MCP route: a process without guide requests stays small."""

import subprocess
import sys

LOADED = """
import sys
import productrecs.application
print([name for name in ("mcp", "mcp_types", "markdown_it", "fastapi_offline")
       if name in sys.modules])
"""


def test_modules_of_the_guides_are_loaded_on_their_first_use() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
