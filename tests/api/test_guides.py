"""Guides, index and reference (interface 4.4): served, linked, and correct.

Every block of every guide that is marked `run` is run, in order, against the service, for
a store of its own; a block marked `reply` is what the one before it must print.
"""

import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from productrecs import __version__
from productrecs.core.program_version import REVISION
from productrecs.features.guides.developer_guide_index import GUIDES
from tests.support.guides import Block, blocks
from tests.support.nursery import nursery
from tests.support.service import Client, Merchant, Service, give_access_token

SLUGS = [guide.slug for guide in GUIDES]
DOCTORED = ("operations", "troubleshooting")  # the doctor misses a catalog
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
CATALOG = (
    {"id": "tent", "title": "Tent for two", "price": 149, "categories": ["Camping"]},
    {"id": "stove", "title": "Gas stove", "price": 39.5, "categories": ["Camping"]},
    {"id": "rope", "title": "Rope, 60 m", "price": 89, "categories": ["Climbing"]},
)
PLAIN_COMMAND = re.compile(r"^(productrecs [^|&;<>$`\\\n]+\n)", re.MULTILINE)
CURL = 'set -euo pipefail\ncurl() { command curl --fail-with-body --max-time 20 "$@"; }\n'


class Links(HTMLParser):
    """The addresses that a page names, and its anchors."""

    def __init__(self, html: str) -> None:
        """Read the page."""
        super().__init__()
        self.addresses: list[str] = []
        self.anchors: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - html.parser's name
        """Note what an element leads to, and what leads to it."""
        named = dict(attrs)
        self.addresses += [v for k in ("href", "src") if (v := named.get(k))]
        if anchor := named.get("id"):
            self.anchors.add(anchor)


def run(block: Block, environment: Mapping[str, str], folder: Path) -> str:
    if block.language == "sh":
        return "".join(run_part(part, environment, folder) for part in parts(block.text))
    interpreter = {
        "python": [sys.executable, "-c"],
        "js": ["node", "--input-type=module", "-e"],
    }[block.language]
    return run_program([*interpreter, block.text], environment, folder)


def parts(script: str) -> list[str]:
    """Split a script into plain `productrecs` commands and what stands around them."""
    return [part for part in PLAIN_COMMAND.split(script) if part.strip()]


def run_part(part: str, environment: Mapping[str, str], folder: Path) -> str:
    """Run a plain command as a fork of the nursery, anything else by a shell."""
    if not PLAIN_COMMAND.fullmatch(part):
        if "curl" in part and shutil.which("curl") is None:
            pytest.skip("the guides' examples were NOT run: apt-get install curl")
        return run_program(["bash", "-c", CURL + part], environment, folder)
    printed, errors = folder / "printed.txt", folder / "errors.txt"
    for file in (printed, errors):
        file.unlink(missing_ok=True)
    words = shlex.split(part)[1:]
    program = nursery().start(words, environment, printed, errors, folder=folder)
    status = program.wait(120)
    assert status == 0, f"{part}\n{printed.read_text()}{errors.read_text()}"
    return printed.read_text()


def run_program(command: list[str], environment: Mapping[str, str], folder: Path) -> str:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}{done.stderr}"
    return done.stdout


def environment_of(service: Service, merchant: Merchant) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PRODUCTRECS_")}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PRODUCTRECS_DATA": str(service.folder),
        "PK": merchant.account.publishable,
        "SK": merchant.account.secret,
        "AT": give_access_token(merchant.account),
    }


@pytest.mark.parametrize("slug", SLUGS)
def test_every_runnable_block_of_a_guide_runs(
    slug: str, service: Service, merchant: Merchant, tmp_path: Path
) -> None:
    if slug in {"bundles", "demand", "recommendations", "trending", "search", *DOCTORED}:
        assert merchant.push(*CATALOG).status == 200
    text = merchant.client.ask("GET", f"/docs-md/{slug}.md").body.decode()
    environment = environment_of(service, merchant)
    printed = ""
    for block in blocks(text.replace("shop.example.com", merchant.account.domain)):
        if block.mark == "run":
            printed = run(block, environment, tmp_path)
        elif block.mark == "reply":
            assert json.loads(printed) == json.loads(block.text)
        else:
            assert block.mark == ""


