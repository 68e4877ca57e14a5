"""UCP schemas: is a reply what the protocol's own schemas say?

The models of `ucp-sdk` are made from the schemas of version 2026-08-25. What this service
writes has the same form in both versions.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from ucp_sdk.models.schemas.common.types.error_response import ErrorResponse
from ucp_sdk.models.schemas.profile import BusinessSchema
from ucp_sdk.models.schemas.shopping.catalog_lookup import (
    GetProductResponse,
    LookupResponse,
)
from ucp_sdk.models.schemas.shopping.catalog_search import SearchResponse

_REPLIES: Final = {
    "search": SearchResponse,
    "lookup": LookupResponse,
    "product": GetProductResponse,
}


def check_reply(operation: str, reply: Mapping[str, Any]) -> None:
    """Fail unless an answer has the form of its operation, or of a failure."""
    is_failure = reply["ucp"]["status"] == "error"
    schema = ErrorResponse if is_failure else _REPLIES[operation]
    schema.model_validate_json(json.dumps(reply), strict=True)


def check_refusal(reply: Mapping[str, Any]) -> None:
    """Fail unless the body of an error has what the protocol wants, beside our members."""
    assert reply["ucp"]["status"] == "error"
    assert (reply["code"], reply["content"]) == (
        reply["messages"][0]["code"],
        reply["messages"][0]["content"],
    )
    members = {name: reply[name] for name in ("ucp", "messages")}
    ErrorResponse.model_validate_json(json.dumps(members), strict=True)


def check_profile(profile: Mapping[str, Any]) -> None:
    """Fail unless a profile is that of a business."""
    BusinessSchema.model_validate_json(json.dumps(profile), strict=True)
