"""POST /mcp: with the SDK's client and raw JSON-RPC, in both protocol versions."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.client import Client as McpClient
from mcp_types import CallToolResult, TextContent

from productrecs.features.guides.developer_guide_index import GUIDES
from tests.support.service import Client, Reply, Service

MODERN = "2026-07-28"
OLDER = ("2025-03-26", "2025-06-18", "2025-11-25")
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}


@pytest.fixture(scope="module")
def client(service: Service) -> Client:
    """Return a connection."""
    return service.client()


def ask(client: Client, body: object, **headers: str) -> Reply:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.ask("POST", "/mcp", sent, named)


def rpc(method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def modern(client: Client, method: str, *, name: str = "", **params: object) -> Reply:
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
    if name:
        headers["mcp-name"] = name
        params["name"] = name
    body = json.dumps(rpc(method, _meta=META, **params)).encode()
    return client.ask("POST", "/mcp", body, headers)


def tool(client: Client, name: str, **arguments: object) -> Any:
    return ask(client, rpc("tools/call", name=name, arguments=arguments)).json["result"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_own_client_lists_reads_and_searches(service: Service, mode: Any) -> None:
    async def talk() -> tuple[list[str], list[CallToolResult]]:
        address = f"http://127.0.0.1:{service.port}/mcp"
        async with McpClient(address, mode=mode) as asking:
            tools = await asking.list_tools()
            results = [
                await asking.call_tool("list_docs", {}),
                await asking.call_tool("read_doc", {"slug": "quickstart"}),
                await asking.call_tool("search_docs", {"query": "secret key in address"}),
            ]
            return [one.name for one in tools.tools], results

    names, (listed, read, results) = asyncio.run(talk())

    assert names == ["list_docs", "read_doc", "search_docs"]
    assert [one["slug"] for one in listed.structured_content["docs"]] == [
        guide.slug for guide in GUIDES
    ]
    assert read.structured_content["markdown"].startswith("# Quick start")
    best = [one["anchor"] for one in results.structured_content["results"][:2]]
    assert "secret_key_in_address" in best
    for result in (listed, read, results):
        assert not result.is_error
        assert isinstance(result.content[0], TextContent)
        assert json.loads(result.content[0].text) == result.structured_content


@pytest.mark.parametrize("version", OLDER)
def test_the_older_handshake_is_answered_in_its_version(
    client: Client, version: str
) -> None:
    me = {"name": "test", "version": "1"}
    reply = ask(
        client, rpc("initialize", protocolVersion=version, capabilities={}, clientInfo=me)
    )
    noted = ask(client, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    listed = ask(client, rpc("tools/list"), mcp_protocol_version=version)

    result = reply.json["result"]
    assert (reply.status, reply.header("content-type")) == (200, "application/json")
    assert result["protocolVersion"] == version
    assert result["serverInfo"]["version"]
    assert result["capabilities"].keys() == {"tools"}
    assert reply.header("mcp-session-id") is None
    assert (noted.status, noted.body) == (202, b"")
    assert len(listed.json["result"]["tools"]) == 3


def test_the_present_revision_needs_no_handshake(client: Client) -> None:
    discovered = modern(client, "server/discover")
    listed = modern(client, "tools/list")
    called = modern(client, "tools/call", name="list_docs", arguments={})

    assert discovered.status == listed.status == called.status == 200
    assert MODERN in discovered.json["result"]["supportedVersions"]
    assert listed.json["result"]["cacheScope"] == "public"
    assert listed.json["result"]["ttlMs"] > 0
    assert called.json["result"]["resultType"] == "complete"
    assert called.json["result"]["structuredContent"]["docs"]


def test_every_tool_says_all_of_itself(client: Client) -> None:
    for one in ask(client, rpc("tools/list")).json["result"]["tools"]:
        assert one["title"]
        assert one["description"]
        assert one["inputSchema"]["additionalProperties"] is False
        assert one["outputSchema"]["required"]
        assert one["annotations"] == {
            "readOnlyHint": True,
            "idempotentHint": True,
            "openWorldHint": False,
        }


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, -32700),
        (b"\xff", 400, -32700),
        (b"[" * 10_000, 400, -32700),
        (b"", 400, -32700),
        (b"[]", 400, -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', 400, -32600),
        (b'{"id": 1}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', 400, -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', 400, -32600),
    ],
)
def test_what_is_no_message_is_refused_exactly(
    client: Client, body: bytes, status: int, code: int
) -> None:
    old = ask(client, body)
    new = ask(client, body, mcp_protocol_version=MODERN)

    for reply in (old, new):
        assert (reply.status, reply.json["error"]["code"]) == (status, code)
        assert reply.json["id"] is None


def test_an_unknown_method_tool_or_version_is_refused_exactly(client: Client) -> None:
    method = modern(client, "tools/forget")
    named = modern(client, "tools/call", name="forget", arguments={})
    later = META | {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    version = ask(
        client,
        rpc("tools/list", _meta=later),
        mcp_protocol_version="2031-01-01",
        mcp_method="tools/list",
    )
    mismatch = ask(
        client,
        rpc("tools/list", _meta=META),
        mcp_protocol_version=MODERN,
        mcp_method="tools/call",
    )
    old = ask(client, rpc("tools/forget"))

    assert (method.status, method.json["error"]["code"]) == (404, -32601)
    assert named.json["error"]["code"] == -32602
    assert (version.status, version.json["error"]["code"]) == (400, -32022)
    assert MODERN in version.json["error"]["data"]["supported"]
    assert (mismatch.status, mismatch.json["error"]["code"]) == (400, -32020)
    assert old.json["error"]["code"] == -32601


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_and_no_session_to_end(client: Client, method: str) -> None:
    reply = client.ask(method, "/mcp", headers={"accept": "text/event-stream"})

    assert (reply.status, reply.header("allow")) == (405, "POST")


def test_only_pages_of_our_own_origin_may_ask(client: Client, service: Service) -> None:
    own = f"http://127.0.0.1:{service.port}"

    assert ask(client, rpc("tools/list"), origin=own).status == 200
    for foreign in ("https://evil.example", "null", "http://127.0.0.1:1", "x", own + ".e"):
        reply = ask(client, rpc("tools/list"), origin=foreign)
        assert (reply.status, reply.json["code"]) == (403, "origin_refused")
    behind_proxy = {"host": "recs.example", "origin": "https://recs.example"}
    assert ask(client, rpc("tools/list"), **behind_proxy).status == 200


def test_a_body_is_at_most_64_kib(client: Client) -> None:
    within = rpc("tools/call", name="search_docs", arguments={"query": "a " * 30_000})
    beyond = rpc("tools/call", name="search_docs", arguments={"query": "a " * 33_000})

    assert ask(client, within).status == 200
    assert (ask(client, beyond).status, ask(client, beyond).json["code"]) == (
        413,
        "body_too_large",
    )


def test_a_long_guide_comes_in_parts_that_make_the_whole(client: Client) -> None:
    parts: list[str] = []
    offset: int | None = 0
    total = 0
    while offset is not None:
        part = tool(client, "read_doc", slug="cli", offset=offset)["structuredContent"]
        parts.append(part["markdown"])
        offset, total = part["next_offset"], part["total_chars"]
    whole = "".join(parts)

    assert len(whole) == total
    assert whole.startswith("# Command line")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read_doc", {"slug": "recomendations"}, "recommendations"),
        ("read_doc", {}, "slug"),
        ("read_doc", {"slug": 5}, "slug"),
        ("read_doc", {"slug": "cli", "page": 2}, "page"),
        ("search_docs", {"query": None}, "query"),
        ("list_docs", {"all": True}, "all"),
    ],
)
def test_a_wrong_argument_is_answered_with_what_is_wrong(
    client: Client, name: str, arguments: dict[str, object], words: str
) -> None:
    result = tool(client, name, **arguments)

    assert result["isError"] is True
    assert words in result["content"][0]["text"]


@pytest.mark.parametrize(
    ("query", "slug"),
    [
        ("too_many_items", "errors"),
        ("rotate secret key", "keys"),
        ("what sells right now", "trending"),
        ("nginx proxy", "operations"),
        ("upload csv history", "order-history"),
    ],
)
def test_a_question_finds_its_guide(client: Client, query: str, slug: str) -> None:
    content = tool(client, "search_docs", query=query, limit=3)["structuredContent"]

    assert slug in [one["slug"] for one in content["results"]]
    assert tool(client, "search_docs", query="zzz")["structuredContent"] == {"results": []}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "arguments", "_meta", "slug"]), inner)
    ),
    max_leaves=8,
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    method=st.sampled_from(["initialize", "tools/call", "tools/list", "ping", "", "x"]),
    params=_JSON,
    number=_JSON,
    version=st.sampled_from([None, "2025-11-25", MODERN, "x"]),
)
def test_no_message_brings_the_service_down(
    client: Client, method: str, params: object, number: object, version: str | None
) -> None:
    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    headers = {} if version is None else {"mcp_protocol_version": version}

    reply = ask(client, body, **headers)

    assert reply.status < 500
    assert b"Traceback" not in reply.body


def test_a_whole_ipv6_network_has_one_limit(service: Service) -> None:
    client = service.client()

    def status(address: str) -> int:
        return ask(client, b"no JSON", x_forwarded_for=address).status

    statuses = {status(f"2620:fe:0:1::{number:x}") for number in range(700)}

    assert statuses == {400, 429}
    assert status("2620:fe:0:2::1") == 400
