"""Generated clients: generators make clients from `/openapi.json` that compile and work."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from tests.support.project import ROOT
from tests.support.service import HOST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.service import Merchant, Service

TYPESCRIPT: Final = ROOT / "tests/api/generated_clients"
MODULES: Final = TYPESCRIPT / "node_modules"
MISSING: Final = (
    "the TypeScript client was NOT generated: Node or what `npm ci` installs in "
    "tests/api/generated_clients is missing; apt-get install npm, then tools/setup test"
)
PUSH: Final = """
import json, sys
from generated import AuthenticatedClient
from generated.api.server import get_item, push_items
from generated.models import Item, ItemsPush

client = AuthenticatedClient(sys.argv[1], sys.argv[2])
lamp = Item("lamp", title="Lamp", price=19.9)
pushed = push_items.sync(client=client, body=ItemsPush([lamp]))
found = get_item.sync("lamp", client=client)
print(json.dumps([pushed.to_dict(), found.to_dict()]))
"""


@pytest.fixture
def description(service: Service, tmp_path: Path) -> Path:
    """Return the service's description of itself, in a file."""
    file = tmp_path / "openapi.json"
    file.write_bytes(service.client().ask("GET", "/openapi.json").body)
    return file


def run(*command: str | Path, folder: Path) -> str:
    """Return what a program prints; it must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_python_client_pushes_an_item(
    service: Service, merchant: Merchant, description: Path, tmp_path: Path
) -> None:
    generator = ("-m", "openapi_python_client", "generate", "--meta", "none")
    output = ("--path", description, "--output-path", tmp_path / "generated")

    said = run(sys.executable, *generator, *output, folder=tmp_path)
    address = f"http://{HOST}:{service.port}"
    printed = run(
        sys.executable, "-c", PUSH, address, merchant.account.secret, folder=tmp_path
    )

    assert "will not be generated" not in said
    pushed, item = json.loads(printed)
    assert pushed["ok"] is True
    assert (item["id"], item["title"], item["price"]) == ("lamp", "Lamp", 19.9)


@pytest.mark.skipif(shutil.which("node") is None or not MODULES.is_dir(), reason=MISSING)
def test_a_typescript_client_compiles_and_pushes_an_item(
    service: Service, merchant: Merchant, description: Path, tmp_path: Path
) -> None:
    (tmp_path / "node_modules").symlink_to(MODULES)
    shutil.copy(TYPESCRIPT / "push_an_item.ts", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')

    run(
        MODULES / ".bin/openapi-typescript",
        description,
        "-o",
        "openapi.ts",
        folder=tmp_path,
    )
    run(
        *(MODULES / ".bin/tsc", "--strict", "--skipLibCheck", "--target", "es2022"),
        *("--module", "esnext", "--moduleResolution", "bundler", "push_an_item.ts"),
        folder=tmp_path,
    )
    address = f"http://{HOST}:{service.port}"
    printed = run(
        "node", "push_an_item.js", address, merchant.account.secret, folder=tmp_path
    )

    pushed, item = json.loads(printed)
    assert pushed["ok"] is True
    assert (item["id"], item["title"], item["price"]) == ("lamp", "Lamp", 19.9)
