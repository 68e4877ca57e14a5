"""Clients: those of `clients/` are made from `/openapi.json`, and work."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from productrecs_client import AsyncProductRecs, ProductRecs, ProductRecsError
from productrecs_client.types import Event, Item, Order
from tests.support.project import ROOT
from tests.support.service import HOST, Account, Merchant, Service, eventually
from tests.support.web import Relay
from tools import clients

MISSING: Final = (
    "the TypeScript client was NOT tested: Node or what `npm ci` installs in "
    "clients/typescript is missing; apt-get install npm, then tools/setup test"
)
needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not clients.GENERATOR.exists(), reason=MISSING
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

Answers = dict[str, Any]
LAMP: Final[Item] = {"id": "a/lamp", "title": "Lamp", "price": 19.9}
ORDER: Final[Order] = {
    "order_id": "A-1",
    "user_id": "c-1",
    "items": [{"item_id": "a/lamp", "quantity": 2, "price": 19.9}],
}
VIEW: Final[Event] = {"event": "detail-page-view", "item_id": "a/lamp", "session_id": "s_1"}
FILTERS: Final = ["in_stock:true", "price:1..50"]
HISTORY: Final = b"order_id,item_id\nB-1,a/lamp\n"


@dataclass(frozen=True)
class Place:
    """A store, and addresses of its service, of a busy one and of none."""

    account: Account
    url: str
    busy: str
    nobody: str


def run(*command: str | Path, folder: Path) -> str:
    """Return what a program prints; it must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def in_python(place: Place, _: Path) -> Answers:
    """Return what the calls of `typed_client.ts` give in Python."""
    publishable = place.account.publishable
    with (
        ProductRecs(place.url, publishable_key=publishable) as page,
        ProductRecs(place.url, secret_key=place.account.secret) as server,
        ProductRecs(place.busy, publishable_key=publishable, max_wait=5) as hurried,
        ProductRecs(place.nobody) as nowhere,
    ):
        pushed = server.push_items({"items": [LAMP]})
        found = page.search(q="lamp", facets="price", filter=FILTERS)
        return {
            "pushed": pushed["created"] + pushed["updated"],
            "item": server.get_item("a/lamp")["title"],
            "order": server.sync_order(ORDER)["ok"],
            "tracked": page.track([VIEW])["ok"],
            "listed": len(page.recommend(num=1)["recommendations"]),
            "found": [one["id"] for one in found["results"]],
            "facet": found["facets"]["price"]["max"],
            "upload": server.upload_orders(HISTORY)["status"],
            "unknown": failure(lambda: server.get_item("nothing")),
            "invalid": failure(lambda: page.recommend(num=99)),
            "unauthorised": failure(page.list_items),
            "late": failure(hurried.trending),
            "unreachable": failure(nowhere.trending),
        }


def failure(call: Callable[[], object]) -> list[object]:
    """Return what a call's error says."""
    with pytest.raises(ProductRecsError) as raised:
        call()
    return facts_of(raised.value)


def facts_of(error: ProductRecsError) -> list[object]:
    return [error.status, error.code, error.doc_url, str(error), len(error.problems)]


def in_asyncio(place: Place, _: Path) -> Answers:
    """Return the same of the client for asyncio."""
    return asyncio.run(_in_asyncio(place))


async def _in_asyncio(place: Place) -> Answers:
    publishable = place.account.publishable
    async with (
        AsyncProductRecs(place.url, publishable_key=publishable) as page,
        AsyncProductRecs(place.url, secret_key=place.account.secret) as server,
        AsyncProductRecs(place.busy, publishable_key=publishable, max_wait=5) as hurried,
        AsyncProductRecs(place.nobody) as nowhere,
    ):
        pushed = await server.push_items({"items": [LAMP]})
        found = await page.search(q="lamp", facets="price", filter=FILTERS)
        return {
            "pushed": pushed["created"] + pushed["updated"],
            "item": (await server.get_item("a/lamp"))["title"],
            "order": (await server.sync_order(ORDER))["ok"],
            "tracked": (await page.track([VIEW]))["ok"],
            "listed": len((await page.recommend(num=1))["recommendations"]),
            "found": [one["id"] for one in found["results"]],
            "facet": found["facets"]["price"]["max"],
            "upload": (await server.upload_orders(HISTORY))["status"],
            "unknown": await late_failure(server.get_item("nothing")),
            "invalid": await late_failure(page.recommend(num=99)),
            "unauthorised": await late_failure(page.list_items()),
            "late": await late_failure(hurried.trending()),
            "unreachable": await late_failure(nowhere.trending()),
        }


async def late_failure(call: Awaitable[object]) -> list[object]:
    with pytest.raises(ProductRecsError) as raised:
        await call
    return facts_of(raised.value)


