"""Does the catalog for shopping assistants keep the protocol's rules, in both versions?

`spck-conformance` asks a running service, by REST and by MCP.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.service import HOST, Merchant, Service, eventually, switch_on_assistants
from tests.support.ucp_schemas import check_profile, check_refusal, check_reply

VERSIONS: Final = ("2026-08-25", "2026-04-08")
LAMPS: Final = 25
NEED_CHECKOUT: Final = {
    "2026-08-25": set(),
    "2026-04-08": {
        "checkout.deterministic_logic",
        "checkout.idempotency_conflict",
        "checkout.protocol_error_shape",
        "payment.handler_id_validated",
        "response.capabilities_relevant",
        "response.content_type_json",
        "response.envelope_every_response",
        "signals.attribution_no_effect",
    },
}
"""Checks that post to /checkout-sessions even if the profile has no checkout, as here."""

LEAST_PASSED: Final = {"2026-08-25": 20, "2026-04-08": 30}
MCP_CHECKS: Final = {"mcp.catalog_search", "mcp.catalog_lookup"}


@pytest.fixture(scope="module")
def merchant(service: Service) -> Merchant:
    """Return a store with a product in two colours and more lamps than a page has."""
    created = service.register()
    switch_on_assistants(created.account)
    shared = {"price": 20, "product_url": "/p", "image_url": "/i.jpg"}
    shirts = [
        shared | {"id": f"shirt-{color}", "title": "Linen shirt", "color": [color]}
        for color in ("Blue", "Red")
    ]
    lamps = [shared | {"id": f"lamp-{n}", "title": f"Lamp {n}"} for n in range(LAMPS)]
    assert created.push(*shirts, *lamps).status == 200
    eventually(lambda: len(search(created, VERSIONS[0]).get("products", [])) == 10)
    return created


def search(merchant: Merchant, version: str) -> dict[str, Any]:
    path = f"/ucp/{merchant.account.domain}/{version}/catalog/search"
    body = json.dumps({"query": "lamp"}).encode()
    found: dict[str, Any] = merchant.client.ask("POST", path, body, {}).json
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_the_conformance_runner_finds_no_broken_rule(
    service: Service, merchant: Merchant, version: str, tmp_path: Path
) -> None:
    catalog = {
        "variant_id": "shirt-Blue",
        "configurable_product_id": "variants-of:shirt-Blue",
        "paginated_query": "lamp",
        "paginated_total": LAMPS,
        "max_batch": 50,
    }
    config = tmp_path / "merchant.json"
    config.write_text(json.dumps({"product_id": "shirt-Blue", "catalog": catalog}))
    base = f"http://{HOST}:{service.port}/ucp/{merchant.account.domain}/{version}"
    command = [sys.executable, "-m", "spck_conformance.cli", "--server", base, "--json"]

    run = subprocess.run(
        [*command, "--config", config], capture_output=True, text=True, check=False
    )

    report = json.loads(run.stdout)
    assert report["spec_version"] == version
    checks = {check["id"]: check for check in report["checks"]}
    broken = {
        name: check["observed"]
        for name, check in checks.items()
        if check["status"] == "deviation"
    }
    assert broken.keys() == NEED_CHECKOUT[version], broken
    assert {seen["status"] for seen in broken.values()} <= {404}
    assert not any("checkout" in one for one in report["capabilities"])
    passed = {name for name, check in checks.items() if check["status"] == "clean-pass"}
    assert len(passed) >= LEAST_PASSED[version]
    assert passed >= MCP_CHECKS


@pytest.mark.parametrize("version", VERSIONS)
def test_every_error_carries_the_envelope_of_its_version(
    service: Service, merchant: Merchant, version: str
) -> None:
    off = service.register().account.domain
    calls = {
        400: (merchant.account.domain, {}),
        404: (off, {}),
        415: (merchant.account.domain, {"content-encoding": "gzip"}),
    }
    for status, (domain, headers) in calls.items():
        path = f"/ucp/{domain}/{version}/catalog/search"
        reply = merchant.client.ask("POST", path, b"{}", headers)
        assert (reply.status, reply.json["ucp"]["version"]) == (status, version)
        check_refusal(reply.json)


def test_profiles_have_the_form_of_the_protocol(merchant: Merchant) -> None:
    for folder in ("", *(f"/{version}" for version in VERSIONS)):
        path = f"/ucp/{merchant.account.domain}{folder}/.well-known/ucp"
        check_profile(merchant.client.ask("GET", path, None, {}).json)


@pytest.mark.parametrize(
    "broken",
    [
        {"products": [{"id": "lamp-1"}]},
        {"ucp": {"status": "success"}},
        {"pagination": {"has_next_page": "no"}},
    ],
    ids=str,
)
def test_the_schemas_refuse_another_form(
    merchant: Merchant, broken: dict[str, Any]
) -> None:
    reply = search(merchant, VERSIONS[0])
    check_reply("search", reply)

    with pytest.raises(ValueError, match="validation error"):
        check_reply("search", reply | broken)
