"""OpenAPI fuzzing: whatever the description allows and forbids is sent.

Every reply must be one that the description names, in the form that it describes, and never
a 5xx but an honest 503.
"""

import json
from typing import Any, Final, NamedTuple

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.openapi.checks import JsonSchemaError
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.routes import TABLE
from tests.support.openapi import examples_of
from tests.support.service import HOST, Merchant, Reply, Service
from tests.trust.forms import violations

MODES: Final = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
CHECKS: Final = [
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]


class Cases(NamedTuple):
    """How many requests are sent that the description allows, and that it forbids."""

    allowed: int
    forbidden: int

    def times(self, factor: int) -> "Cases":
        """Return so many times as many."""
        return Cases(self.allowed * factor, self.forbidden * factor)


# Over 500 in all; the long form sends `LONG` times as many: 100,000 with those of the other
# routes. To forbid in many ways what a large body holds takes a second a case;
# tests/schemas and tests/trust/test_hostile.py send more of that.
CASES: Final = {
    ("GET", "/v1/recommendations"): Cases(60, 60),
    ("GET", "/v1/trending"): Cases(35, 35),
    ("GET", "/v1/search"): Cases(25, 25),
    ("GET", "/v1/widget-config"): Cases(25, 25),
    ("POST", "/v1/events"): Cases(8, 1),
    ("POST", "/v1/items"): Cases(8, 1),
    ("POST", "/v1/orders"): Cases(15, 5),
    ("DELETE", "/v1/items/{item_id}"): Cases(15, 0),
    ("POST", "/orders/upload"): Cases(12, 12),
    ("GET", "/orders/upload/{upload_id}"): Cases(15, 0),
    ("POST", "/integration/connect"): Cases(15, 15),
    ("GET", "/integration/widget-config"): Cases(15, 15),
    ("PUT", "/integration/widget-config"): Cases(8, 1),
    ("PUT", "/integration/recommender-settings"): Cases(15, 15),
    ("POST", "/integration/engines/init"): Cases(15, 15),
    ("POST", "/mcp"): Cases(20, 20),
}
FEW: Final = Cases(2, 2)
LONG: Final = 140
LONGEST_LIST: Final = 3
OPERATIONS: Final = sorted(TABLE)


@pytest.fixture(scope="module")
def schema(service: Service) -> Any:
    """Return the service's description of itself, read."""
    return read(service.client().ask("GET", "/openapi.json").json)


def read(description: dict[str, Any]) -> Any:
    """Return a description to send from: keys are ours, and lists are short.

    Inventing a long list costs a thousand times what a short one does; how long they may be
    is tested where they are read.
    """
    found = schemathesis.openapi.from_dict(_with_short_lists(description))
    found.config.generation.with_security_parameters = False
    return found


def undescribed(operation: dict[str, Any], status: int, body: bytes) -> list[str]:
    """Return the code of a refusal that its operation does not show."""
    try:
        code = json.loads(body).get("code")
    except (ValueError, AttributeError):
        return []
    shown = operation["responses"].get(str(status), {}).get("content", {})
    known = [
        value.get("code")
        for media in shown.values()
        for value in examples_of(media)
        if isinstance(value, dict)
    ]
    return [f"{status} {code} is not shown"] if code and code not in known else []


def _with_short_lists(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_short_lists(one) for one in value]
    if not isinstance(value, dict):
        return value
    most = {"maxItems": LONGEST_LIST} if isinstance(value.get("maxItems"), int) else {}
    return {name: _with_short_lists(one) for name, one in value.items()} | most


def check(
    operation: APIOperation[Any, Any, Any, Any], merchant: Merchant, port: int, cases: Cases
) -> int:
    """Send that many cases, and look at every reply; return how many there were."""
    keys = {"x-pub-key": merchant.account.publishable, "x-api-key": merchant.account.secret}
    sent = 0

    def send(case: Case[Any]) -> None:
        nonlocal sent
        sent += 1
        response = case.call(base_url=f"http://{HOST}:{port}", headers=keys)
        headers = [
            (name, value) for name, values in response.headers.items() for value in values
        ]
        wrong = violations(Reply(response.status_code, headers, response.content))
        wrong += undescribed(
            operation.definition.raw, response.status_code, response.content
        )
        assert wrong == [], (wrong, case.as_curl_command())
        case.validate_response(response, checks=CHECKS)

    for mode, count in zip(MODES, cases, strict=True):
        if count == 0 or (mode is GenerationMode.NEGATIVE and _takes_any_path(operation)):
            continue
        quietly = settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        try:
            quietly(given(operation.as_strategy(generation_mode=mode))(send))()
        except Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE  # nothing is forbidden
    return sent


def _takes_any_path(operation: APIOperation[Any, Any, Any, Any]) -> bool:
    """Tell whether a call has only texts of its path, so that nothing is forbidden.

    Looking for what is would take Hypothesis half a second.
    """
    described = operation.definition.raw
    places = {parameter["in"] for parameter in described.get("parameters", ())}
    return places == {"path"} and "requestBody" not in described


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_description_of_a_route_holds_for_whatever_comes(
    service: Service, merchant: Merchant, schema: Any, method: str, path: str
) -> None:
    cases = CASES.get((method, path), FEW)

    sent = check(schema[path][method], merchant, service.port, cases)

    assert sent >= (sum(cases) if (method, path) in CASES else 1)


def test_over_five_hundred_cases_are_sent() -> None:
    assert sum(map(sum, CASES.values())) > 500
    assert LONG * sum(sum(CASES.get(one, FEW)) for one in OPERATIONS) >= 100_000


@pytest.mark.trust
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_description_of_a_route_holds_at_length(
    service: Service, merchant: Merchant, schema: Any, method: str, path: str
) -> None:
    cases = CASES.get((method, path), FEW).times(LONG)

    assert check(schema[path][method], merchant, service.port, cases) > 0


def test_control_a_code_that_is_not_shown_is_found() -> None:
    example = {"code": "key_missing"}
    operation = {"responses": {"401": {"content": {"a/b": {"example": example}}}}}

    assert undescribed(operation, 401, b'{"code": "key_missing"}') == []
    assert undescribed(operation, 401, b'{"code": "odd"}') == ["401 odd is not shown"]
    assert undescribed(operation, 400, b'{"code": "key_missing"}') != []


def test_control_a_wrong_description_is_found(service: Service, merchant: Merchant) -> None:
    description = service.client().ask("GET", "/openapi.json").json
    responses = description["paths"]["/v1/trending"]["get"]["responses"]
    media = responses["200"]["content"]["application/json"]
    never_promised = {"properties": {"recommendations": {"minItems": 1}}}
    media["schema"] = {"allOf": [media["schema"], never_promised]}
    forgetful = read(description)["/v1/trending"]["GET"]

    with pytest.raises(FailureGroup) as found:
        check(forgetful, merchant, service.port, cases=Cases(20, 0))
    assert [type(failure) for failure in found.value.exceptions] == [JsonSchemaError]