def in_typescript(place: Place, folder: Path) -> Answers:
    """Return what `typed_client.ts` prints; the client is installed as the guide says."""
    package = folder / "client"  # without what makes it
    unused = shutil.ignore_patterns("node_modules", "src")
    shutil.copytree(clients.TYPESCRIPT, package, ignore=unused)
    shutil.copy(ROOT / "tests/api/typed_client.ts", folder)
    (folder / "package.json").write_text('{"type": "module"}')
    run("npm", "install", "--offline", "--no-audit", "--no-fund", package, folder=folder)
    settings = json.loads((clients.TYPESCRIPT / "tsconfig.json").read_text())
    settings["compilerOptions"] |= {"rootDir": ".", "declaration": False, "outDir": "dist"}
    settings["include"] = ["typed_client.ts"]
    (folder / "tsconfig.json").write_text(json.dumps(settings))
    run(clients.TYPESCRIPT / "node_modules/.bin/tsc", "-p", ".", folder=folder)
    account = place.account
    arguments = (place.url, account.publishable, account.secret, place.busy, place.nobody)
    printed = run("node", "dist/typed_client.js", *arguments, folder=folder)
    answers: Answers = json.loads(printed)
    return answers


@pytest.mark.parametrize(
    "use_client",
    [
        in_python,
        in_asyncio,
        pytest.param(in_typescript, marks=needs_node),
    ],
)
def test_a_client_pushes_tracks_recommends_searches_and_explains_refusals(
    service: Service,
    merchant: Merchant,
    tmp_path: Path,
    use_client: Callable[[Place, Path], Answers],
) -> None:
    merchant.push(LAMP)
    eventually(lambda: bool(merchant.search("lamp").json["results"]))
    never, now = {"retry-after": "60"}, {"retry-after": "0"}
    with (
        Relay(service.port, refusals=[429, 503], refusal_headers=now) as relay,
        Relay(service.port, refusals=[429], refusal_headers=never) as busy,
        Relay(service.port, is_down=True) as nobody,
    ):
        place = Place(merchant.account, relay.address, busy.address, nobody.address)
        answers = use_client(place, tmp_path)

    assert relay.refusals == busy.refusals == []
    assert busy.seen == []
    failures = {name: value for name, value in answers.items() if isinstance(value, list)}
    assert failures.pop("found") == ["a/lamp"]
    expected = {"pushed": 1, "item": "Lamp", "order": True, "tracked": True, "listed": 1}
    expected |= {"facet": 19.9, "upload": "queued"}
    assert {name: answers[name] for name in expected} == expected
    summaries = {name: (one[0], one[1], one[4]) for name, one in failures.items()}
    assert summaries == {
        "unknown": (404, "item_unknown", 0),
        "invalid": (422, "invalid_request", 1),
        "unauthorised": (401, "key_missing", 0),
        "late": (429, "unknown_reply", 0),
        "unreachable": (0, "connection_failed", 0),
    }
    assert failures["unknown"][2].endswith("#item_unknown")
    assert "POST /v1/items" in failures["unknown"][3]  # what to do
    assert failures["invalid"][3].startswith("query.num: ")
    assert "check the address" in failures["unreachable"][3]


def test_the_repetitions_of_a_push_have_one_idempotency_key() -> None:
    keys = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["idempotency-key"])
        refusal = httpx.Response(503, headers={"retry-after": "0"})
        return refusal if len(keys) < 3 else httpx.Response(200, json={"ok": True})

    own = httpx.Client(transport=httpx.MockTransport(answer))
    client = ProductRecs("https://recs.example", secret_key="sk_1", http_client=own)
    client.push_items({"items": [LAMP]})
    client.push_items({"items": [LAMP]})
    client.push_items({"items": [LAMP]}, idempotency_key="mine")

    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert keys[4] == "mine"


def test_the_python_client_is_made_from_the_description() -> None:
    for path, text in clients.python_files(clients.service_description()).items():
        assert path.read_text("utf-8") == text, f"{path.name}: python -m tools.clients"


@needs_node
def test_the_typescript_client_is_made_from_the_description() -> None:
    for path, text in clients.typescript_files(clients.service_description()).items():
        assert path.read_text("utf-8") == text, f"{path.name}: python -m tools.clients"


@needs_node
def test_the_javascript_of_the_client_is_that_of_its_typescript(tmp_path: Path) -> None:
    clients.compile_typescript(tmp_path)

    made = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    committed = (clients.TYPESCRIPT / "lib").iterdir()
    assert made == {path.name: path.read_text("utf-8") for path in committed}


def test_a_generated_python_client_pushes_an_item(
    service: Service, merchant: Merchant, tmp_path: Path
) -> None:
    description = tmp_path / "openapi.json"
    description.write_bytes(service.client().ask("GET", "/openapi.json").body)
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
