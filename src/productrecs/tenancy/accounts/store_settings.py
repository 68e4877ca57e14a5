"""Store settings: their names, meanings, defaults and parsers."""

import calendar
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import date, timedelta
from typing import Final, Literal
from zoneinfo import ZoneInfo

from productrecs.core.errors import ProductRecsError
from productrecs.core.written_numbers import parse_typed_amount, parse_typed_number
from productrecs.tenancy.accounts.currency_language_and_zone_codes import (
    known_codes,
    suggest_nearest_codes,
)
from productrecs.tenancy.users.dashboard_user import InvalidEmailError, normalise_email

SettingValue = str | int | float | bool

MAX_CURRENCY_LENGTH: Final = 8  # of events and orders, which may name any
_REGION_LENGTH: Final = 2
MAX_PRICE_FORMAT: Final = 40
WEEKDAYS: Final = tuple(name.lower() for name in calendar.day_name)
"""From Monday, as `date.weekday` counts."""
MIN_RETENTION_DAYS: Final = 90
"""What models and reports need of the log; a purchase looks back 30 days of it."""
MAX_RETENTION_DAYS: Final = 3650


class SettingError(ProductRecsError):
    """The setting does not exist or cannot have this value."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Every setting of one store, resolved: the stored value, else the default."""

    language: str = "en"
    currency: str = "EUR"
    price_format: str = ""
    public_price_groups: str = ""
    timezone: str = "UTC"
    week_start: str = "monday"
    contact_email: str = ""
    rec_num: int = 8
    allow_repeat_recommendations: bool = False
    repeat_after_days: int = 0
    customer_lists: Literal["limited", "signed", "open"] = "limited"
    hide_out_of_stock: bool = True
    replace_sold_out: bool = True
    visual_recommendations: bool = True
    earnings_weight: float = 0.0
    trending_metric: Literal["orders", "units", "revenue"] = "orders"
    trending_days: int = 30
    trending_min_price: float = 0.0
    search_sold_out: Literal["mixed", "last", "hidden"] = "mixed"
    search_meaning: bool = True
    search_query_filters: bool = True
    search_collapse: Literal["request", "always", "never"] = "request"
    unconfirmed_orders: Literal["auto", "count", "ignore"] = "auto"
    network_share: int = 60
    holdout_percent: float = 0.0
    holdout_test: str = "holdout"
    demand_forecast: bool = False
    public_forecast: bool = True
    lead_time_days: int = 14
    service_level: float = 95.0
    order_every_days: int = 7
    overstock_days: int = 90
    order_budget: float = 0.0
    holiday_country: str = ""
    retention_days: int = 0
    product_feeds: bool = False
    mail_slots: bool = False
    shopping_assistants: bool = False
    browser_assistants: bool = False

    @property
    def zone(self) -> ZoneInfo:
        """The store's time zone."""
        return ZoneInfo(self.timezone)

    def week_of(self, day: date) -> date:
        """Return the first day of the week that has `day`."""
        return day - timedelta(days=(day.weekday() - WEEKDAYS.index(self.week_start)) % 7)


@dataclass(frozen=True, slots=True)
class SettingSpec:
    """One setting: its name, parser and meaning."""

    name: str
    parse: Callable[[str], SettingValue]
    meaning: str


def _parse_language(text: str) -> str:
    known = known_codes()
    language, *more = text.split("-")
    regions = {region.upper() for region in more if len(region) == _REGION_LENGTH}
    is_tag = re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", text)
    if not is_tag or language not in known.languages or not regions <= known.regions:
        near = suggest_nearest_codes(language, known.languages)
        message = f"a language tag such as en, de or pt-BR{near}"
        raise ValueError(message)
    return text


def _parse_currency(text: str) -> str:
    name, known = text.strip().upper(), known_codes().currencies
    if name not in known:
        message = (
            f"a currency code of ISO 4217, such as EUR{suggest_nearest_codes(text, known)}"
        )
        raise ValueError(message)
    return name


def _parse_price_example(text: str) -> str:
    is_form = re.search(r"1\D?234(\D0+)?", text) and not re.search(r"[\0-\x1f]", text)
    if text and not (is_form and len(text) <= MAX_PRICE_FORMAT):
        message = (
            "the price 1234 as pages write it, such as 1.234,00 €; empty for automatic"
        )
        raise ValueError(message)
    return text


def _parse_price_groups(text: str) -> str:
    names = [name for part in text.split(",") if (name := part.strip().lower())]
    names = [name.removeprefix("group:") for name in names]
    if not all(re.fullmatch(r"[a-z0-9_-]{1,40}", name) for name in names):
        message = "names of customer groups, separated by commas, such as trade,club"
        raise ValueError(message)
    return ",".join(dict.fromkeys(names))


def _parse_timezone(text: str) -> str:
    zones = known_codes().timezones
    if text not in zones:
        near = suggest_nearest_codes(text, {zone: zone for zone in sorted(zones)})
        message = f"the name of a time zone such as Europe/Berlin or UTC{near}"
        raise ValueError(message)
    return text


