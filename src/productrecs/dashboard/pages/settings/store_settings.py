"""Store settings page: currency, language, days, contact; deletes the store."""

import contextlib
from dataclasses import asdict, replace
from typing import Final

from productrecs.dashboard.cookies import SESSION
from productrecs.dashboard.formats import currency_options, language_options
from productrecs.dashboard.page import (
    LOGIN_PATH,
    NavigationGroup,
    Page,
    Reply,
    Visit,
)
from productrecs.dashboard.pages.catalog.recommendation_and_search_settings import (
    setting_errors,
)
from productrecs.dashboard.relevance_effect import (
    EffectOnQuerySet,
    measure_effect_on_query_set,
)
from productrecs.features.attribution.event_purge import retention_days
from productrecs.features.widgets.price_format import format_widget_price
from productrecs.serving.cached_store import searchable_store
from productrecs.serving.store_deletion import delete_store_and_test_store
from productrecs.storage.sql.storage_usage import StoredDataSize, newest_sizes
from productrecs.tenancy.accounts.currency_language_and_zone_codes import known_codes
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.tenancy.accounts.store_settings import WEEKDAYS
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.training.search.index_in_another_language import (
    CatalogTooLargeForTrialIndexError,
    temporary_index_in_language,
)

STORE_SETTINGS_PATH: Final = "/dashboard/settings"
LABELS: Final = {
    "currency": "The currency",
    "language": "The language",
    "timezone": "The time zone",
    "price_format": "The price format",
    "week_start": "The first day of the week",
    "contact_email": "The contact address",
}
_SAMPLES: Final = (9.5, 1234.0)


def show_store_settings(visit: Visit, status: int = 200, deletion_error: str = "") -> Reply:
    """Show the settings; htmx asks only for the preview of prices."""
    if visit.is_partial:
        sent = {name: visit.query[name] for name in LABELS}
        errors = setting_errors(sent, LABELS)
        return visit.render(
            "store_settings_preview.html",
            errors=errors,
            prices=_sample_widget_prices(visit, sent, errors),
        )
    stored = asdict(find_store(visit.database, visit.store.domain).settings)
    texts = {name: str(stored[name]) for name in LABELS}
    return _page_of_store_settings(
        visit, texts, status=status, deletion_error=deletion_error
    )


def save_store_settings(visit: Visit) -> Reply:
    """Store the settings, all or none."""
    sent = {name: visit.form[name] for name in LABELS}
    errors = setting_errors(sent, LABELS)
    if errors:
        return _page_of_store_settings(visit, sent, errors, status=422)
    visit.change_settings(sent)
    return visit.redirect(
        STORE_SETTINGS_PATH, "Saved. Pages and reports follow within a second."
    )


def show_language_effect_on_query_set(visit: Visit) -> Reply:
    """Show what the unsaved language and currency do to the query set."""
    sent = {name: visit.form[name] for name in LABELS}
    errors = setting_errors(sent, LABELS)
    if errors:
        return _page_of_store_settings(visit, sent, errors, status=422)
    stored = find_store(visit.database, visit.store.domain).settings
    changed = replace(stored, **sent)  # type: ignore[arg-type]  # checked texts
    now, then = (
        searchable_store(visit.cached_store, settings) for settings in (stored, changed)
    )
    with contextlib.closing(visit.database.raw_reader()) as reader:
        trial = temporary_index_in_language(
            reader,
            visit.store.store_id,
            changed.language,
            now.index,
            visit.services.indexes,
        )
        try:
            with trial as index:
                effect = measure_effect_on_query_set(visit, now, replace(then, index=index))
        except CatalogTooLargeForTrialIndexError as error:
            errors["language"] = str(error)
            return _page_of_store_settings(visit, sent, errors, status=422)
    return _page_of_store_settings(visit, sent, effect=effect)


def delete_store_and_log_out(visit: Visit) -> Reply:
    """Delete the store if its domain is typed, and with it every session in it."""
    store = visit.store
    if visit.form["domain"].lower() != store.domain:
        error = f"Type {store.domain} to delete it. Nothing was deleted."
        return show_store_settings(visit, status=422, deletion_error=error)
    delete_store_and_test_store(visit.services, store)
    visit.refresh_accounts()
    reply = visit.redirect(LOGIN_PATH, f"{store.domain} is deleted with all its data.")
    return replace(reply, cookies={**reply.cookies, SESSION: None})


def _sample_widget_prices(
    visit: Visit, sent: dict[str, str], errors: dict[str, str]
) -> list[str]:
    """Return sample prices as widgets write them with these settings."""
    if errors:
        return []
    settings = replace(visit.store.settings, **sent)  # type: ignore[arg-type]  # checked texts
    return [format_widget_price(settings, price) for price in _SAMPLES]


def _is_place_time_zone(timezone: str) -> bool:
    """Return whether a time zone is that of a place, not an old name such as `ROC`."""
    return timezone == "UTC" or ("/" in timezone and not timezone.startswith("Etc/"))


def _data_sizes(visit: Visit) -> list[StoredDataSize]:
    """Return what the store's data took last night."""
    with visit.database.reading() as connection:
        return newest_sizes(connection, visit.store.store_id)


def _page_of_store_settings(
    visit: Visit,
    texts: dict[str, str],
    errors: dict[str, str] | None = None,
    status: int = 200,
    effect: EffectOnQuerySet | None = None,
    deletion_error: str = "",
) -> Reply:
    codes, errors, sizes = known_codes(), errors or {}, _data_sizes(visit)
    zones = sorted({*filter(_is_place_time_zone, codes.timezones), texts["timezone"]})
    currencies = currency_options()
    if texts["currency"] not in codes.currencies:  # stored before only known ones were
        currencies.insert(0, (texts["currency"], texts["currency"]))
    return visit.render(
        "store_settings.html",
        status=status,
        sent=texts,
        errors=errors,
        effect=effect,
        deletion_error=deletion_error,
        currencies=currencies,
        languages=language_options(texts["language"]),
        timezones=[(zone, zone.replace("_", " ")) for zone in zones],
        weekdays=[(name, name.capitalize()) for name in WEEKDAYS],
        prices=_sample_widget_prices(visit, texts, errors),
        may_change=visit.user.role is Role.OWNER,
        may_delete=visit.user.role is Role.OWNER and not visit.user.is_from_shop,
        sizes=sizes,
        old_bytes=sum(size.old_bytes for size in sizes),
        retention_days=retention_days(visit.store, visit.services.settings.retention_days),
    )


PAGES: Final = (
    Page(
        STORE_SETTINGS_PATH,
        "Your store",
        show_store_settings,
        save_store_settings,
        group=NavigationGroup.SETTINGS,
        may_change=Role.OWNER,
        action="Changed the store's settings",
    ),
    Page(
        f"{STORE_SETTINGS_PATH}/effect",
        "Your store",
        change=show_language_effect_on_query_set,
        may_change=Role.OWNER,
        is_audited=False,
    ),
    Page(
        f"{STORE_SETTINGS_PATH}/delete",
        "Your store",
        change=delete_store_and_log_out,
        may_change=Role.OWNER,
        is_of_login=True,
        is_audited=False,  # the audit log is deleted too; the service's log has a line
    ),
)
