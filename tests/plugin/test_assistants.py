"""Does the shop itself say where assistants find its catalog?"""

import pytest

from tests.plugin.shop import address, in_shop, nowhere
from tests.support.service import Service, switch_on_assistants
from tests.support.ucp_schemas import check_profile

ASKED = "$_SERVER['REQUEST_URI'] = '/.well-known/ucp?x=1';"
SERVE = "do_action('parse_request'); $result = 'no such page';"  # nothing after a profile
OFF = "array('assistants' => 0)"
PROFILE = "ProductRecs\\Assistants::profile()"


def test_the_shop_serves_the_profile_of_its_own_store(service: Service) -> None:
    merchant = service.register("shop.example")
    switch_on_assistants(merchant.account)

    profile = in_shop(SERVE, address(service), merchant, before=ASKED)

    check_profile(profile)
    endpoint = profile["ucp"]["services"]["dev.ucp.shopping"][0]["endpoint"]
    assert endpoint.startswith(f"{address(service)}/ucp/shop.example/")


@pytest.mark.parametrize(
    ("is_allowed", "path", "settings"),
    [
        (False, "/.well-known/ucp", "array()"),
        (True, "/.well-known/ucp", OFF),
        (True, "/.well-known/other", "array()"),
    ],
)
def test_what_is_not_allowed_is_no_page(
    service: Service, *, is_allowed: bool, path: str, settings: str
) -> None:
    merchant = service.register()
    if is_allowed:
        switch_on_assistants(merchant.account)
    request = f"$_SERVER['REQUEST_URI'] = '{path}';"
    store = (
        f"ProductRecs\\Settings::change(array('domain' => '{merchant.account.domain}'));"
    )

    shown = in_shop(
        store + SERVE, address(service), merchant, before=request, settings=settings
    )

    assert shown == "no such page"


@pytest.mark.parametrize("is_up", [True, False])
def test_the_service_is_asked_once_in_a_while(service: Service, *, is_up: bool) -> None:
    merchant = service.register()
    switch_on_assistants(merchant.account)
    script = f"""
        ProductRecs\\Settings::change(array('domain' => '{merchant.account.domain}'));
        $first = {PROFILE}; $again = {PROFILE};
        $result = array('' !== $first, $first === $again, count($calls), $waits[0]);"""

    result = in_shop(script, address(service) if is_up else nowhere(), merchant)

    assert result == [is_up, True, 1, 1]