def test_an_example_that_fails_is_noticed(
    service: Service, merchant: Merchant, tmp_path: Path
) -> None:
    wrong = Block("sh", "run", f"curl -s http://127.0.0.1:{service.port}/v1/nothing | cat")

    with pytest.raises(AssertionError, match="not_found"):
        run(wrong, environment_of(service, merchant), tmp_path)


def test_most_guides_have_examples_that_run(merchant: Merchant) -> None:
    runnable = {
        slug
        for slug in SLUGS
        if any(
            block.mark == "run"
            for block in blocks(
                merchant.client.ask("GET", f"/docs-md/{slug}.md").body.decode()
            )
        )
    }

    without = {"errors", "glossary", "opencart", "prestashop"}
    assert set(SLUGS) - runnable == {*without, "plain-html"}  # a browser test runs its code


def test_every_link_of_the_index_answers(service: Service) -> None:
    client = service.client()
    text = client.ask("GET", "/llms.txt").body.decode()
    links = re.findall(r"\((http[^)]+)\)", text)

    assert len(links) >= len(SLUGS) + 3
    assert all(urlsplit(link).netloc == f"127.0.0.1:{service.port}" for link in links)
    assert {client.ask("GET", urlsplit(link).path).status for link in links} == {200}


def test_the_full_text_is_every_guide_in_the_order_of_the_index(service: Service) -> None:
    client = service.client()
    guides = [client.ask("GET", f"/docs-md/{slug}.md").body for slug in SLUGS]

    whole = client.ask("GET", "/llms-full.txt").body

    assert whole == b"\n\n".join(guide.rstrip(b"\n") for guide in guides) + b"\n"


@pytest.mark.parametrize(
    ("path", "same"),
    [("/guides/items", "/docs-md/items.md"), ("/guides", "/llms.txt"), ("/", "/llms.txt")],
)
def test_a_page_comes_as_markdown_to_who_asks_for_it(
    client: Client, path: str, same: str
) -> None:
    wish = {"accept": "text/markdown, text/html;q=0.9, */*;q=0.8"}

    text = client.ask("GET", path, headers=wish)
    page = client.ask("GET", path, headers=BROWSER)

    assert text.header("content-type") == "text/markdown; charset=utf-8"
    assert text.body == client.ask("GET", same).body
    assert page.header("content-type") == "text/html; charset=utf-8"
    assert (text.header("vary") or "").startswith("Accept")
    assert (page.header("vary") or "").startswith("Accept")


def test_a_guide_says_where_it_is_as_markdown(client: Client) -> None:
    page = client.ask("GET", "/guides/items", headers=BROWSER)

    assert page.header("link") == (
        '</docs-md/items.md>; rel="alternate"; type="text/markdown"'
    )
    assert "/docs-md/items.md" in Links(page.body.decode()).addresses


def test_every_link_of_every_page_leads_somewhere(service: Service) -> None:
    client = service.client()
    pages = ["/", "/docs", "/guides", *(f"/guides/{slug}" for slug in SLUGS)]
    read = {page: client.ask("GET", page, headers=BROWSER).body.decode() for page in pages}
    links = {page: Links(html) for page, html in read.items()}
    dead = []

    @functools.cache
    def is_there(path: str) -> bool:
        return client.ask("GET", path, headers=BROWSER).status in {200, 303}

    for page, page_links in links.items():
        for address in page_links.addresses:
            path, _, anchor = address.partition("#")
            where = path or page
            if where.startswith("http"):
                assert urlsplit(where).hostname in {"127.0.0.1", "shop.example.com"}
            elif not is_there(where) or (
                anchor and where in links and anchor not in links[where].anchors
            ):
                dead.append((page, address))

    assert dead == []


