"""Integration schemas: the bodies of `/integration/...`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from productrecs.records.experiments.experiment import (
    MAX_VARIANTS,
    MIN_SHARE,
    PLACEMENT,
    SEARCH,
    ExperimentContent,
    Goal,
    Treatment,
)
from productrecs.records.placements.bundle import MAX_NAME, MAX_PARTS, BundleState
from productrecs.schemas.field_readers import (
    Identifier,
    ItemId,
    OptionalCount,
    OptionalCurrency,
    OptionalNumber,
    OptionalSwitch,
    integer_reader,
    integer_schema,
    list_validator,
    nullable,
    string_schema,
    text_reader,
)
from productrecs.schemas.validation_errors import (
    InvalidInputError,
    ValidationProblem,
    validate_body,
)
from productrecs.tenancy.accounts.shop_connection import PluginDetails, ShopPlatform
from productrecs.tenancy.accounts.store_settings import (
    MAX_PRICE_FORMAT,
    WEEKDAYS,
    SettingError,
    SettingValue,
    parse_setting,
)

MAX_ADDRESS: Final = 2_048
MAX_VERSION: Final = 100
MAX_EMAIL: Final = 320
MAX_KEY: Final = 100
MAX_REC_NUM: Final = 20
MAX_CUSTOMER_IDS: Final = 1_000


def _setting_reader(name: str, longest: int) -> Callable[[object], str | None]:
    """Return a reader of a store's setting; None without one, which leaves it unchanged."""
    read_text = text_reader(longest, None)

    def read_setting(value: object) -> str | None:
        text = read_text(value)
        if text is None:
            return None
        try:
            return str(parse_setting(name, text))
        except SettingError as error:
            raise PydanticCustomError(name, str(error)) from error

    return read_setting


_Address = Annotated[
    str | None,
    PlainValidator(text_reader(MAX_ADDRESS, None)),
    WithJsonSchema(nullable(string_schema(0, MAX_ADDRESS))),
]
_PriceFormat = Annotated[
    str | None,
    PlainValidator(_setting_reader("price_format", MAX_PRICE_FORMAT)),
    WithJsonSchema(nullable(string_schema(0, MAX_PRICE_FORMAT))),
]
_Email = Annotated[
    str | None,
    PlainValidator(text_reader(MAX_EMAIL, None)),
    WithJsonSchema(nullable(string_schema(0, MAX_EMAIL))),
]
_ContactEmail = Annotated[
    str | None,
    PlainValidator(_setting_reader("contact_email", MAX_EMAIL)),
    WithJsonSchema(nullable(string_schema(0, MAX_EMAIL))),
]
_WeekStart = Annotated[
    str | None,
    PlainValidator(_setting_reader("week_start", MAX_EMAIL)),
    WithJsonSchema(nullable({"type": "string", "enum": list(WEEKDAYS)})),
]
_Version = Annotated[
    str | None,
    PlainValidator(text_reader(MAX_VERSION, None)),
    WithJsonSchema(nullable(string_schema(0, MAX_VERSION))),
]
_Key = Annotated[
    str | None,
    PlainValidator(text_reader(MAX_KEY, None)),
    WithJsonSchema(nullable(string_schema(0, MAX_KEY))),
]
_RecNum = Annotated[
    int | None,
    PlainValidator(integer_reader(1, MAX_REC_NUM)),
    WithJsonSchema(integer_schema(1, MAX_REC_NUM)),
]


_BundleItems = Annotated[tuple[ItemId, ...], list_validator(MAX_PARTS)]
_BundleName = Annotated[
    str,
    PlainValidator(text_reader(MAX_NAME, "")),
    WithJsonSchema(nullable(string_schema(0, MAX_NAME))),
]
BUNDLE_FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "items": "item_ids",
        "name": "name",
        "state": "state",
        "discount_percent": "discount_percent",
        "discount_amount": "discount_amount",
        "proposed": "proposed_item_ids",
    }
)
"""The names of a bundle's fields in bodies, by those of `BundleContent`."""


class ConnectBody(BaseModel):
    """The connected system. Absent or null fields keep their values."""

    model_config = ConfigDict(title="Connect", extra="ignore")

    platform: ShopPlatform | None = Field(
        None, description="The store's platform; `woocommerce` until one is set."
    )
    plugin_version: _Version = Field(None, description="The version of the calling plugin.")
    store_url: _Address = Field(None, description="The address of the store.")
    publishable_key: _Key = Field(
        None,
        description="The key of the shop's pages: one of another store is refused.",
    )


class EnginesInitBody(BaseModel):
    """Parameters of the engines. Absent or null fields keep their values."""

    model_config = ConfigDict(title="EnginesInit", extra="ignore")

    store_url: _Address = Field(None, description="The address of the store.")
    currency: OptionalCurrency = Field(
        None,
        description="The currency of prices: a code of ISO 4217, else it is not stored.",
    )
    price_format: _PriceFormat = Field(
        None, description="The price 1234 as the shop writes it: `1.234,00 €`."
    )
    week_start: _WeekStart = Field(
        None, description="The day on which the weeks of reports begin."
    )
    contact_email: _ContactEmail = Field(
        None, description="Where answers to the e-mails about the store go."
    )


class CustomerIdChangeBody(BaseModel):
    """A customer's former id, and the one that the shop sends from now on."""

    model_config = ConfigDict(title="CustomerId", extra="ignore")

    old: Identifier
    new: Identifier


class CustomerIdChangesBody(BaseModel):
    """Former ids of customers and their new ones; the new id gets the history."""

    model_config = ConfigDict(title="CustomerIds", extra="ignore")

    customers: list[CustomerIdChangeBody] = Field(min_length=1, max_length=MAX_CUSTOMER_IDS)


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


