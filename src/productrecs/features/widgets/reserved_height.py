"""Reserved height of widgets: tags for a page's head that prevent layout shifts.

The stylesheet reserves each widget's exact height by the store's settings; the script
releases it if the widgets' script is blocked or does not load.
"""

import re
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Final

from productrecs.features.widgets.widget_config import WidgetConfig
from productrecs.features.widgets.widget_settings import (
    DEFAULT_TYPE,
    resolve_widget_settings,
)
from productrecs.tenancy.accounts.store_settings import StoreSettings

BUILT_IN: Final = ("fbt", "cart", "trending")
_LAYOUTS: Final = ("carousel", "grid", "list", "fbt")
_MAX_PRODUCTS, _MAX_COLUMNS = 20, 12
_RATIO: Final = re.compile(r"\d{1,4}(\.\d+)?(\s*/\s*\d{1,4}(\.\d+)?)?")
_LOOK_RATIOS: Final = ("1/1", "4/5", "3/4", "2/3", "9/16", "5/4", "4/3", "3/2", "16/9")
_HEAD, _BUTTON = "56px", "54px"
_BLANK: Final = re.compile(r"\s*/\*.*?\*/\s*|\s*([{};,])\s*|\s+", re.DOTALL)
_LINE: Final = re.compile(r"^\s*//.*\n|^\s+", re.MULTILINE)


def reserved_height_css(store: StoreSettings, configs: Mapping[str, WidgetConfig]) -> str:
    """Return a store's stylesheet; `configs` are the saved settings by widget type."""
    base = _css_variables(DEFAULT_TYPE, store, configs)
    types = []
    for widget_type in dict.fromkeys((*BUILT_IN, *configs)):
        own = _css_variables(widget_type, store, configs)
        changed = {name: value for name, value in own.items() if value != base[name]}
        if changed:
            types.append(_rule(_widget_selector(widget_type), changed))
    numbers = [
        _rule(f':is(product-recs,product-look)[data-num="{number}"]', {"k": str(number)})
        for number in range(1, _MAX_PRODUCTS + 1)
    ]
    numbers += [
        _rule(
            f'product-recs[data-columns="{number}"]', {"c": f"var(--pr-columns,{number})"}
        )
        for number in range(1, _MAX_COLUMNS + 1)
    ]
    ratios = [
        _rule(f'product-look[data-ratio="{ratio}"]', {"ratio": f"({ratio})"})
        for ratio in _LOOK_RATIOS
    ]
    written = Template(_read("reserve.css")).substitute(
        base=";".join(f"--{name}:{value}" for name, value in base.items()),
        types="".join(types),
        numbers="".join(numbers),
        ratios="".join(ratios),
    )
    return _BLANK.sub(_shortened, written).strip()


def release_js() -> str:
    """Return the script that releases the reserved height if widgets do not load."""
    return _LINE.sub("", _read("release.js")).replace("\n", " ").strip()


def head_tags(store: StoreSettings, configs: Mapping[str, WidgetConfig]) -> str:
    """Return the tags for a page's head, before the widgets' scripts."""
    css = reserved_height_css(store, configs)
    return f"<style>{css}</style>\n<script>{release_js()}</script>"


def _css_variables(
    widget_type: str, store: StoreSettings, configs: Mapping[str, WidgetConfig]
) -> dict[str, str]:
    chosen = configs.get(widget_type, WidgetConfig()).settings
    settings = resolve_widget_settings(widget_type, chosen, store)
    layout, ratio = str(settings["layout"]), str(settings["image_ratio"])
    ratio = ratio if _RATIO.fullmatch(ratio) else "1"
    return {
        "c": f"var(--pr-columns,{settings['columns']})",
        "m": f"var(--pr-columns-mobile,{settings['columns_mobile']})",
        "k": str(settings["num"]),
        "g": f"var(--pr-gap,{settings['gap']}px)",
        "r": f"var(--pr-image-ratio,{ratio})",
        "head": _HEAD if settings["title"] else "0px",
        "add": _BUTTON if settings["show_add_to_cart"] else "0px",
        "h": f"var(--{layout if layout in _LAYOUTS else 'carousel'})",
    }


def _widget_selector(widget_type: str) -> str:
    named = f'product-recs[data-type="{widget_type}"]'
    if widget_type != "trending":
        return named
    return f':is({named},product-recs[data-source="trending"]:not([data-type]))'


def _rule(selector: str, variables: Mapping[str, str]) -> str:
    declarations = ";".join(f"--{name}:{value}" for name, value in variables.items())
    return f"{selector}::before{{{declarations}}}"


def _shortened(match: re.Match[str]) -> str:
    return match[1] or " "


def _read(name: str) -> str:
    return (files("productrecs.features.widgets") / name).read_text("utf-8")