def _parse_holiday_country(text: str) -> str:
    if not text.strip():
        return ""
    try:
        import holidays  # noqa: PLC0415 - only when a country is set
        from holidays.registry import COUNTRIES  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        message = "empty where the package productrecs[forecast] is not installed"
        raise ValueError(message) from error
    code, _, region = text.strip().upper().partition("-")
    names = {codes[1]: name.replace("_", " ").title() for name, codes in COUNTRIES.items()}
    message = (
        "the code of a country, such as DE, or with its region, such as DE-BY; empty for "
        f"none{suggest_nearest_codes(text, names)}"
    )
    if code not in known_codes().regions:
        raise ValueError(message)
    try:
        holidays.country_holidays(code, subdiv=region or None)
    except NotImplementedError as error:
        raise ValueError(message) from error
    return f"{code}-{region}" if region else code


def _parse_contact_email(text: str) -> str:
    try:
        return normalise_email(text) if text.strip() else ""
    except InvalidEmailError as error:
        message = "an e-mail address such as help@shop.example.com; empty for none"
        raise ValueError(message) from error


def _integer_parser(lowest: int, highest: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        message = f"a whole number from {lowest} to {highest}"
        try:
            value = int(text)
        except ValueError as error:
            raise ValueError(message) from error
        if not lowest <= value <= highest:
            raise ValueError(message)
        return value

    return parse


def _parse_retention_days(text: str) -> int:
    if text.strip() == "0":
        return 0
    try:
        return _integer_parser(MIN_RETENTION_DAYS, MAX_RETENTION_DAYS)(text)
    except ValueError as error:
        message = f"0 or {error}"
        raise ValueError(message) from error


def _parse_switch(text: str) -> bool:
    words = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
    if text.strip().lower() not in words:
        message = "true or false"
        raise ValueError(message)
    return words[text.strip().lower()]


def _parse_money(text: str) -> float:
    message = "an amount of at least 0, such as 1234 or 99.50"
    try:
        value = parse_typed_amount(text)
    except ValueError as error:
        raise ValueError(message) from error
    if not 0 <= value <= 1e12:  # noqa: PLR2004 - contract's bound
        raise ValueError(message)
    return value


def _parse_share(text: str) -> float:
    message = "a number from 0 to 1"
    try:
        value = parse_typed_number(text)
    except ValueError as error:
        raise ValueError(message) from error
    if not 0 <= value <= 1:
        raise ValueError(message)
    return value


def _percentage_parser(highest: float, lowest: int = 0) -> Callable[[str], float]:
    def parse(text: str) -> float:
        message = f"a percentage from {lowest} to {highest:g}"
        try:
            value = parse_typed_number(text.strip().removesuffix("%"))
        except ValueError as error:
            raise ValueError(message) from error
        if not lowest <= value <= highest:
            raise ValueError(message)
        return value

    return parse


def _parse_test_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}", text):
        message = "a name of up to 64 letters, digits, blanks, dots and dashes"
        raise ValueError(message)
    return text


