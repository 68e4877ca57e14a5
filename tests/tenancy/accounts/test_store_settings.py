"""Store settings: only known codes of currencies, languages and time zones are stored."""

from __future__ import annotations

import re

import pytest

from productrecs.tenancy.accounts.store_settings import SettingError, parse_setting


@pytest.mark.parametrize(
    ("name", "text", "near"),
    [
        ("currency", "EURO", "EUR (Euro)"),
        ("currency", "dollar", "USD"),
        ("currency", "POINTS", "ISO 4217"),
        ("timezone", "Europe/Berln", "Europe/Berlin"),
        ("timezone", "berlin", "Europe/Berlin"),
        ("language", "german", "de (German)"),
        ("language", "xx", "such as en"),
        ("language", "en-XX", "such as en"),
    ],
)
def test_an_unknown_code_is_refused_and_the_nearest_named(
    name: str, text: str, near: str
) -> None:
    with pytest.raises(SettingError, match=re.escape(near)):
        parse_setting(name, text)


@pytest.mark.parametrize(
    ("name", "text", "stored"),
    [
        ("currency", " eur ", "EUR"),
        ("currency", "XOF", "XOF"),
        ("timezone", "America/Argentina/Buenos_Aires", None),
        ("language", "zh-Hant-TW", None),
        ("language", "gsw", None),
    ],
)
def test_a_known_code_is_stored(name: str, text: str, stored: str | None) -> None:
    assert parse_setting(name, text) == (stored or text)
