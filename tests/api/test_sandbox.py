"""Test stores: all features of a store, no billing, and emptied by one command."""

import json
from dataclasses import replace
from typing import Any

from tests.support.service import Account, Merchant, Service, eventually


def opened(service: Service, merchant: Merchant, *words: str) -> dict[str, Any]:
    """Return what `store sandbox` tells of the store's test store."""
    printed = service.run("store", "sandbox", merchant.account.domain, *words, "--json")
    sandbox: dict[str, Any] = json.loads(printed)
    return sandbox


def test_what_is_tried_in_a_test_store_is_gone_after_a_reset_and_its_keys_stay(
    service: Service, merchant: Merchant
) -> None:
    assert merchant.push({"id": "real", "title": "Real"}).status == 200
    service.run("settings", merchant.account.domain, "rec_num=3")
    sandbox = opened(service, merchant)
    account = Account(
        sandbox["store_id"],
        sandbox["domain"],
        sandbox["publishable_key"],
        sandbox["secret_key"],
    )
    tried = Merchant(account, merchant.client)

    assert tried.push(*({"id": f"i{n}", "title": "Tent"} for n in range(5))).status == 200
    assert tried.order("1", "i1", "i2").status == 200
    eventually(lambda: len(tried.trending().ids) == 3)  # the setting of its store
    emptied = opened(service, merchant, "--reset")
    # The command ends once every process knows, if none is very busy.
    eventually(lambda: tried.trending().json == {"recommendations": []})
    eventually(lambda: tried.push({"id": "i9"}).status == 200)

    assert emptied["publishable_key"] == account.publishable
    assert emptied["catalog_items"] == 0
    assert tried.push({"id": "i9"}).json["total"] == 1
    assert tried.order("1", "i9").json["duplicate"] is False
    assert merchant.trending().ids == ["real"]


def test_a_test_stores_keys_say_so_and_open_nothing_of_the_store(
    service: Service, merchant: Merchant
) -> None:
    sandbox = opened(service, merchant)
    assert sandbox["domain"] == f"test.{merchant.account.domain}"
    assert sandbox["publishable_key"].startswith("pk_test_")
    assert sandbox["secret_key"].startswith("sk_test_")

    mixed = replace(merchant.account, publishable=sandbox["publishable_key"])
    script = merchant.client.ask("GET", f"/widget/v1/{sandbox['domain']}.js")

    assert merchant.push({"id": "real"}).status == 200
    assert Merchant(mixed, merchant.client).trending().ids == []
    assert sandbox["publishable_key"].encode() in script.body
