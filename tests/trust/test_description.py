"""Is /openapi.json true? Whatever it allows, and what it forbids, is sent to the service.

Every reply must be one that the description names, in the form that it describes, and never
a 5xx but an honest 503.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.openapi.checks import JsonSchemaError
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.routes import TABLE
from tests.support.service import HOST, Merchant, Reply, Service
from tests.trust.forms import violations

if TYPE_CHECKING:
    from schemathesis.schemas import APIOperation

CHECKS: Final = [
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]
# How many cases each way; what costs much to invent has fewer.
CASES: Final = {
    ("GET", "/v1/recommendations"): 100,
    ("GET", "/v1/trending"): 50,
    ("GET", "/v1/search"): 50,
    ("POST", "/v1/events"): 15,
    ("POST", "/v1/items"): 20,
    ("POST", "/v1/orders"): 40,
    ("DELETE", "/v1/items/{item_id}"): 60,
}
FEW: Final = 6
OPERATIONS: Final = sorted(set(TABLE) - {("GET", "/openapi.json")})


@pytest.fixture(scope="module")
def schema(service: Service) -> Any:
    """Return the service's description of itself, read."""
    return schemathesis.openapi.from_dict(service.client().ask("GET", "/openapi.json").json)


def check(
    operation: APIOperation[Any, Any, Any, Any], merchant: Merchant, port: int, cases: int
) -> int:
    """Send that many cases that the description allows, and that it forbids; count them."""
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
        assert wrong == [], (wrong, case.as_curl_command())
        case.validate_response(response, checks=CHECKS)

    quietly = settings(
        max_examples=cases,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    for mode in GenerationMode:
        try:
            quietly(given(operation.as_strategy(generation_mode=mode))(send))()
        except Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE  # nothing is forbidden
    return sent


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_description_of_a_route_holds_for_whatever_comes(
    service: Service, merchant: Merchant, schema: Any, method: str, path: str
) -> None:
    cases = CASES.get((method, path), FEW)

    assert check(schema[path][method], merchant, service.port, cases) > 0


@pytest.mark.trust
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_the_description_of_a_route_holds_at_length(
    service: Service, merchant: Merchant, schema: Any, method: str, path: str
) -> None:
    cases = 20 * CASES.get((method, path), FEW)

    assert check(schema[path][method], merchant, service.port, cases) > 0


def test_control_a_description_that_lies_is_found(
    service: Service, merchant: Merchant
) -> None:
    description = service.client().ask("GET", "/openapi.json").json
    responses = description["paths"]["/v1/trending"]["get"]["responses"]
    product = responses["200"]["content"]["application/json"]["schema"]
    product["properties"]["recommendations"]["minItems"] = 1  # it was never promised
    forgetful = schemathesis.openapi.from_dict(description)["/v1/trending"]["GET"]

    with pytest.raises(FailureGroup) as found:
        check(forgetful, merchant, service.port, cases=20)
    assert [type(failure) for failure in found.value.exceptions] == [JsonSchemaError]
