"""Widget settings routes: merged, separate by type and store, with defaults."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from productrecs.features.widgets.widget_config import MAX_CSS
from tests.http.routes.integration.conftest import Process, System

PATH = "widget-config"
UNSET: dict[str, Any] = {"settings": {}, "custom_css": None, "scoped": None}


def test_nothing_is_set_at_first(system: System) -> None:
    assert system.get(PATH) == {"type": "recs", **UNSET}
    assert system.get(PATH, type="search") == {"type": "search", **UNSET}


def test_an_update_leaves_what_it_does_not_carry(system: System) -> None:
    first = {
        "settings": {"layout": "grid", "mine": 1},
        "custom_css": "a{}",
        "scoped": False,
    }
    assert system.put(PATH, first) == {"type": "recs", **first}

    updated = system.put(PATH, {"settings": {"columns": 3}})

    settings = {"layout": "grid", "mine": 1, "columns": 3}
    assert updated == {**first, "type": "recs", "settings": settings}
    assert system.get(PATH) == updated


@pytest.mark.parametrize("body", [{}, {"settings": None}, {"settings": {}}, {"else": 1}])
def test_nothing_said_leaves_all_as_it_is(system: System, body: object) -> None:
    before = system.put(PATH, {"settings": {"layout": "grid"}, "scoped": True})

    assert system.put(PATH, body) == before


def test_null_returns_to_the_default(system: System) -> None:
    defaults = system.widget()
    system.put(
        PATH,
        {"settings": {"layout": "grid", "gap": 3}, "custom_css": "a{}", "scoped": False},
    )

    updated = system.put(PATH, {"settings": {"layout": None}})
    assert updated["settings"] == {"gap": 3}
    assert system.widget()["settings"]["layout"] == defaults["settings"]["layout"]

    updated = system.put(
        PATH, {"settings": {"gap": None}, "custom_css": None, "scoped": None}
    )
    assert updated == {"type": "recs", **UNSET}
    assert system.widget() == defaults


def test_each_type_has_its_own_and_a_blank_one_is_recs(system: System) -> None:
    system.put(PATH, {"settings": {"title": "A"}}, type="")
    system.put(PATH, {"settings": {"title": "B"}}, type="fbt")
    system.put(PATH, {"settings": {"title": "C"}}, type="my-own")

    assert system.get(PATH, type="recs")["settings"] == {"title": "A"}
    assert system.widget(type="")["settings"]["title"] == "A"
    assert system.widget(type="fbt")["settings"]["title"] == "B"
    assert system.widget(type="my-own")["settings"]["title"] == "C"


def test_stores_have_their_own(system: System, other: System) -> None:
    system.put(PATH, {"settings": {"title": "Ours"}})

    assert other.get(PATH) == {"type": "recs", **UNSET}
    assert other.widget()["settings"]["title"] != "Ours"


def test_a_widget_gets_every_setting(process: Process) -> None:
    system = process.register(language="de", currency="CHF", rec_num="5")

    config = system.widget()

    assert list(config) == ["type", "settings", "custom_css", "scoped"]
    assert (config["type"], config["custom_css"], config["scoped"]) == ("recs", None, True)
    assert {"layout", "title", "columns", "currency", "locale"} <= config["settings"].keys()
    assert config["settings"]["currency"] == "CHF"
    assert config["settings"]["locale"] == "de"
    assert config["settings"]["num"] == 5
    assert None not in (config["settings"]["layout"], config["settings"]["title"])


@pytest.mark.parametrize(
    "widget_type", ["banner", "No%20Such", "%00", "x" * 500, "%F0%9F%99%82"]
)
def test_an_unknown_type_has_the_defaults(system: System, widget_type: str) -> None:
    target = (
        f"/v1/widget-config?type={widget_type}&key={system.merchant.account.publishable}"
    )

    reply = system.inside.ask("GET", target)

    assert reply.status == 200
    assert reply.json["settings"] == system.widget()["settings"]


def test_the_declared_route_says_what_the_fast_lane_says(system: System) -> None:
    system.put(PATH, {"settings": {"title": "Ours"}}, type="fbt")
    key = system.merchant.account.publishable

    fast = system.inside.ask("GET", f"/v1/widget-config?type=fbt&key={key}")
    declared = system.inside.ask("GET", f"/v1/widget-config?a=1&a=2&type=fbt&key={key}")

    assert fast.json["settings"]["title"] == "Ours"
    assert fast.body == declared.body


@pytest.mark.parametrize("widget_type", ["Recs", "a b", "-a", "x" * 33, "%00", "a%0A"])
def test_settings_are_kept_under_plain_names_only(system: System, widget_type: str) -> None:
    reply = system.call("PUT", PATH, {"settings": {"gap": 1}}, type=widget_type)

    assert reply.status == 422
    assert reply.json["detail"][0]["loc"] == ["query", "type"]


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        (None, ["body"]),
        ([], ["body"]),
        ({"settings": []}, ["body", "settings"]),
        ({"settings": {"columns": 0}}, ["body", "settings", "columns"]),
        ({"custom_css": "a" * (MAX_CSS + 1)}, ["body", "custom_css"]),
        ({"scoped": 1}, ["body", "scoped"]),
    ],
)
def test_a_wrong_update_is_refused_in_place_and_nothing_stored(
    system: System, body: object, loc: list[str]
) -> None:
    reply = system.call("PUT", PATH, body)

    assert reply.status == 422
    assert reply.json["detail"][0]["loc"] == loc
    assert system.get(PATH) == {"type": "recs", **UNSET}


def test_an_update_needs_a_body(system: System) -> None:
    reply = system.call("PUT", PATH)

    assert reply.status == 422
    assert reply.json["detail"][0]["type"] == "json_invalid"


def test_the_longest_styles_are_kept_and_more_is_too_large(system: System) -> None:
    longest = "é" * MAX_CSS
    assert system.put(PATH, {"custom_css": longest})["custom_css"] == longest
    assert system.widget()["custom_css"] == longest
    assert system.put(PATH, {"custom_css": ""})["custom_css"] is None

    reply = system.call("PUT", PATH, {"custom_css": "a" * 600_000})

    assert (reply.status, reply.json["code"]) == (413, "body_too_large")


def test_settings_that_add_up_to_too_much_are_refused(system: System) -> None:
    for number in range(6):
        system.put(PATH, {"settings": {f"key-{number}": "x" * 10_000}})

    reply = system.call("PUT", PATH, {"settings": {"one more": "x" * 10_000}})

    assert (reply.status, reply.json["code"]) == (400, "widget_config_too_large")
    assert len(system.get(PATH)["settings"]) == 6


def test_one_type_too_many_is_refused(system: System) -> None:
    for number in range(50):
        system.put(PATH, {"scoped": True}, type=f"type-{number}")

    reply = system.call("PUT", PATH, {"scoped": True}, type="one-more")

    assert (reply.status, reply.json["code"]) == (400, "too_many_widget_types")


def test_updates_of_different_keys_at_once_all_survive(system: System) -> None:
    def put(number: int) -> None:
        system.put(PATH, {"settings": {f"key-{number}": number}})

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(put, range(16)))

    assert system.get(PATH)["settings"] == {f"key-{n}": n for n in range(16)}
