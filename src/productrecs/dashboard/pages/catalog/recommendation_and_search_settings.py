"""Settings of lists, trending and search: the page that changes them, applied at once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from productrecs.core.written_numbers import typed_amount
from productrecs.dashboard.page import NavigationGroup, Page, Reply, Visit
from productrecs.dashboard.relevance_effect import (
    EffectOnQuerySet,
    measure_effect_on_query_set,
)
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.serving.cached_store import searchable_store
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.tenancy.accounts.store_settings import (
    SettingError,
    StoreSettings,
    parse_setting,
)

SETTINGS_PATH: Final = "/dashboard/merchandising/settings"
_OF_SEARCH: Final = (
    "search_sold_out",
    "search_meaning",
    "search_query_filters",
    "search_collapse",
)
_TRENDING: Final = frozenset({"trending_metric", "trending_days"})


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting in the form."""

    name: str
    label: str
    hint: str
    kind: Literal["check", "number", "choice", "text"]
    choices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SettingGroup:
    """The settings of one card."""

    title: str
    lead: str
    fields: tuple[SettingField, ...]


GROUPS: Final = (
    SettingGroup(
        "Lists",
        "In every list of recommendations",
        (
            SettingField(
                "rec_num",
                "Products in a list",
                "From 1 to 20, where the page does not say how many",
                "number",
            ),
            SettingField(
                "hide_out_of_stock",
                "Hide products that are out of stock",
                "Lists show them again when your shop sends new stock",
                "check",
            ),
            SettingField(
                "replace_sold_out",
                "Offer replacements for products that cannot be bought",
                "On such a product's page, half of the list are replacements",
                "check",
            ),
            SettingField(
                "visual_recommendations",
                "Fill up with products that look similar",
                "Used where orders and visits are too few; needs your products' pictures",
                "check",
            ),
            SettingField(
                "allow_repeat_recommendations",
                "Recommend products again that the shopper has bought",
                "For goods that people buy often, such as food",
                "check",
            ),
            SettingField(
                "repeat_after_days",
                "Recommend bought products again after days",
                "0 means never",
                "number",
            ),
        ),
    ),
    SettingGroup(
        "Trending",
        "After a change, trending is counted again within minutes",
        (
            SettingField(
                "trending_metric",
                "What counts",
                "",
                "choice",
                (("orders", "Orders"), ("units", "Units sold"), ("revenue", "Sales")),
            ),
            SettingField("trending_days", "Days that count", "From 1 to 365", "number"),
            SettingField(
                "trending_min_price",
                "Lowest price",
                "Cheaper products are left out; 0 means no limit",
                "number",
            ),
        ),
    ),
    SettingGroup(
        "Search",
        "In your shop's search",
        (
            SettingField(
                "search_sold_out",
                "Products out of stock",
                "",
                "choice",
                (
                    ("mixed", "Among the others"),
                    ("last", "After the others"),
                    ("hidden", "Not at all"),
                ),
            ),
            SettingField(
                "search_meaning",
                "Show products of similar meaning",
                "After the products that have the words: “couch” also finds sofas",
                "check",
            ),
            SettingField(
                "search_query_filters",
                "Read prices, sizes, brands, colours and materials as filters",
                "“Red shoes under 80” shows only these; shoppers can remove each filter",
                "check",
            ),
            SettingField(
                "search_collapse",
                "Products that differ only in size and colour",
                "The first two differ only on a search page of your own, not in the widget",
                "choice",
                (
                    ("request", "One result in the search widget"),
                    ("always", "One result in every search"),
                    ("never", "One result each"),
                ),
            ),
        ),
    ),
    SettingGroup(
        "Customers",
        "Anyone can guess a customer's number. Choose what one shows that is not signed",
        (
            SettingField(
                "customer_lists",
                "Lists for a customer's number that is not signed",
                "The guide about keys says how your shop signs a customer's number",
                "choice",
                (
                    (
                        "limited",
                        "Fit the customer; never list what they bought or viewed",
                    ),
                    ("signed", "Use nothing that the customer did"),
                    ("open", "Use everything, and list what they bought or viewed"),
                ),
            ),
        ),
    ),
    SettingGroup(
        "Orders",
        "Anyone can send orders with the publishable key, as it is in your shop's pages",
        (
            SettingField(
                "unconfirmed_orders",
                "Orders that came without the secret key",
                "“Count always” and “Never count” also apply to earlier orders",
                "choice",
                (
                    ("auto", "Count only while your server sends no orders"),
                    ("count", "Count always"),
                    ("ignore", "Never count, and ignore purchases that pages report"),
                ),
            ),
        ),
    ),
    SettingGroup(
        "Forecast",
        "Anyone can read the publishable key in your shop's pages",
        (
            SettingField(
                "public_forecast",
                "The publishable key reads past sales, the forecast and stock",
                "Switch it off if no page of your shop shows them: then only your secret "
                "key reads them from the API",
                "check",
            ),
        ),
    ),
    SettingGroup(
        "Price lists",
        "Prices by market and customer group",
        (
            SettingField(
                "public_price_groups",
                "Customer groups whose prices anybody may read",
                "Separated by commas, such as club; other groups' prices need your secret "
                "key",
                "text",
            ),
        ),
    ),
)


