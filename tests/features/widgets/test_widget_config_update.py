"""Widget settings schema: each value is validated; errors have a location."""

import pytest

from productrecs.features.widgets.widget_config import WidgetConfig, WidgetConfigChange
from productrecs.features.widgets.widget_config_update import (
    WidgetConfigBody,
    parse_widget_config_change,
)
from productrecs.features.widgets.widget_settings import WIDGET_SETTINGS
from productrecs.schemas.strict_json import parse_json
from productrecs.schemas.validation_errors import InvalidInputError
from productrecs.tenancy.accounts.store_settings import StoreSettings
from tests.http.hostile import MISSHAPEN

Refusals = list[tuple[tuple[str | int, ...], str]]


def refused(body: object) -> Refusals:
    with pytest.raises(InvalidInputError) as error:
        parse_widget_config_change(body)
    return [(problem.loc, problem.type) for problem in error.value.problems]


def read(name: str, value: object) -> object:
    return parse_widget_config_change({"settings": {name: value}}).settings[name]


@pytest.mark.parametrize("body", MISSHAPEN)
def test_a_body_of_another_shape_is_refused(body: object) -> None:
    assert refused(body) == [(("body",), "model_type")]


def test_every_default_may_be_sent_back() -> None:
    resolved = WidgetConfig().with_defaults("recs", StoreSettings())

    assert parse_widget_config_change({"settings": resolved.settings}).settings == (
        resolved.settings
    )


def test_every_known_setting_is_described_with_its_meaning() -> None:
    schema = WidgetConfigBody.model_json_schema()["$defs"]["WidgetSettings"]

    assert {name: one["description"] for name, one in schema["properties"].items()} == {
        setting.name: setting.meaning for setting in WIDGET_SETTINGS
    }
    assert schema["additionalProperties"] is True


@pytest.mark.parametrize(
    ("name", "sent", "kept"),
    [
        ("columns", "3", 3),
        ("columns", 12.0, 12),
        ("currency", "usd", "USD"),
        ("currency", "", None),
        ("locale", "de_AT", "de-AT"),
        ("locale", "EN", "en"),
        ("locale", "de_DE_formal", "de-DE-formal"),
        ("layout", "my-own_layout", "my-own_layout"),
        ("title", "", ""),
        ("accent_color", " #0f766e ", "#0f766e"),
        ("accent_color", "#0f7c", "#0f7c"),
        ("accent_color", "RebeccaPurple", "RebeccaPurple"),
        ("accent_color", "currentColor", "currentColor"),
        ("accent_color", "oklch(60% .1 180 / 50%)", "oklch(60% .1 180 / 50%)"),
        ("accent_color", "var(--brand, teal)", "var(--brand, teal)"),
        ("accent_color", "", ""),
        ("strings", {"next": "weiter"}, {"next": "weiter"}),
        ("show_price", False, False),
        ("corner_radius", 0, 0),
    ],
)
def test_known_settings_are_read_as_what_they_are(
    name: str, sent: object, kept: object
) -> None:
    assert read(name, sent) == kept


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("layout", 3, "string_type"),
        ("accent_color", "blueish", "colour"),
        ("accent_color", "#12345", "colour"),
        ("accent_color", "url(x)", "colour"),
        ("accent_color", "red;}body{", "colour"),
        ("accent_color", "var(--a);--b:(c)", "colour"),
        ("layout", "a b", "string_pattern_mismatch"),
        ("layout", "", "string_pattern_mismatch"),
        ("title", "x" * 201, "string_too_long"),
        ("title", "a\0", "string_nul"),
        ("columns", 0, "greater_than_equal"),
        ("columns", 13, "less_than_equal"),
        ("columns", True, "int_type"),
        ("num", 21, "less_than_equal"),
        ("currency", "EURO", "string_pattern_mismatch"),
        ("locale", "german", "string_pattern_mismatch"),
        ("locale", "de-", "string_pattern_mismatch"),
        ("locale", 1, "string_type"),
        ("show_price", "yes", "bool_type"),
        ("strings", [], "dict_type"),
        ("strings", {"next": 1}, "string_type"),
        ("strings", {"n" * 101: "a"}, "string_too_long"),
    ],
)
def test_a_known_setting_that_cannot_be_is_refused(
    name: str, value: object, kind: str
) -> None:
    assert refused({"settings": {name: value}}) == [(("body", "settings", name), kind)]


@pytest.mark.parametrize(
    "value", ["text", "", 1, -2.5, True, [], {}, [{"a": [None, "é", 1]}], 2**53, -(2**53)]
)
def test_any_value_is_kept_under_a_key_that_is_not_ours(value: object) -> None:
    kept = read("mine", value)

    assert kept == value
    assert type(kept) is type(value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2**53 + 1, "less_than_equal"),
        (10**30, "less_than_equal"),
        (1.5e12, "less_than_equal"),
        ("a\0", "string_nul"),
        ("x" * 10_001, "string_too_long"),
        ([{"a": ["\0"]}], "string_nul"),
        ({"\0": 1}, "string_nul"),
    ],
)
def test_what_no_database_should_keep_is_refused_anywhere(value: object, kind: str) -> None:
    assert refused({"settings": {"mine": value}}) == [(("body", "settings", "mine"), kind)]


@pytest.mark.parametrize("name", ["", "x" * 101, "a\0b"])
def test_a_key_has_a_name(name: str) -> None:
    assert refused({"settings": {name: 1}}) == [
        (("body", "settings", name), "setting_name")
    ]


@pytest.mark.parametrize("name", ["model_config", "copy", "__class__", "model_dump"])
def test_a_key_may_be_named_as_anything(name: str) -> None:
    assert read(name, "mine") == "mine"


def test_every_problem_is_reported_at_once() -> None:
    body = {"settings": {"columns": 0, "gap": -1}, "custom_css": 1, "scoped": "no"}

    assert {loc for loc, _ in refused(body)} == {
        ("body", "settings", "columns"),
        ("body", "settings", "gap"),
        ("body", "custom_css"),
        ("body", "scoped"),
    }


def test_a_body_as_it_comes_is_read() -> None:
    sent = '{"settings":{"title":"Für dich","mine":{"a":[1,2.5,null]}},"scoped":true}'

    assert parse_widget_config_change(parse_json(sent.encode())) == WidgetConfigChange(
        {"title": "Für dich", "mine": {"a": [1, 2.5, None]}}, scoped=True
    )
