"""Plugin guide: lists every widget setting with its default."""

import re

import pytest

from productrecs.features.widgets.widget_settings import WIDGET_SETTINGS, WidgetSetting
from tests.support.project import PACKAGE

GUIDE = PACKAGE / "features" / "guides" / "pages" / "integration.md"
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+) \|$", re.MULTILINE)


def rows() -> dict[str, tuple[str, str]]:
    """Return the default and the meaning that the guide gives, by setting."""
    found = ROW.findall(GUIDE.read_text("utf-8"))
    return {name: (default, meaning) for name, default, meaning in found}


def test_the_guide_names_each_setting_once_in_their_order() -> None:
    assert list(rows()) == [setting.name for setting in WIDGET_SETTINGS]


@pytest.mark.parametrize("setting", WIDGET_SETTINGS, ids=lambda setting: setting.name)
def test_the_guide_says_what_a_setting_means_and_starts_as(setting: WidgetSetting) -> None:
    default, meaning = rows()[setting.name]

    assert meaning == setting.meaning
    if setting.of_store is not None:
        assert f"`{setting.of_store}`" in default
    elif setting.default is not None:
        assert (
            f"`{str(setting.default).replace('True', 'true').replace('False', 'false')}`"
            in (default)
        )