def test_the_index_is_a_page_for_browsers_and_json_for_programs(service: Service) -> None:
    client = service.client()

    page = client.ask("GET", "/", headers=BROWSER)
    reply = client.ask("GET", "/")

    assert (page.header("content-type"), page.status) == ("text/html; charset=utf-8", 200)
    assert page.header("vary") == "Accept, Accept-Encoding"  # it may travel packed
    assert reply.header("vary") == "Accept"
    assert page.header("cache-control") == reply.header("cache-control") == "no-store"
    assert reply.json["version"] == __version__
    assert reply.json["revision"] == REVISION
    assert reply.json["docs"] == "/docs"
    assert reply.json["health"]["ready"] == "/health/ready"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/llms.txt", "text/plain; charset=utf-8"),
        ("/llms-full.txt", "text/plain; charset=utf-8"),
        ("/docs-md/items.md", "text/markdown; charset=utf-8"),
        ("/guides", "text/html; charset=utf-8"),
        ("/guides/items", "text/html; charset=utf-8"),
        ("/docs", "text/html; charset=utf-8"),
        ("/docs/icon.svg", "image/svg+xml"),
        ("/openapi.json", "application/json"),
    ],
)
def test_what_is_known_already_is_not_sent_again(
    service: Service, path: str, kind: str
) -> None:
    client = service.client()
    first = client.ask("GET", path)
    tag = first.header("etag")
    assert tag is not None

    again = client.ask("GET", path, headers={"if-none-match": tag})

    assert (first.status, first.header("content-type")) == (200, kind)
    assert (again.status, again.body) == (304, b"")
    assert "no-cache" in (first.header("cache-control") or "")
    assert first.header("x-request-id")
    assert first.header("x-content-type-options") == "nosniff"


def test_assets_with_a_content_hash_are_cached_for_ever(service: Service) -> None:
    client = service.client()
    page = client.ask("GET", "/docs").body.decode()
    assets = [address for address in Links(page).addresses if "?v=" in address]

    replies = {address: client.ask("GET", address) for address in assets}
    stale = client.ask("GET", "/docs/pages.css?v=0")

    assert len(assets) == 5
    assert {reply.status for reply in replies.values()} == {200}
    assert all(
        "immutable" in (reply.header("cache-control") or "") for reply in replies.values()
    )
    assert stale.header("cache-control") == "no-cache"


def test_only_pages_may_be_kept(merchant: Merchant) -> None:
    for path in ("/health/ready", "/docs-md/nothing.md"):
        assert merchant.client.ask("GET", path).header("cache-control") == "no-store"
    assert merchant.trending().header("cache-control") == "no-store"
    assert merchant.trending(num="3", user_id="%").header("cache-control") == "no-store"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/docs-md/nothing.md", "guide_unknown"),
        ("/docs-md/..%2f..%2fsettings.md", "not_found"),
        ("/docs-md/keys", "not_found"),
        ("/docs-md/.md", "not_found"),
        ("/guides/nothing", "guide_unknown"),
        ("/guides/", "not_found"),
        ("/guides/keys/", "not_found"),
        ("/docs/__init__.py", "not_found"),
        ("/docs/", "not_found"),
    ],
)
def test_what_is_not_there_is_404(client: Client, path: str, code: str) -> None:
    reply = client.ask("GET", path)

    assert (reply.status, reply.json["code"]) == (404, code)


@pytest.fixture
def client(service: Service) -> Client:
    """Return a connection."""
    return service.client()


def test_the_address_is_the_one_that_the_caller_used(client: Client) -> None:
    def base(**headers: str) -> str:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        text = client.ask("GET", "/docs-md/keys.md", headers=sent).body.decode()
        return text.splitlines()[2].split()[1].removesuffix("/docs-md/keys.md")

    assert base(host="recs.example:8443", x_forwarded_proto="https") == (
        "https://recs.example:8443"
    )
    assert base(host="[::1]:8000") == "http://[::1]:8000"
    assert base(host="a;b").startswith("http://localhost:")
    assert base(host="a.example", x_forwarded_proto="javascript") == "http://a.example"


