"""Related products extension: what we add to the protocol's catalog search.

A search may ask for products like a product or a photo, for what is bought together with
products, or for the look of a product. The protocol binds an extension's name to the domain
that serves its schema, so the name begins with the domain of this installation.
"""

from __future__ import annotations

import ipaddress
from typing import Any, Final
from urllib.parse import urlsplit

SCHEMA_PATH: Final = "/ucp-schemas/related-products.json"
GUIDE_PATH: Final = "/guides/shopping-assistants#related-products"
EXTENSION_VERSION: Final = "2026-11-29"
"""The version of the extension: the date of its last change."""

SEARCH: Final = "dev.ucp.shopping.catalog.search"
MAX_COMPLEMENTED: Final = 20
"""The most products whose complements one call asks for."""

_BASE: Final = "https://ucp.dev/2026-08-25/schemas/shopping/catalog_search.json#/$defs/"
_ID: Final = {"type": "string", "description": "The id of a product or a variant."}


def extension_name(base_url: str) -> str | None:
    """Return the extension's name; None where the protocol allows none.

    It needs HTTPS and a domain of at least two labels.
    """
    parts = urlsplit(base_url)
    labels = (parts.hostname or "").rstrip(".").split(".")
    try:
        ipaddress.ip_address(parts.hostname or "")
    except ValueError:
        if parts.scheme == "https" and len(labels) > 1:
            return ".".join([*reversed(labels), "shopping", "related_products"])
    return None


def extension_declaration(base_url: str) -> dict[str, str]:
    """Return what a profile declares of the extension."""
    return {
        "version": EXTENSION_VERSION,
        "spec": f"{base_url}{GUIDE_PATH}",
        "schema": f"{base_url}{SCHEMA_PATH}",
        "extends": SEARCH,
    }


def extension_schema(base_url: str) -> dict[str, Any]:
    """Return the extension's JSON Schema."""
    name = extension_name(base_url)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{base_url}{SCHEMA_PATH}",
        **({"name": name} if name else {}),
        "version": EXTENSION_VERSION,
        "title": "Related products",
        "description": "Catalog search by a product, a photo, what is bought together, or "
        "a look.",
        "requires": {"protocol": {"min": "2026-04-08"}},
        "$defs": {
            **RELATED_INPUTS,
            "look": _LOOK,
            "search_request": {
                "title": "Search request with related products",
                "allOf": [{"$ref": f"{_BASE}search_request"}, _REQUEST],
            },
            "search_response": {
                "title": "Search response with looks",
                "allOf": [{"$ref": f"{_BASE}search_response"}, _RESPONSE],
            },
            SEARCH: {
                "title": "Catalog search with related products",
                "anyOf": [
                    {"$ref": "#/$defs/search_response"},
                    {"$ref": "#/$defs/search_request"},
                ],
            },
        },
    }


_LIKE: Final = {
    "type": "object",
    "description": "Products like this one, most similar first: `id` or `image`.",
    "properties": {
        "id": _ID,
        "image": {
            "type": "string",
            "description": "A photo in base64, up to 10 MiB: JPEG, PNG, WebP, AVIF or GIF.",
        },
    },
    "oneOf": [{"required": ["id"]}, {"required": ["image"]}],
}
_COMPLEMENTS: Final = {
    "type": "object",
    "description": "Products that orders contain together with these beyond chance.",
    "required": ["ids"],
    "properties": {
        "ids": {
            "type": "array",
            "items": _ID,
            "minItems": 1,
            "maxItems": MAX_COMPLEMENTED,
        }
    },
}
_LOOKS: Final = {
    "type": "object",
    "description": "The products of the look that the page of this product shows.",
    "required": ["id"],
    "properties": {"id": _ID},
}
RELATED_INPUTS: Final = {"like": _LIKE, "complements": _COMPLEMENTS, "looks": _LOOKS}
"""What a search may have in place of a query, by name, as JSON Schema."""
_LOOK: Final = {
    "type": "object",
    "description": "A picture with products in it.",
    "required": ["id", "title", "image_url", "hotspots"],
    "properties": {
        "id": {"type": "string"},
        "title": {"type": "string"},
        "image_url": {"type": "string"},
        "hotspots": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["label", "box", "variant_id"],
                "properties": {
                    "label": {"type": "string"},
                    "box": {
                        "type": "array",
                        "description": "Left, top, width and height, as fractions.",
                        "items": {"type": "number", "minimum": 0, "maximum": 1},
                        "minItems": 4,
                        "maxItems": 4,
                    },
                    "variant_id": {
                        "type": "string",
                        "description": "A variant of one of the response's products.",
                    },
                },
            },
        },
    },
}
_REQUEST: Final = {
    "type": "object",
    "description": "Each of these takes the place of `query`; filters hold as well.",
    "properties": {name: {"$ref": f"#/$defs/{name}"} for name in RELATED_INPUTS},
    "not": {
        "anyOf": [
            {"required": ["like", "complements"]},
            {"required": ["like", "looks"]},
            {"required": ["complements", "looks"]},
        ]
    },
}
_RESPONSE: Final = {
    "type": "object",
    "properties": {
        "looks": {
            "type": "array",
            "description": "The look that was asked for; empty if the product has none.",
            "items": {"$ref": "#/$defs/look"},
        }
    },
}
