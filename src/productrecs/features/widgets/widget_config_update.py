"""Widget config update: a body of changed settings of a widget, each one validated."""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    WithJsonSchema,
    create_model,
)
from pydantic_core import PydanticCustomError, PydanticKnownError

from productrecs.features.widgets.colour_contrast import (
    parse_plain_colour,
)
from productrecs.features.widgets.widget_config import (
    MAX_CSS,
    Unchanged,
    WidgetConfigChange,
)
from productrecs.features.widgets.widget_settings import (
    WIDGET_SETTINGS,
    WidgetSetting,
    WidgetSettingType,
)
from productrecs.schemas.field_readers import (
    CURRENCY_CODE,
    MAX_INTEGER,
    Schema,
    check_string,
    integer_reader,
    integer_schema,
    nullable,
    read_currency_code,
    read_number,
    string_schema,
    text_reader,
)
from productrecs.schemas.validation_errors import (
    InvalidInputError,
    ValidationProblem,
    validate_body,
)

MAX_KEY: Final = 100
MAX_KEYS: Final = 200
MAX_FREE_TEXT: Final = 10_000
_NAME: Final = "^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$"
_LOCALE: Final = "^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$"
# Only a page can evaluate these; hex and names are read here.
_COLOUR_FUNCTION: Final = re.compile(
    r"(rgba?|hsla?|hwb|lab|lch|oklab|oklch|color|color-mix|light-dark|var)\([^;{}]+\)", re.I
)
_COLOUR_KEYWORDS: Final = frozenset({"", "currentcolor", "transparent"})
_read_integer: Final = integer_reader(-MAX_INTEGER)
Reader = Callable[[Any], object]


def _text_reader(maximum: int) -> Reader:
    def read_text(value: object) -> str:
        if not isinstance(value, str):
            raise PydanticKnownError("string_type")
        return check_string(value, maximum)

    return read_text


def _colour_reader(maximum: int) -> Reader:
    read_text = _text_reader(maximum)

    def read_colour(value: object) -> str:
        text = str(read_text(value)).strip()
        is_known = text.lower() in _COLOUR_KEYWORDS or (
            _COLOUR_FUNCTION.fullmatch(text) is not None
            if "(" in text
            else parse_plain_colour(text) is not None
        )
        if not is_known:
            message = "{text} is not a colour; write for example #0f766e or teal"
            raise PydanticCustomError("colour", message, {"text": text})
        return text

    return read_colour


def _pattern_reader(pattern: str) -> Reader:
    compiled = re.compile(pattern)

    def read_matching_text(value: object) -> str:
        if not isinstance(value, str):
            raise PydanticKnownError("string_type")
        if not compiled.fullmatch(value):
            raise PydanticKnownError("string_pattern_mismatch", {"pattern": pattern})
        return value

    return read_matching_text


def _read_locale(value: object) -> str:
    """Return a locale as browsers write it: `de_AT` becomes `de-AT`."""
    text = _pattern_reader(_LOCALE)(value)
    language, *subtags = str(text).replace("_", "-").split("-")
    return "-".join((language.lower(), *subtags))


def _read_switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise PydanticKnownError("bool_type")
    return value


def _text_map_reader(maximum: int) -> Reader:
    read_text = _text_reader(maximum)

    def read_text_map(value: object) -> dict[str, object]:
        if not isinstance(value, dict):
            raise PydanticKnownError("dict_type")
        return {
            check_string(name, MAX_KEY): read_text(text) for name, text in value.items()
        }

    return read_text_map


def _read_theme_value(value: Any) -> object:
    """Return the value of a theme's own key: any JSON that can be stored."""
    if isinstance(value, str):
        return check_string(value, MAX_FREE_TEXT)
    if isinstance(value, list):
        return [_read_theme_value(member) for member in value]
    if isinstance(value, dict):
        return {
            check_string(name, MAX_KEY): _read_theme_value(one)
            for name, one in value.items()
        }
    if value is None or isinstance(value, bool):
        return value
    return _read_integer(value) if isinstance(value, int) else read_number(value)


def _text_form(setting: WidgetSetting) -> tuple[Reader, Schema]:
    return _text_reader(setting.maximum), string_schema(0, setting.maximum)


def _colour_form(setting: WidgetSetting) -> tuple[Reader, Schema]:
    return _colour_reader(setting.maximum), string_schema(0, setting.maximum)