class BundleBody(BaseModel):
    """A bundle. When one is changed, absent fields keep their values."""

    model_config = ConfigDict(title="Bundle", extra="ignore")

    item_ids: _BundleItems = Field(
        (), description="The ids of its two to four products, in order."
    )
    name: _BundleName = Field("", description="A name for the merchant and the shop.")
    state: BundleState = Field(
        BundleState.ACCEPTED, description="`rejected` sets are not proposed again."
    )
    discount_percent: OptionalNumber = Field(
        None, description="Above 0 and below 100; not together with an amount."
    )
    discount_amount: OptionalNumber = Field(
        None, description="In the store's currency; below the sum of the prices."
    )
    proposed_item_ids: _BundleItems = Field(
        (), description="The products of the proposal, if they were changed."
    )
    version: OptionalCount = Field(
        None, description="Of the bundle that is changed, as it was read."
    )


def parse_bundle_fields_and_version(
    body: object, *, is_new: bool
) -> tuple[dict[str, Any], int | None]:
    """Return the sent fields of a `BundleContent`, and the version that is changed.

    Raises:
        InvalidInputError: when the body is no bundle, or a new one has no products.
    """
    sent = validate_body(BundleBody, body).model_dump(exclude_unset=True)
    version = sent.pop("version", None)
    if is_new and "item_ids" not in sent:
        message = "name the bundle's two to four products"
        raise InvalidInputError(
            [ValidationProblem(("body", "item_ids"), message, "missing")]
        )
    wire_names = {wire: name for name, wire in BUNDLE_FIELDS.items()}
    return {wire_names[name]: value for name, value in sent.items()}, version


class VariantBody(BaseModel):
    """A configuration that a share of the shoppers gets."""

    model_config = ConfigDict(title="Variant", extra="forbid")

    name: str = Field(description="Its name, of 1 to 8 letters, digits and dashes.")
    share: float = Field(
        ge=MIN_SHARE, lt=100, description="The percentage of shoppers who get it."
    )
    changes: dict[str, Any] = Field(
        description=(
            "Fields of the placement, or settings of search, with their new values."
        ),
        examples=[{"strategy": "similar", "num": 4}],
    )


class ExperimentBody(BaseModel):
    """A test: shoppers outside its variants get what the store has now."""

    model_config = ConfigDict(title="Experiment", extra="forbid")

    name: str = Field(description="Its name, such as `cart-size`.")
    placement: str | None = Field(
        None, description="The placement to test; without it, search is tested."
    )
    goal: Goal = Field(Goal.REVENUE, description="The metric that decides.")
    variants: list[VariantBody] = Field(
        max_length=MAX_VARIANTS, description="The variants beside the control."
    )


class ExperimentActionBody(BaseModel):
    """What happens to a test."""

    model_config = ConfigDict(title="ExperimentAction", extra="forbid")

    name: str = Field(description="The test.")
    action: Literal["start", "pause", "stop", "choose", "remove"] = Field(
        description="`choose` ends the test and applies `variant` for everybody."
    )
    variant: str = Field("", description="The chosen variant, or `control`.")


def parse_experiment_name_and_content(body: object) -> tuple[str, ExperimentContent]:
    """Return the name and content of a new test.

    Raises:
        InvalidInputError: when the body is not a test.
    """
    sent = validate_body(ExperimentBody, body)
    variants = tuple(Treatment(one.name, one.share, one.changes) for one in sent.variants)
    subject = SEARCH if not sent.placement else f"{PLACEMENT}{sent.placement}"
    return sent.name, ExperimentContent(subject, variants, sent.goal)


def parse_experiment_action(body: object) -> ExperimentActionBody:
    """Return what happens to a test.

    Raises:
        InvalidInputError: when the body is not such a request.
    """
    return validate_body(ExperimentActionBody, body)


def parse_connect_request(body: object, publishable_key: str = "") -> PluginDetails:
    """Return the connect request; its defaults without a body.

    Raises:
        InvalidInputError: when it is no connect request, or has another publishable key.
    """
    fields = validate_body(ConnectBody, body)
    if fields.publishable_key and fields.publishable_key != publishable_key:
        message = "This is not the publishable key of the secret key's store"
        raise InvalidInputError(
            [ValidationProblem(("body", "publishable_key"), message, "other_store")]
        )
    return PluginDetails(fields.platform, fields.plugin_version, fields.store_url)


def parse_customer_id_changes(body: object) -> list[tuple[str, str]]:
    """Return pairs of a customer's former id and their new one.

    Raises:
        InvalidInputError: when the body has no such pairs, or too many.
    """
    customers = validate_body(CustomerIdChangesBody, body).customers
    return [(customer.old, customer.new) for customer in customers]


def parse_dashboard_link_email(body: object) -> str | None:
    """Return the e-mail of a dashboard link; None without one.

    Raises:
        InvalidInputError: when the body is not such a request.
    """
    return validate_body(DashboardLinkBody, body).email


def parse_engines_init(body: object) -> EnginesInitBody:
    """Return the init request; its defaults without a body.

    Raises:
        InvalidInputError: when the body is not an init request.
    """
    return validate_body(EnginesInitBody, body)


def parse_recommender_settings(body: object) -> dict[str, SettingValue | None]:
    """Return the changed settings by name; None resets to the default.

    Raises:
        InvalidInputError: when the body is not recommender settings.
    """
    return validate_body(RecommenderSettingsBody, body).model_dump(exclude_unset=True)
