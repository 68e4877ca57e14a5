"""Connect: idempotent, and the first platform stays."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from productrecs.core.clock import system_ms
from productrecs.core.timestamps import parse_timestamp
from tests.http.routes.integration.conftest import System


@pytest.mark.parametrize("body", [..., {}, None, {"platform": None}])
def test_nothing_need_be_said(system: System, body: object) -> None:
    before = system_ms()

    said = system.post("connect", body)

    assert list(said) == [
        "ok",
        "platform",
        "plugin_version",
        "store_url",
        "first_connected_at",
        "domain",
    ]
    assert (said["ok"], said["platform"]) == (True, "woocommerce")
    assert (said["plugin_version"], said["store_url"]) == (None, None)
    assert before <= parse_timestamp(said["first_connected_at"]) <= system_ms()


def test_blanks_are_no_body(system: System) -> None:
    reply = system.inside.ask(
        "POST", "/integration/connect", b" \r\n", system.merchant.server
    )

    assert (reply.status, reply.json["platform"]) == (200, "woocommerce")


def test_the_same_twice_is_answered_the_same(system: System) -> None:
    said = {"platform": "magento", "plugin_version": "2.1", "store_url": "https://a.b"}

    first, second = system.post("connect", said), system.post("connect", said)

    assert first == second
    assert said.items() <= first.items()


def test_a_platform_named_first_is_kept_and_shown(system: System) -> None:
    system.post("connect", {"store_url": "https://a.b"})
    first = system.post("connect", {"platform": "prestashop"})
    second = system.post("connect", {"platform": "magento", "plugin_version": "9"})
    last = system.post("connect")

    assert (first["platform"], second["platform"]) == ("prestashop", "prestashop")
    assert second["first_connected_at"] == first["first_connected_at"]
    assert (last["platform"], last["plugin_version"]) == ("prestashop", "9")
    assert last["store_url"] == "https://a.b"
    assert system.get("status")["platform"] == "prestashop"


def test_woocommerce_named_is_kept_as_any_other(system: System) -> None:
    system.post("connect", {"platform": "woocommerce"})

    assert system.post("connect", {"platform": "custom"})["platform"] == "woocommerce"


def test_another_platform_is_refused_and_nothing_stored(system: System) -> None:
    reply = system.call("POST", "connect", {"platform": "else", "plugin_version": "1"})

    assert reply.status == 422
    assert reply.json["detail"][0]["loc"] == ["body", "platform"]
    assert system.get("status")["first_connected_at"] is None


def test_the_reply_names_the_store_of_both_keys(system: System) -> None:
    account = system.merchant.account

    said = system.post("connect", {"publishable_key": account.publishable})

    assert said["domain"] == account.domain


def test_the_publishable_key_of_another_store_is_refused(
    system: System, other: System
) -> None:
    key = other.merchant.account.publishable

    reply = system.call("POST", "connect", {"publishable_key": key})

    (problem,) = reply.json["detail"]
    assert (reply.status, problem["type"]) == (422, "other_store")
    assert problem["loc"] == ["body", "publishable_key"]
    assert key not in reply.body.decode()
    assert system.get("status")["first_connected_at"] is None


def test_stores_connect_for_themselves(system: System, other: System) -> None:
    system.post("connect", {"platform": "opencart"})

    assert other.get("status")["platform"] is None
    assert other.post("connect")["platform"] == "woocommerce"


def test_of_many_at_once_one_platform_wins_for_good(system: System) -> None:
    platforms = ["woocommerce", "prestashop", "magento", "opencart", "custom"] * 3

    def connect(platform: str) -> tuple[str, str]:
        body = system.post("connect", {"platform": platform})
        return body["platform"], body["first_connected_at"]

    with ThreadPoolExecutor(8) as threads:
        replies = set(threads.map(connect, platforms))

    assert len(replies) == 1
    assert system.get("status")["platform"] == replies.pop()[0]
