"""Widget settings form: converts a widget type's settings to form fields and back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from productrecs.dashboard.page import SubmittedFields
from productrecs.features.widgets.widget_config import WidgetConfig, WidgetConfigChange
from productrecs.features.widgets.widget_config_update import parse_widget_config_change
from productrecs.features.widgets.widget_settings import (
    BY_NAME,
    WIDGET_SETTINGS,
    WidgetSetting,
    WidgetSettingType,
    resolve_widget_settings,
)
from productrecs.schemas.validation_errors import InvalidInputError
from productrecs.tenancy.accounts.store_settings import StoreSettings

CSS, SCOPED = "custom_css", "scoped"
_GROUPS: Final = (
    ("Layout", ("layout", "title", "columns", "columns_mobile", "num")),
    (
        "Look",
        ("theme", "accent_color", "corner_radius", "gap", "image_ratio", "image_fit"),
    ),
    (
        "Content",
        ("show_price", "show_add_to_cart", "open_in_new_tab", "currency", "locale"),
    ),
    ("Words", ("badges", "strings")),
)
# The label and the help text of each setting.
_WORDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "layout": (
            "Layout",
            "Bought together shows the product, its add-ons and their sum.",
        ),
        "title": ("Heading", "Empty: a usual heading in the shop's language."),
        "columns": ("Columns", "Products side by side on a wide screen, 1 to 12."),
        "columns_mobile": ("Columns on phones", "Side by side on a phone, 1 to 6."),
        "num": ("Products", "How many are in the list, 1 to 20."),
        "theme": ("Light or dark", "Auto follows the page and the shopper's device."),
        "accent_color": ("Accent colour", "Of buttons, such as #0f766e."),
        "corner_radius": ("Corner radius", "In pixels, 0 to 64."),
        "gap": ("Space between", "Between products, in pixels, 0 to 64."),
        "image_ratio": ("Picture ratio", "Width / height, such as 4 / 5."),
        "image_fit": ("Picture fit", "Cover fills the frame, contain shows it whole."),
        "show_price": ("Prices", "Show each product's price."),
        "show_add_to_cart": ("Add to cart", "Show a button on each product."),
        "open_in_new_tab": ("New tab", "Open products in a new tab."),
        "currency": ("Currency", "Three letters, such as EUR."),
        "locale": ("Language", "Language and region, such as de-AT."),
        "badges": ("Badges", "One per line: source = text, as in trending = Popular."),
        "strings": ("Texts", "One per line: name = text, as in add = Add to cart."),
    }
)
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "layout": ("carousel", "grid", "list", "fbt"),
        "theme": ("auto", "light", "dark"),
        "image_fit": ("cover", "contain"),
    }
)
_REMEDIES: Final[Mapping[WidgetSettingType, str]] = MappingProxyType(
    {
        WidgetSettingType.CURRENCY: "Write the three letters of a currency, such as EUR.",
        WidgetSettingType.LOCALE: "Write a language and region, such as de-AT.",
        WidgetSettingType.NAME: "Write one word of letters and digits.",
    }
)
_NO_TITLE: Final = "no_title"
_ON, _OFF = "on", "off"


@dataclass(frozen=True, slots=True)
class WidgetFormField:
    """One field: its value, and the default while it is empty."""

    name: str
    label: str
    kind: str  # text, number, select, switch, lines
    value: str
    default: str
    hint: str
    error: str = ""
    choices: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ParsedWidgetForm:
    """A parsed form: the change of the saved settings, and the errors."""

    change: WidgetConfigChange
    errors: Mapping[str, str]


def parse_settings_form(form: SubmittedFields) -> ParsedWidgetForm:
    """Return the parsed form; invalid fields are not in the change."""
    settings: dict[str, object] = {}
    errors: dict[str, str] = {}
    for setting in WIDGET_SETTINGS:
        try:
            settings[setting.name] = _parse_field(setting, form)
        except ValueError as error:
            errors[setting.name] = str(error)
    css = form.as_typed(CSS).replace("\r\n", "\n").strip()
    body: dict[str, object] = {
        "settings": settings,
        CSS: css or None,
        SCOPED: False if form["everywhere"] == _ON else None,
    }
    while True:
        try:
            return ParsedWidgetForm(parse_widget_config_change(body), errors)
        except InvalidInputError as error:
            for problem in error.problems:
                name = str(problem.loc[-1] if len(problem.loc) < 3 else problem.loc[2])  # noqa: PLR2004
                errors.setdefault(name, _remedy_for(name) or f"{problem.msg}.")
                settings.pop(name, None)
                body.pop(name, None)


def grouped_form_fields(
    widget_type: str,
    saved: WidgetConfig,
    store: StoreSettings,
    form: SubmittedFields | None = None,
    errors: Mapping[str, str] = MappingProxyType({}),
) -> list[tuple[str, list[WidgetFormField]]]:
    """Return the fields in their groups: as typed in `form`, else as saved."""
    saved_settings = saved.settings
    defaults = resolve_widget_settings(widget_type, {}, store)

    def build_form_field(name: str) -> WidgetFormField:
        setting = BY_NAME[name]
        typed = (
            _format_field(setting, saved_settings.get(name))
            if form is None
            else form.as_typed(name)
        )
        return WidgetFormField(
            name,
            _WORDS[name][0],
            _field_kind(setting),
            typed,
            _default_value_text(setting, defaults[name]),
            _WORDS[name][1],
            errors.get(name, ""),
            _field_choices(setting, typed),
        )

    return [(title, [build_form_field(name) for name in names]) for title, names in _GROUPS]


def has_no_title(saved: WidgetConfig, form: SubmittedFields | None) -> bool:
    """Return whether the heading is omitted."""
    return saved.settings.get("title") == "" if form is None else _NO_TITLE in form


def describe_changed_settings(
    saved: WidgetConfig, draft: WidgetConfig, widget_type: str, store: StoreSettings
) -> list[tuple[str, str, str]]:
    """Return the changed settings, each with its saved and its new value."""
    defaults = resolve_widget_settings(widget_type, {}, store)
    changes = []
    for name in {**saved.settings, **draft.settings}:
        before, after = saved.settings.get(name), draft.settings.get(name)
        if before != after:
            default = f"default ({_format_setting_value(defaults.get(name))})"
            changes.append(
                (
                    _WORDS[name][0] if name in _WORDS else name,
                    default if before is None else _format_setting_value(before),
                    default if after is None else _format_setting_value(after),
                )
            )
    if saved.custom_css != draft.custom_css:
        before_css, after_css = saved.custom_css or "", draft.custom_css or ""
        changes.append(
            ("Custom CSS", _css_size_text(before_css), _css_size_text(after_css))
        )
    if saved.scoped != draft.scoped:
        changes.append(("Custom CSS reaches", _scope_text(saved), _scope_text(draft)))
    return changes


def change_to_defaults(saved: WidgetConfig) -> WidgetConfigChange:
    """Return the change that resets every setting to its default."""
    return WidgetConfigChange(dict.fromkeys(saved.settings), None, None)


def _remedy_for(name: str) -> str:
    setting = BY_NAME.get(name)
    return "" if setting is None else _REMEDIES.get(setting.kind, "")


def _field_kind(setting: WidgetSetting) -> str:
    if setting.name in _CHOICES:
        return "select"
    kinds = {
        WidgetSettingType.WHOLE: "number",
        WidgetSettingType.SWITCH: "switch",
        WidgetSettingType.TEXTS: "lines",
    }
    return kinds.get(setting.kind, "text")


def _field_choices(setting: WidgetSetting, typed: str) -> Sequence[str]:
    known = _CHOICES.get(setting.name, ())
    return (*known, typed) if known and typed and typed not in known else known


def _parse_field(setting: WidgetSetting, form: SubmittedFields) -> object:
    """Return the value of a field as JSON; None for the default.

    Raises:
        ValueError: when the text is not a valid value; the message says what to enter.
    """
    text = form[setting.name]
    if setting.name == "title" and _NO_TITLE in form:
        return ""
    if not text:
        return None
    if setting.kind is WidgetSettingType.WHOLE:
        if not text.removeprefix("-").isdecimal():
            message = f"Write a whole number from {setting.minimum} to {setting.maximum}."
            raise ValueError(message)
        return int(text[:18])
    if setting.kind is WidgetSettingType.SWITCH:
        return text == _ON
    return _parse_named_texts(text) if setting.kind is WidgetSettingType.TEXTS else text


def _parse_named_texts(text: str) -> dict[str, str]:
    found = {}
    for line in text.splitlines():
        name, sign, value = line.partition("=")
        if line.strip() and not (sign and name.strip()):
            message = f"Write one per line as name = text; {line.strip()[:40]!r} is not."
            raise ValueError(message)
        if line.strip():
            found[name.strip()] = value.strip()
    return found


def _format_field(setting: WidgetSetting, value: object) -> str:
    if value is None:
        return ""
    if setting.kind is WidgetSettingType.SWITCH:
        return _ON if value else _OFF
    if isinstance(value, Mapping):
        return "\n".join(f"{name} = {text}" for name, text in value.items())
    return str(value)


def _default_value_text(setting: WidgetSetting, value: object) -> str:
    if setting.kind is WidgetSettingType.TEXTS:
        return ""
    return "the page's own" if value is None else _format_setting_value(value)


def _format_setting_value(value: object) -> str:
    if isinstance(value, bool):
        return _ON if value else _OFF
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {text}" for name, text in value.items())[:120] or "none"
    return str(value)[:120] if value not in (None, "") else "none"


def _css_size_text(css: str) -> str:
    lines = css.count("\n") + 1
    return f"{lines} line{'' if lines == 1 else 's'}" if css else "none"


def _scope_text(config: WidgetConfig) -> str:
    return "the whole page" if config.scoped is False else "the widget only"
