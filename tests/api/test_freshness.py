"""Freshness: an event changes everybody's lists within a minute."""

import time
from pathlib import Path
from typing import Final

from tests.support.service import Merchant, Service, eventually

MINUTE: Final = 60.0


def test_everybodys_lists_change_within_a_minute_without_any_call(service: Service) -> None:
    merchant = service.register()
    merchant.push(*({"id": f"i{n}"} for n in range(8)))
    everywhere = service.everywhere(merchant)
    assert everywhere[0].trending().ids[-1] == "i0"
    began = time.monotonic()

    for n in range(6):
        merchant.order(f"o{n}", "i0", "i1", user_id=f"c{n}")

    eventually(lambda: all(_has_learned(there) for there in everywhere), MINUTE, pause=0.2)
    assert time.monotonic() - began < MINUTE


def _has_learned(merchant: Merchant) -> bool:
    together = merchant.recommend(source="buy", item_id="i0").ids
    return together == ["i1"] and set(merchant.trending(num=2).ids) == {"i0", "i1"}


def test_control_without_a_background_nothing_is_learned(data_folder: Path) -> None:
    with Service(data_folder, command="api").prepare() as service:
        merchant = service.register()
        merchant.push({"id": "i0"}, {"id": "i1"})
        for n in range(6):
            merchant.order(f"o{n}", "i0", "i1", user_id=f"c{n}")
        time.sleep(2)

        assert merchant.recommend(source="buy", item_id="i0").ids == []
        service.train(merchant)
        eventually(lambda: merchant.recommend(source="buy", item_id="i0").ids == ["i1"])
