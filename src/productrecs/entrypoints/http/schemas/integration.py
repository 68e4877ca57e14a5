"""Integration schemas: the bodies of `/integration/...`."""

from typing import Annotated, Final, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from productrecs.entrypoints.http.schemas.field_readers import (
    OptionalCurrency,
    OptionalSwitch,
    integer_reader,
    integer_schema,
    nullable,
    string_schema,
    text_reader,
)
from productrecs.entrypoints.http.schemas.validation_errors import BodyError, from_details
from productrecs.tenancy.accounts.store import PluginDetails, ShopPlatform
from productrecs.tenancy.accounts.store_settings import (
    MAX_PRICE_FORMAT,
    SettingError,
    SettingValue,
    parse_setting,
)

MAX_ADDRESS: Final = 2_048
MAX_VERSION: Final = 100
MAX_EMAIL: Final = 320
MAX_REC_NUM: Final = 20
_Body = TypeVar("_Body", bound=BaseModel)


def read_price_format(value: object) -> str | None:
    """Return a price format; None without one, which leaves the setting unchanged."""
    text = text_reader(MAX_PRICE_FORMAT, None)(value)
    if text is not None:
        try:
            parse_setting("price_format", text)
        except SettingError as error:
            raise PydanticCustomError("price_format", str(error)) from error
    return text


_Address = Annotated[
    str | None,
    PlainValidator(text_reader(MAX_ADDRESS, None)),
    WithJsonSchema(nullable(string_schema(0, MAX_ADDRESS))),
]
_PriceFormat = Annotated[
    str | None,
    PlainValidator(read_price_format),
    WithJsonSchema(nullable(string_schema(0, MAX_PRICE_FORMAT))),
]
_Email = Annotated[
    str | None,
    PlainValidator(text_reader(MAX_EMAIL, None)),
    WithJsonSchema(nullable(string_schema(0, MAX_EMAIL))),
]
_Version = Annotated[
    str | None,
    PlainValidator(text_reader(MAX_VERSION, None)),
    WithJsonSchema(nullable(string_schema(0, MAX_VERSION))),
]
_RecNum = Annotated[
    int | None,
    PlainValidator(integer_reader(1, MAX_REC_NUM)),
    WithJsonSchema(integer_schema(1, MAX_REC_NUM)),
]


class ConnectBody(BaseModel):
    """The connected system. Absent or null fields keep their values."""

    model_config = ConfigDict(title="Connect", extra="ignore")

    platform: ShopPlatform | None = Field(
        None, description="The store's platform; `woocommerce` until one is set."
    )
    plugin_version: _Version = Field(None, description="The version of the calling plugin.")
    store_url: _Address = Field(None, description="The address of the store.")


class EnginesInitBody(BaseModel):
    """Parameters of the engines. Absent or null fields keep their values."""

    model_config = ConfigDict(title="EnginesInit", extra="ignore")

    store_url: _Address = Field(None, description="The address of the store.")
    currency: OptionalCurrency = Field(
        None,
        description="The currency of prices: EUR, or a name of your own.",
    )
    price_format: _PriceFormat = Field(
        None, description="The price 1234 as the shop writes it: `1.234,00 €`."
    )


class DashboardLinkBody(BaseModel):
    """Who wants to see the dashboard."""

    model_config = ConfigDict(title="DashboardLink", extra="ignore")

    email: _Email = Field(
        None, description="The merchant's e-mail; without it, the store's first owner."
    )


class RecommenderSettingsBody(BaseModel):
    """The settings to change. Absent ones keep their value, null resets to the default."""

    model_config = ConfigDict(title="RecommenderSettings", extra="ignore")

    rec_num: _RecNum = Field(
        None,
        description=(
            "How many products a reply has when the request does not say; default 8."
        ),
    )
    allow_repeat_recommendations: OptionalSwitch = Field(
        None, description="Whether bought products may be recommended again; default no."
    )


def parse_introduction(body: object) -> PluginDetails:
    """Return the connect request; its defaults without a body.

    Raises:
        BodyError: when the body is not a connect request.
    """
    fields = _parsed(ConnectBody, body)
    return PluginDetails(fields.platform, fields.plugin_version, fields.store_url)


def parse_dashboard_link(body: object) -> str | None:
    """Return the e-mail of a dashboard link; None without one.

    Raises:
        BodyError: when the body is not such a request.
    """
    return _parsed(DashboardLinkBody, body).email


def parse_engines_init(body: object) -> EnginesInitBody:
    """Return the init request; its defaults without a body.

    Raises:
        BodyError: when the body is not an init request.
    """
    return _parsed(EnginesInitBody, body)


def parse_recommender_settings(body: object) -> dict[str, SettingValue | None]:
    """Return the changed settings by name; None resets to the default.

    Raises:
        BodyError: when the body is not recommender settings.
    """
    return _parsed(RecommenderSettingsBody, body).model_dump(exclude_unset=True)


def _parsed(model: type[_Body], body: object) -> _Body:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise BodyError(from_details(error.errors(include_url=False), ("body",))) from None
