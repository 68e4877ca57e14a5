"""Related products: the extension's name is bound to the domain of the installation."""

import pytest

from productrecs.features.assistants.related_products_extension import (
    SCHEMA_PATH,
    SEARCH,
    extension_name,
)
from productrecs.features.assistants.ucp_profile import UcpVersion, build_ucp_profile
from tests.support.ucp_schemas import check_profile

BASE = "https://recs.example.com"


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        (BASE, "com.example.recs.shopping.related_products"),
        ("https://Example.com:8443", "com.example.shopping.related_products"),
        ("http://recs.example.com", None),
        ("https://localhost", None),
        ("https://192.0.2.1", None),
        ("https://[2001:db8::1]", None),
        ("", None),
    ],
)
def test_the_name_begins_with_the_reversed_domain_of_the_schema(
    base_url: str, name: str | None
) -> None:
    assert extension_name(base_url) == name


def test_the_newest_profile_declares_the_extension_where_it_has_a_name() -> None:
    profile = build_ucp_profile(BASE, "shop.example", None)
    check_profile(profile)
    name = extension_name(BASE)

    declared = profile["ucp"]["capabilities"][name][0]

    assert (declared["schema"], declared["extends"]) == (f"{BASE}{SCHEMA_PATH}", SEARCH)
    for base_url, version in ((BASE, UcpVersion.APRIL_2026), ("http://localhost", None)):
        capabilities = build_ucp_profile(base_url, "shop.example", version)["ucp"][
            "capabilities"
        ]
        assert all(one.startswith("dev.ucp.") for one in capabilities)