def _choice_parser(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            message = f"one of {', '.join(words)}"
            raise ValueError(message)
        return text

    return parse


SETTINGS: Final[tuple[SettingSpec, ...]] = (
    SettingSpec("language", _parse_language, "the language of the store's texts"),
    SettingSpec(
        "currency", _parse_currency, "the currency of prices and of order lines without one"
    ),
    SettingSpec(
        "price_format",
        _parse_price_example,
        "how widgets write the price 1234: `1.234,00 €`; empty: as the page's language",
    ),
    SettingSpec(
        "public_price_groups",
        _parse_price_groups,
        "customer groups whose price lists everybody may read with the publishable key, "
        "separated by commas; empty: none",
    ),
    SettingSpec(
        "timezone",
        _parse_timezone,
        "the time zone in which the store's days start and end",
    ),
    SettingSpec(
        "week_start",
        _choice_parser(*WEEKDAYS),
        "the day on which the weeks of reports and charts begin",
    ),
    SettingSpec(
        "contact_email",
        _parse_contact_email,
        "the address to which answers to the e-mails about the store go, and which its "
        "team sees; empty: none",
    ),
    SettingSpec(
        "rec_num",
        _integer_parser(1, 20),
        ("how many products a reply has when the request does not say"),
    ),
    SettingSpec(
        "allow_repeat_recommendations",
        _parse_switch,
        "whether products that the shopper already bought may be recommended again",
    ),
    SettingSpec(
        "repeat_after_days",
        _integer_parser(0, 3650),
        "after how many days a bought product may be recommended again; 0: never",
    ),
    SettingSpec(
        "customer_lists",
        _choice_parser("limited", "signed", "open"),
        "what a customer's id shows without proof that the caller is the customer: "
        "ordinary lists, but none that shows a history itself (limited), nothing of their "
        "history (signed), or everything (open)",
    ),
    SettingSpec(
        "hide_out_of_stock", _parse_switch, "whether unavailable products are hidden"
    ),
    SettingSpec(
        "replace_sold_out",
        _parse_switch,
        "whether the page of a product that cannot be bought leads with replacements",
    ),
    SettingSpec(
        "visual_recommendations",
        _parse_switch,
        "whether visually similar products are recommended, also to fill short lists",
    ),
    SettingSpec(
        "earnings_weight",
        _parse_share,
        "how much margin and stock count among products of similar relevance: from 0 "
        "(relevance only) to 1",
    ),
    SettingSpec(
        "trending_metric",
        _choice_parser("orders", "units", "revenue"),
        "what trending counts: orders, units or revenue",
    ),
    SettingSpec("trending_days", _integer_parser(1, 365), "how many days trending covers"),
    SettingSpec(
        "trending_min_price", _parse_money, "the lowest price of products in trending"
    ),
    SettingSpec(
        "search_sold_out",
        _choice_parser("mixed", "last", "hidden"),
        "whether search shows unavailable products among the others (mixed), after them "
        "(last), or not at all (hidden)",
    ),
    SettingSpec(
        "search_meaning",
        _parse_switch,
        "whether products of similar meaning follow those that hold the words of a search",
    ),
    SettingSpec(
        "search_query_filters",
        _parse_switch,
        "whether words of a search that name a price, size, brand, colour or material "
        "filter its results",
    ),
    SettingSpec(
        "search_collapse",
        _choice_parser("request", "always", "never"),
        "whether products that differ only in size and colour are one result of a search: "
        "in the search widget and on request (request), always, or never",
    ),
    SettingSpec(
        "unconfirmed_orders",
        _choice_parser("auto", "count", "ignore"),
        "whether orders sent with the publishable key alone count: only while none come "
        "with the secret key (auto), always (count), or never, nor do buy events (ignore)",
    ),
    SettingSpec(
        "network_share",
        _integer_parser(0, 1_000_000),
        "how many visits and purchases a day one network adds to everybody's lists at "
        "least; 0: no limit",
    ),
    SettingSpec(
        "holdout_percent",
        _percentage_parser(90),
        "the percentage of shoppers who get empty lists, to measure what "
        "recommendations sell",
    ),
    SettingSpec(
        "holdout_test",
        _parse_test_name,
        "the name of the holdout test; a new name draws new shoppers",
    ),
    SettingSpec(
        "demand_forecast",
        _parse_switch,
        "whether demand is forecast each night; `store enable-demand` also starts a "
        "first forecast",
    ),
    SettingSpec(
        "public_forecast",
        _parse_switch,
        "whether the publishable key, which is in the shop's pages, may read past sales, "
        "the forecast and stock from the API; off: the secret key alone",
    ),
    SettingSpec(
        "lead_time_days",
        _integer_parser(1, 365),
        "days from an order at a supplier until the goods can be sold",
    ),
    SettingSpec(
        "service_level",
        _percentage_parser(99.9, 50),
        "the percentage of orders at suppliers for which stock should last until they "
        "arrive",
    ),
    SettingSpec(
        "order_every_days",
        _integer_parser(1, 365),
        "how many days an order at a supplier should last beyond its lead time",
    ),
    SettingSpec(
        "overstock_days",
        _integer_parser(29, 730),
        "stock cover above this many days is reported as overstock",
    ),
    SettingSpec(
        "order_budget",
        _parse_money,
        "the most money that orders of one day at suppliers may cost; 0: no limit",
    ),
    SettingSpec(
        "holiday_country",
        _parse_holiday_country,
        "whose public holidays the demand forecast knows: DE, or with a region DE-BY; "
        "empty: none",
    ),
    SettingSpec(
        "retention_days",
        _parse_retention_days,
        "after how many days events are purged, searches and impressions too; 0: as the "
        "installation's PRODUCTRECS_RETENTION_DAYS says",
    ),
    SettingSpec(
        "product_feeds",
        _parse_switch,
        "whether the product feeds for Google, Meta and OpenAI can be fetched",
    ),
    SettingSpec(
        "mail_slots",
        _parse_switch,
        "whether the pictures and links of products in mails can be opened",
    ),
    SettingSpec(
        "shopping_assistants",
        _parse_switch,
        "whether shopping assistants can search the catalog (UCP)",
    ),
    SettingSpec(
        "browser_assistants",
        _parse_switch,
        "whether assistants in a shopper's browser can use the shop's pages (WebMCP)",
    ),
)
_BY_NAME: Final[Mapping[str, SettingSpec]] = {setting.name: setting for setting in SETTINGS}


def resolve_settings(stored: Mapping[str, SettingValue]) -> StoreSettings:
    """Return every setting; those not in `stored` have their default."""
    names = {field.name for field in fields(StoreSettings)}
    return StoreSettings(**{name: value for name, value in stored.items() if name in names})  # type: ignore[arg-type]  # values were parsed by their Setting when stored


def parse_setting(name: str, text: str) -> SettingValue:
    """Return the parsed value of the setting `name`.

    Raises:
        SettingError: for an unknown name or an invalid value; names the valid ones.
    """
    setting = _BY_NAME.get(name)
    if setting is None:
        message = f"there is no setting {name!r}; there are {', '.join(sorted(_BY_NAME))}"
        raise SettingError(message)
    try:
        return setting.parse(text)
    except ValueError as error:
        message = f"{name}={text} is invalid: {name} is {error}"
        raise SettingError(message) from error
