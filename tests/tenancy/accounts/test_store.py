"""Shop connection: the first platform and the first time stay."""

from __future__ import annotations

from productrecs.tenancy.accounts.store import (
    PluginDetails,
    ShopConnection,
    ShopPlatform,
)

NOON, LATER = 1_000, 2_000


def test_without_a_platform_it_is_the_first_of_the_list() -> None:
    connection = ShopConnection().with_plugin_details(PluginDetails(), NOON)

    assert connection == ShopConnection(
        ShopPlatform.WOOCOMMERCE, platform_chosen=False, first_connected_at=NOON
    )


def test_the_same_details_sent_twice_change_nothing() -> None:
    said = PluginDetails(ShopPlatform.MAGENTO, "1.2", "https://shop.example")
    once = ShopConnection().with_plugin_details(said, NOON)

    assert once.with_plugin_details(said, LATER) == once


def test_a_named_platform_takes_the_place_of_the_default() -> None:
    connection = ShopConnection().with_plugin_details(PluginDetails(), NOON)

    connection = connection.with_plugin_details(
        PluginDetails(ShopPlatform.PRESTASHOP), LATER
    )

    assert connection.platform is ShopPlatform.PRESTASHOP
    assert connection.first_connected_at == NOON


def test_the_first_named_platform_stays() -> None:
    for first in ShopPlatform:
        connection = ShopConnection().with_plugin_details(PluginDetails(first), NOON)
        for other in (*ShopPlatform, None):
            later = connection.with_plugin_details(PluginDetails(other), LATER)

            assert later.platform is first


def test_details_that_are_left_out_stay_as_they_were() -> None:
    connection = ShopConnection().with_plugin_details(
        PluginDetails(None, "1.0", "https://old.example"), NOON
    )

    connection = connection.with_plugin_details(PluginDetails(plugin_version="1.1"), LATER)

    assert connection.plugin_version == "1.1"
    assert connection.store_url == "https://old.example"


def test_an_address_alone_is_no_connection() -> None:
    connection = ShopConnection().with_store_url("https://shop.example")

    assert connection == ShopConnection(store_url="https://shop.example")
    assert connection.with_store_url(None) == connection