def _integer_form(setting: WidgetSetting) -> tuple[Reader, Schema]:
    bounds = setting.minimum, setting.maximum
    return integer_reader(*bounds), integer_schema(*bounds)


def _text_map_reader_and_schema(setting: WidgetSetting) -> tuple[Reader, Schema]:
    texts = string_schema(0, setting.maximum)
    schema: Schema = {"type": "object", "additionalProperties": texts}
    return _text_map_reader(setting.maximum), schema | {
        "propertyNames": string_schema(0, MAX_KEY)
    }


def _pattern_schema(pattern: str) -> Schema:
    return {"type": "string", "pattern": pattern}


# The reader of each kind of setting, and the JSON schema of its input.
_FORMS: Final[
    Mapping[WidgetSettingType, Callable[[WidgetSetting], tuple[Reader, Schema]]]
] = MappingProxyType(
    {
        WidgetSettingType.TEXT: _text_form,
        WidgetSettingType.COLOUR: _colour_form,
        WidgetSettingType.NAME: lambda _: (_pattern_reader(_NAME), _pattern_schema(_NAME)),
        WidgetSettingType.WHOLE: _integer_form,
        WidgetSettingType.SWITCH: lambda _: (_read_switch, {"type": "boolean"}),
        WidgetSettingType.CURRENCY: lambda _: (
            read_currency_code,
            _pattern_schema(CURRENCY_CODE),
        ),
        WidgetSettingType.LOCALE: lambda _: (_read_locale, _pattern_schema(_LOCALE)),
        WidgetSettingType.TEXTS: _text_map_reader_and_schema,
    }
)


class _WidgetSettingValues(BaseModel):
    """Settings by name: the known ones, and a theme's own."""

    model_config = ConfigDict(
        title="WidgetSettings",
        extra="allow",
        json_schema_extra={
            "propertyNames": string_schema(1, MAX_KEY),
            "additionalProperties": True,
        },
    )
    __pydantic_extra__: dict[str, Annotated[Any, PlainValidator(_read_theme_value)]]


def _pydantic_field(setting: WidgetSetting) -> Any:
    read, schema = _FORMS[setting.kind](setting)
    validator = PlainValidator(lambda value: None if value is None else read(value))
    described = Field(None, description=setting.meaning)
    return Annotated[Any, validator, WithJsonSchema(nullable(schema))], described


SettingsBody = create_model(
    "WidgetSettings",
    __base__=_WidgetSettingValues,
    __doc__=_WidgetSettingValues.__doc__,
    **{setting.name: _pydantic_field(setting) for setting in WIDGET_SETTINGS},
)


class WidgetConfigBody(BaseModel):
    """Changes of one widget's settings; absent ones keep their values."""

    model_config = ConfigDict(title="WidgetConfig", extra="ignore")

    settings: SettingsBody | None = Field(  # type: ignore[valid-type]  # made above
        None,
        description="Merged with the saved settings; null resets a key to its default.",
    )
    custom_css: Annotated[
        str | None,
        PlainValidator(text_reader(MAX_CSS, None)),
        WithJsonSchema(nullable(string_schema(0, MAX_CSS))),
    ] = Field(None, description="Rules for the widget; null removes them.")
    scoped: StrictBool | None = Field(
        None,
        description=(
            "Whether `custom_css` applies inside the widget only; null is the "
            "default, which is yes."
        ),
    )


def parse_widget_config_change(body: object) -> WidgetConfigChange:
    """Return the changes of a widget's settings.

    Raises:
        InvalidInputError: when the body, or a setting in it, is invalid.
    """
    change = validate_body(WidgetConfigBody, body)
    given_fields: dict[str, Any] = change.model_dump(exclude_unset=True)
    settings = given_fields.get("settings") or {}
    problems = list(_key_problems(settings))
    if problems:
        raise InvalidInputError(problems)
    return WidgetConfigChange(
        settings=settings,
        custom_css=given_fields.get("custom_css", Unchanged.KEEP),
        scoped=given_fields.get("scoped", Unchanged.KEEP),
    )


def _key_problems(settings: Mapping[str, object]) -> Iterator[ValidationProblem]:
    for name in settings:
        if not 0 < len(name) <= MAX_KEY or "\0" in name:
            message = f"a setting's name has 1 to {MAX_KEY} characters, none of them NUL"
            yield ValidationProblem(
                ("body", "settings", name), message, "setting_name", input=name
            )