@pytest.mark.parametrize(
    ("path", "accept", "shows"),
    [
        ("/llms.txt", "*/*", True),
        ("/llms-full.txt", "*/*", True),
        ("/docs-md/keys.md", "*/*", True),
        ("/docs-md/none.md", "*/*", True),
        ("/guides", "text/markdown", True),
        ("/guides", "text/html", False),
        ("/guides/keys", "text/markdown", True),
        ("/guides/integration", "text/html", True),
        ("/guides/none", "text/html", False),
        ("/openapi.json", "*/*", True),
        ("/plugin/service-recommender.zip", "*/*", None),  # it is compressed
        ("/", "text/markdown", True),
        ("/", "text/html", False),
        ("/", "*/*", False),
        ("/docs", "text/html", False),
        ("/dashboard/login", "text/html", False),
        ("/nothing", "*/*", True),
    ],
)
def test_a_forged_host_reaches_no_other_reader(
    client: Client, path: str, accept: str, *, shows: bool | None
) -> None:
    evil = {"host": "evil.example", "accept": accept}

    forged = client.ask("GET", path, headers=evil)
    after = client.ask("GET", path, headers={"accept": accept})
    tag = {"if-none-match": forged.header("etag") or ""}
    validated = client.ask("GET", path, headers={"accept": accept, **tag})

    if shows is not None:
        assert (b"evil.example" in forged.body) == shows
    if shows is not False:
        said = (forged.header("cache-control") or "").split(", ")
        assert {"private", "no-store"} & set(said)
        assert validated.status != 304
    assert b"evil.example" not in after.body + validated.body


def test_the_reference_needs_no_other_host(client: Client) -> None:
    page = client.ask("GET", "/docs")
    html, policy = page.body.decode(), page.header("content-security-policy") or ""

    assert all(address[0] in "/#" for address in Links(html).addresses)
    assert "<script>" not in html
    assert "script-src 'self'; connect-src 'self'" in policy
    assert "http" not in policy
    assert "unsafe" not in policy


def test_a_wrong_guide_address_is_a_page_for_people_and_json_for_programs(
    client: Client,
) -> None:
    page = client.ask("GET", "/guides/widget", headers=BROWSER)
    reply = client.ask("GET", "/guides/widget")

    assert (page.status, page.header("content-type")) == (404, "text/html; charset=utf-8")
    assert "/guides/widgets" in Links(page.body.decode()).addresses
    assert 'role="search"' in page.body.decode()
    assert (reply.status, reply.json["code"]) == (404, "guide_unknown")


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("A/B test", "holdout"),
        ("merchandising", "rules"),
        ("layout shift", "widgets"),
        ("Excel", "catalog-files"),
        ("GDPR", "privacy"),
        ("retry an order", "orders"),
    ],
)
def test_the_guides_are_found_by_the_words_of_the_field(
    client: Client, words: str, slug: str
) -> None:
    page = client.ask("GET", f"/guides?q={quote(words)}", headers=BROWSER)
    call = {"name": "search_docs", "arguments": {"query": words, "limit": 5}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    body = client.ask("POST", "/mcp", json.dumps(request).encode()).json

    addresses = [
        address for address in Links(page.body.decode()).addresses if "#" in address
    ]
    assert any(address.startswith(f"/guides/{slug}#") for address in addresses[:5])
    results = body["result"]["structuredContent"]["results"]
    assert slug in {result["slug"] for result in results}


def test_what_was_searched_for_is_shown_as_text(client: Client) -> None:
    page = client.ask(
        "GET", "/guides?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E", headers=BROWSER
    )

    assert "<script>" not in page.body.decode()
    assert "&lt;script&gt;" in page.body.decode()


def test_the_start_page_links_the_demo_only_where_it_runs(client: Client) -> None:
    page = client.ask("GET", "/", headers=BROWSER).body.decode()

    assert "/guides/quickstart" in Links(page).addresses
    assert "/demo" not in Links(page).addresses
