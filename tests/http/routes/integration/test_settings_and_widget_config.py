"""Recommendation settings: changed one by one, and replies follow."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from productrecs.tenancy.accounts.store_management import change_settings, find_store
from tests.http.routes.integration.conftest import System
from tests.support.service import eventually, kept_once

PATH = "recommender-settings"


def test_a_new_store_has_the_defaults(system: System) -> None:
    assert system.get(PATH) == {"rec_num": 8, "allow_repeat_recommendations": False}


def test_what_is_not_sent_stays(system: System) -> None:
    assert system.put(PATH, {"rec_num": 3}) == {
        "rec_num": 3,
        "allow_repeat_recommendations": False,
    }
    updated = system.put(PATH, {"allow_repeat_recommendations": True})

    assert updated == {"rec_num": 3, "allow_repeat_recommendations": True}
    assert system.get(PATH) == system.put(PATH, {}) == updated


def test_null_returns_to_the_default(system: System) -> None:
    system.put(PATH, {"rec_num": 3, "allow_repeat_recommendations": True})

    assert system.put(PATH, {"rec_num": None})["rec_num"] == 8
    assert system.get(PATH)["allow_repeat_recommendations"] is True


@pytest.mark.parametrize(
    ("sent", "kept"), [(1, 1), (20, 20), ("7", 7), (7.0, 7), ("7.0", 7)]
)
def test_a_number_from_1_to_20_is_stored(system: System, sent: object, kept: int) -> None:
    assert system.put(PATH, {"rec_num": sent, "else": 1})["rec_num"] == kept


@pytest.mark.parametrize("num", [0, 21, -1, 10**30, 2.5, "x", True, [8]])
def test_a_number_outside_1_to_20_is_refused(system: System, num: object) -> None:
    body = {"rec_num": num, "allow_repeat_recommendations": True}

    reply = system.call("PUT", PATH, body)

    assert reply.status == 422
    assert [one["loc"] for one in reply.json["detail"]] == [["body", "rec_num"]]
    assert system.get(PATH) == {"rec_num": 8, "allow_repeat_recommendations": False}


@pytest.mark.parametrize(
    ("said", "kept"),
    [(1, True), ("1", True), ("true", True), (1.0, True), (0, False), ("off", False)],
)
def test_a_switch_is_read_as_addresses_say_it(
    system: System, said: object, kept: object
) -> None:
    system.put(PATH, {"allow_repeat_recommendations": not kept})
    updated = system.put(PATH, {"allow_repeat_recommendations": said})
    assert updated["allow_repeat_recommendations"] is kept


@pytest.mark.parametrize("said", [2, -1, 0.5, "", "perhaps", [], [True], {}])
def test_what_is_no_switch_is_refused(system: System, said: object) -> None:
    reply = system.call("PUT", PATH, {"allow_repeat_recommendations": said})
    assert reply.status == 422
    assert reply.json["detail"][0]["loc"] == ["body", "allow_repeat_recommendations"]


def test_they_are_the_settings_of_the_command_line(system: System) -> None:
    database = system.services.database
    system.put(PATH, {"rec_num": 3})
    store = find_store(database, system.merchant.account.domain)
    assert store.settings.rec_num == 3

    change_settings(database, store, {"rec_num": "4", "currency": "USD"})

    assert system.get(PATH)["rec_num"] == 4
    system.put(PATH, {"rec_num": None})
    assert find_store(database, store.domain).settings.currency == "USD"


def test_a_reply_holds_as_many_products_within_a_second(system: System) -> None:
    system.merchant.push(*({"id": f"item-{number}"} for number in range(12)))
    assert len(system.merchant.trending().ids) == 8

    numbers = iter((5, 4, 3))

    def change() -> float:
        number = next(numbers)
        system.put(PATH, {"rec_num": number})
        return eventually(lambda: len(system.merchant.trending().ids) == number, 20)

    assert kept_once(change, 1.0)
    shown = len(system.merchant.trending().ids)
    assert system.widget()["settings"]["num"] == shown < 8


def test_what_was_bought_is_recommended_again_when_allowed(system: System) -> None:
    system.merchant.push({"id": "tent"}, {"id": "rope"})
    system.merchant.order("A", "tent", user_id="anna")
    assert system.merchant.recommend(user_id="anna").ids == ["rope"]

    system.put(PATH, {"allow_repeat_recommendations": True})

    eventually(
        lambda: set(system.merchant.recommend(user_id="anna").ids) == {"tent", "rope"}, 1.0
    )


def test_stores_have_their_own(system: System, other: System) -> None:
    system.put(PATH, {"rec_num": 3})

    assert other.get(PATH)["rec_num"] == 8


def test_changes_of_both_at_once_survive(system: System) -> None:
    for _ in range(5):
        system.put(PATH, {"rec_num": None, "allow_repeat_recommendations": None})
        changes = [{"rec_num": 3}, {"allow_repeat_recommendations": True}]
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda change: system.put(PATH, change), changes))

        assert system.get(PATH) == {"rec_num": 3, "allow_repeat_recommendations": True}