def show_list_and_search_settings(visit: Visit) -> Reply:
    """Show the effective settings."""
    return _list_and_search_settings_page(visit, _stored_setting_texts(visit), {})


def save_list_and_search_settings(visit: Visit) -> Reply:
    """Store all settings, or none; each error is shown next to its field."""
    before = _stored_setting_texts(visit)
    texts = {field.name: _submitted_text(visit, field) for field in _every_field()}
    errors = setting_errors(texts, {field.name: field.label for field in _every_field()})
    if errors:
        return _list_and_search_settings_page(visit, texts, errors, status=422)
    visit.change_settings(texts)
    changed_names = {
        name for name, value_text in texts.items() if value_text != before[name]
    }
    message = "Saved. Every list and search follows within a second."
    if changed_names & _TRENDING:
        visit.enqueue_job("train")
        message += " Trending is counted anew now, which takes up to some minutes."
    if not changed_names:
        message = "Nothing was changed."
    return visit.redirect(SETTINGS_PATH, message)


def show_settings_effect_on_query_set(visit: Visit) -> Reply:
    """Show what unsaved settings of search do to the query set."""
    sent = {field.name: _submitted_text(visit, field) for field in _every_field()}
    errors = setting_errors(sent, {field.name: field.label for field in _every_field()})
    if errors:
        return _list_and_search_settings_page(visit, sent, errors, status=422)
    stored = find_store(visit.database, visit.store.domain).settings
    typed = {name: parse_setting(name, sent[name]) for name in _OF_SEARCH}
    changed: StoreSettings = replace(stored, **typed)  # type: ignore[arg-type]  # as parsed
    now, then = (
        searchable_store(visit.cached_store, settings) for settings in (stored, changed)
    )
    return _list_and_search_settings_page(
        visit, sent, {}, effect=measure_effect_on_query_set(visit, now, then)
    )


def _submitted_text(visit: Visit, field: SettingField) -> str:
    value = visit.form[field.name]
    if field.kind == "check":
        return "true" if field.name in visit.form else "false"
    return value


def setting_errors(sent: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return the errors of typed settings by name."""
    errors = {}
    for name, text in sent.items():
        try:
            parse_setting(name, text)
        except SettingError as error:
            meaning = str(error).rpartition(f"{name} is ")[2]
            errors[name] = f"{labels[name]} must be {meaning}."
    return errors


def _every_field() -> list[SettingField]:
    return [field for group in GROUPS for field in group.fields]


def _stored_setting_texts(visit: Visit) -> dict[str, str]:
    settings = find_store(visit.database, visit.store.domain).settings
    texts = {}
    for field in _every_field():
        value = getattr(settings, field.name)
        is_switch = isinstance(value, bool)
        texts[field.name] = (
            str(value).lower()
            if is_switch
            else typed_amount(value)
            if isinstance(value, float)
            else str(value)
        )
    return texts


def _list_and_search_settings_page(
    visit: Visit,
    texts: dict[str, str],
    errors: dict[str, str],
    *,
    status: int = 200,
    effect: EffectOnQuerySet | None = None,
) -> Reply:
    return visit.render(
        "list_settings.html",
        status=status,
        groups=GROUPS,
        values=texts,
        errors=errors,
        effect=effect,
        notes={
            "public_price_groups": _price_lists_note(visit),
        },
    )


def _price_lists_note(visit: Visit) -> str:
    """Return the store's price lists, each with the number of its products."""
    with visit.database.reading() as connection:
        lists = CatalogRepository(connection, visit.store.store_id).price_lists()
    if not lists:
        return "No product has a price list. Your shop sends them with each product."
    counts = [
        f"{name} ({count:,} {'product' if count == 1 else 'products'})"
        for name, count in lists.items()
    ]
    return f"Your price lists: {', '.join(counts)}."


PAGES: Final = (
    Page(
        SETTINGS_PATH,
        "List settings",
        show_list_and_search_settings,
        save_list_and_search_settings,
        action="Changed list settings",
        group=NavigationGroup.CATALOG,
    ),
    Page(
        f"{SETTINGS_PATH}/effect",
        "List settings",
        change=show_settings_effect_on_query_set,
        is_audited=False,
    ),
)
