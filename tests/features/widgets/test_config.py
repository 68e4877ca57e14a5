"""Widget settings: merging changes, and applying defaults."""

import pytest

from productrecs.features.widgets.widget_config import (
    MAX_SETTINGS,
    WidgetConfig,
    WidgetConfigChange,
    WidgetConfigTooLargeError,
    is_widget_type,
)
from productrecs.features.widgets.widget_settings import WIDGET_SETTINGS
from productrecs.tenancy.accounts.store_settings import StoreSettings

SET = WidgetConfig({"layout": "grid", "mine": {"a": 1}}, ".card {}", scoped=False)
STORE = StoreSettings(language="de", currency="CHF", rec_num=5)
NAMES = [setting.name for setting in WIDGET_SETTINGS]


def test_an_object_under_a_key_is_replaced_whole() -> None:
    assert SET.merged_with(WidgetConfigChange({"mine": {"b": 2}})).settings["mine"] == {
        "b": 2
    }


def test_as_many_settings_as_may_be_are_kept_and_no_more() -> None:
    most = {f"key-{number}": number for number in range(MAX_SETTINGS)}
    full = WidgetConfig().merged_with(WidgetConfigChange(most))

    with pytest.raises(WidgetConfigTooLargeError):
        full.merged_with(WidgetConfigChange({"one more": 1}))
    swapped = full.merged_with(WidgetConfigChange({"one more": 1, "key-0": None}))
    assert len(swapped.settings) == MAX_SETTINGS


def test_every_setting_has_a_default_drawn_from_the_store() -> None:
    resolved = WidgetConfig().with_defaults("recs", STORE)

    assert list(resolved.settings) == NAMES
    assert resolved.settings["layout"] == "carousel"
    assert resolved.settings["num"] == 5
    assert resolved.settings["currency"] == "CHF"
    assert resolved.settings["locale"] == "de"
    assert resolved.settings["title"] == "Das könnte Ihnen auch gefallen"
    assert (resolved.custom_css, resolved.scoped) == (None, True)


def test_what_was_set_wins_and_a_themes_own_keys_come_last() -> None:
    resolved = SET.with_defaults("recs", STORE)

    assert list(resolved.settings) == [*NAMES, "mine"]
    assert resolved.settings["layout"] == "grid"
    assert resolved.settings["mine"] == {"a": 1}
    assert (resolved.custom_css, resolved.scoped) == (".card {}", False)


def test_the_title_is_in_the_language_of_the_widget() -> None:
    config = WidgetConfig({"locale": "fr-CA"})

    assert (
        config.with_defaults("trending", STORE).settings["title"] == "Tendances du moment"
    )


def test_an_empty_title_stays_empty() -> None:
    assert WidgetConfig({"title": ""}).with_defaults("recs", STORE).settings["title"] == ""


@pytest.mark.parametrize(
    ("widget_type", "layout", "columns"),
    [("fbt", "fbt", 4), ("search", "list", 1), ("look", "grid", 4), ("x", "carousel", 4)],
)
def test_types_start_in_a_form_of_their_own(
    widget_type: str, layout: str, columns: int
) -> None:
    settings = WidgetConfig().with_defaults(widget_type, STORE).settings

    assert (settings["layout"], settings["columns"]) == (layout, columns)


def test_settings_are_named_once_and_explained() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(setting.meaning for setting in WIDGET_SETTINGS)


@pytest.mark.parametrize("text", ["recs", "a", "my-widget_2", "0", "a" * 32])
def test_a_type_is_a_short_plain_word(text: str) -> None:
    assert is_widget_type(text)


@pytest.mark.parametrize("text", ["", "Recs", "-a", "a b", "a\n", "a\0", "é", "a" * 33])
def test_anything_else_is_no_type(text: str) -> None:
    assert not is_widget_type(text)
