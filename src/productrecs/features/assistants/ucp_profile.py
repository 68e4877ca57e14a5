"""UCP profile: what a store declares to shopping assistants, and the envelope of replies.

The Universal Commerce Protocol (https://ucp.dev) names a version by its date. The address
that an assistant calls has the version, so that no reply depends on a profile that this
service would have to fetch from the assistant's platform.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from productrecs.core.errors import ProductRecsError
from productrecs.features.assistants.related_products_extension import (
    EXTENSION_VERSION,
    SEARCH,
    extension_declaration,
    extension_name,
)

_LOOKUP: Final = "dev.ucp.shopping.catalog.lookup"
_SPECIFICATION: Final = "https://ucp.dev"
PROFILE_FILE: Final = ".well-known/ucp"


class UnknownAssistantCatalogError(ProductRecsError):
    """There is no catalog for assistants at an address: it is off, or wrong."""


class UcpVersion(StrEnum):
    """A version of the protocol, the newest first."""

    AUGUST_2026 = "2026-08-25"
    APRIL_2026 = "2026-04-08"


NEWEST: Final = UcpVersion.AUGUST_2026
_CATALOG_PAGES: Final = {
    UcpVersion.AUGUST_2026: "specification/shopping/catalog",
    UcpVersion.APRIL_2026: "specification/catalog",
}


class CatalogOperation(StrEnum):
    """An operation of the catalog, by its name as an MCP tool."""

    SEARCH = "search_catalog"
    LOOKUP = "lookup_catalog"
    PRODUCT = "get_product"

    @property
    def capability(self) -> str:
        """The capability that the operation belongs to."""
        return SEARCH if self is CatalogOperation.SEARCH else _LOOKUP


def catalog_path(domain: str, version: UcpVersion | None = None) -> str:
    """Return the path under which a store's catalog for assistants is."""
    return f"/ucp/{domain}/{version}" if version else f"/ucp/{domain}"


def build_ucp_profile(
    base_url: str, domain: str, version: UcpVersion | None
) -> dict[str, Any]:
    """Return the profile of a store; `version` None also names the older versions."""
    described = version or NEWEST
    ucp: dict[str, Any] = {"version": described.value}
    if version is None:
        ucp["supported_versions"] = {
            older.value: f"{base_url}{catalog_path(domain, older)}/{PROFILE_FILE}"
            for older in UcpVersion
            if older is not NEWEST
        }
    endpoint = base_url + catalog_path(domain, described)
    ucp["services"] = {
        "dev.ucp.shopping": [
            _service_entry(described, "rest", endpoint, "rest.openapi.json"),
            _service_entry(described, "mcp", f"{endpoint}/mcp", "mcp.openrpc.json"),
        ]
    }
    ucp["capabilities"] = {
        SEARCH: [_capability_entry(described, "search", "catalog_search.json")],
        _LOOKUP: [_capability_entry(described, "lookup", "catalog_lookup.json")],
    }
    name = extension_name(base_url)
    if name and described is NEWEST:  # the older binds names to domains of two labels
        ucp["capabilities"][name] = [extension_declaration(base_url)]
    ucp["payment_handlers"] = {}
    return {"ucp": ucp}


def _service_entry(
    version: UcpVersion, transport: str, endpoint: str, schema: str
) -> dict[str, str]:
    base = f"{_SPECIFICATION}/{version}"
    return {
        "version": version.value,
        "spec": f"{base}/specification/overview",
        "transport": transport,
        "endpoint": endpoint,
        "schema": f"{base}/services/shopping/{schema}",
    }


def _capability_entry(version: UcpVersion, page: str, schema: str) -> dict[str, str]:
    base = f"{_SPECIFICATION}/{version}"
    return {
        "version": version.value,
        "spec": f"{base}/{_CATALOG_PAGES[version]}/{page}",
        "schema": f"{base}/schemas/shopping/{schema}",
    }


def ucp_reply_member(
    version: UcpVersion, operation: CatalogOperation, extension: str | None = None
) -> dict[str, Any]:
    """Return the `ucp` member of a reply; `extension` names the one that it uses."""
    capabilities = {operation.capability: [{"version": version.value}]}
    if extension and version is NEWEST:
        capabilities[extension] = [{"version": EXTENSION_VERSION}]
    return {"version": version.value, "status": "success", "capabilities": capabilities}


def failure_reply(
    version: UcpVersion, operation: CatalogOperation, code: str, content: str
) -> dict[str, Any]:
    """Return the reply to a call that is right, but has no result."""
    message = {
        "type": "error",
        "code": code,
        "content": content,
        "severity": "unrecoverable",
    }
    ucp = ucp_reply_member(version, operation) | {"status": "error"}
    return {"ucp": ucp, "messages": [message]}
