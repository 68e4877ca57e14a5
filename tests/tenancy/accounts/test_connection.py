"""Does a store keep the first platform that was named, and the first moment?"""

from __future__ import annotations

from productrecs.tenancy.accounts.connection import Connection, Introduction, Platform

NOON, LATER = 1_000, 2_000


def test_nothing_said_is_the_first_platform_of_the_list() -> None:
    connection = Connection().connected(Introduction(), NOON)

    assert connection == Connection(
        Platform.WOOCOMMERCE, platform_chosen=False, first_connected_at=NOON
    )


def test_the_same_said_twice_changes_nothing() -> None:
    said = Introduction(Platform.MAGENTO, "1.2", "https://shop.example")
    once = Connection().connected(said, NOON)

    assert once.connected(said, LATER) == once


def test_a_named_platform_takes_the_place_of_the_default() -> None:
    connection = Connection().connected(Introduction(), NOON)

    connection = connection.connected(Introduction(Platform.PRESTASHOP), LATER)

    assert connection.platform is Platform.PRESTASHOP
    assert connection.first_connected_at == NOON


def test_the_first_named_platform_stays() -> None:
    for first in Platform:
        connection = Connection().connected(Introduction(first), NOON)
        for other in (*Platform, None):
            later = connection.connected(Introduction(other), LATER)

            assert later.platform is first


def test_what_is_left_unsaid_stays_and_what_is_said_is_news() -> None:
    connection = Connection().connected(
        Introduction(None, "1.0", "https://old.example"), NOON
    )

    connection = connection.connected(Introduction(plugin_version="1.1"), LATER)

    assert connection.plugin_version == "1.1"
    assert connection.store_url == "https://old.example"


def test_an_address_alone_is_no_connection() -> None:
    connection = Connection().reached_at("https://shop.example")

    assert connection == Connection(store_url="https://shop.example")
    assert connection.reached_at(None) == connection
