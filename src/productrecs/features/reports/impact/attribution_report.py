"""Attribution report: carts and sales after lists, by widget, source and position."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Final, NamedTuple

from productrecs.core.report import (
    Figure,
    FigureDefinition,
    Report,
    ReportQuery,
    ReportQueryError,
    ReportValue,
    define_figure,
    share_of,
)
from productrecs.features.reports.impact.repository import (
    AttributionReportRepository,
    GroupCurrencyTotals,
    Key,
    PeriodTotals,
    ShopperReach,
)
from productrecs.storage.sql.attribution_backlog import UnattributedRecordCount
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store

RULE: Final = (
    "Last-touch attribution: a cart or a sale is credited to the last click of the same "
    "shopper on a recommendation of the same product, at most 30 days before; without a "
    "click, to the last time it was shown. A shopper is the user_id that your shop "
    "sends, else the session_id. Imported orders are not included. This does not prove "
    "that the recommendation was the cause: a holdout test does."
)


def clicked_and_seen_definitions(
    name: str, unit: str
) -> tuple[FigureDefinition, FigureDefinition]:
    """Define the two parts of an attributed total."""
    return (
        FigureDefinition(f"{name}_clicked", unit, f"{name} credited to a click"),
        FigureDefinition(
            f"{name}_seen", unit, f"{name} credited to an impression: no click"
        ),
    )


def split_by_touchpoint(total: float, clicked: float) -> tuple[float, float, float]:
    """Return a total and its parts: after a click, and after an impression only."""
    return total, clicked, round(total - clicked, 6)


GROUPS: Final = {
    "day": FigureDefinition(
        "day", "day", "the day in the store's time zone: of the cart or sale"
    ),
    "widget": FigureDefinition(
        "widget", "text", "the widget that the credited click came from"
    ),
    "source": FigureDefinition("source", "text", "the engine that supplied the product"),
    "position": FigureDefinition("position", "count", "its place in the list, from 1"),
}
DEFAULT_BY: Final = ("widget", "source")

CURRENCY: Final = FigureDefinition("currency", "text", "the currency of value and revenue")
MEASURES: Final = (
    FigureDefinition("shown", "count", "recommended products shown (rec-impression), live"),
    FigureDefinition("clicked", "count", "clicks on them (rec-click), live"),
    FigureDefinition("click_rate", "share", "clicked / shown"),
    FigureDefinition("carts", "count", "credited add-to-carts"),
    *clicked_and_seen_definitions("carts", "count"),
    FigureDefinition("cart_value", "money", "the value of all of them"),
    FigureDefinition(
        "sales", "count", "credited order lines and buy events, without returns"
    ),
    *clicked_and_seen_definitions("sales", "count"),
    FigureDefinition(
        "units", "count", "units in them, net of returns; unknown counts as 1"
    ),
    FigureDefinition("revenue", "money", "their revenue, net of returns"),
    *clicked_and_seen_definitions("revenue", "money"),
)


_CREDITED: Final = ("carts", "orders", "revenue")
_COMPARED: Final = frozenset(
    {
        *("shown", "click_rate", "conversion", "revenue_share"),
        *(f"{name}{part}" for name in _CREDITED for part in ("", "_clicked", "_seen")),
    }
)


class GroupAttribution(NamedTuple):
    """One group in one currency; impressions have none and are in the store's row."""

    key: Key
    currency: str
    shown: int | None
    clicked: int | None
    attributed: GroupCurrencyTotals


NO_TOTALS: Final = GroupCurrencyTotals(0, 0, 0.0, 0, 0, 0, 0.0, 0.0)


def attribution_report(database: Database, store: Store, period: ReportQuery) -> Report:
    """Return what is attributed to recommendations of a period, most revenue first.

    Raises:
        ReportQueryError: for an unknown grouping.
    """
    by = period.by or DEFAULT_BY
    unknown = [name for name in by if name not in GROUPS]
    if unknown or len(set(by)) != len(by):
        message = f"group by any of {', '.join(GROUPS)}, each once"
        raise ReportQueryError(message)
    with database.reading() as connection:
        repository = AttributionReportRepository(connection, store.store_id)
        backlog, currency = repository.backlog(), store.settings.currency
        groups = _read_group_attributions(repository, period, by, currency)
        reach = repository.shopper_reach_and_total(period, ())[()]
        figures = [*_reach_figures(reach)]
        figures += _attribution_figures(groups, repository.period_totals(period), currency)
        earlier = _preceding_period(period)
        if earlier is not None:
            before = _read_group_attributions(repository, earlier, by, currency)
            figures += _to_before_figures(
                _attribution_figures(before, repository.period_totals(earlier), currency)
            )
    rows = tuple(
        _group_attribution_row(group)
        for group in _sort_by_revenue_or_key(groups, by)[: period.limit]
    )
    return Report(
        name="attribution",
        title=f"Carts and sales after recommendations, {period.first_day} to "
        f"{period.last_day}",
        figures=tuple(figures),
        columns=(*(GROUPS[name] for name in by), CURRENCY, *MEASURES),
        rows=rows,
        notes=(RULE, *attribution_notes(len(groups) - len(rows), backlog)),
    )


def _reach_figures(reach: ShopperReach) -> Iterable[Figure]:
    definition = (
        "different shoppers who were shown a recommendation (accurate to about 2 %)"
    )
    yield define_figure("shoppers", "count", reach.shown, definition)
    definition = "different shoppers who clicked on one"
    yield define_figure("shoppers_clicked", "count", reach.clicked, definition)


def _read_group_attributions(
    repository: AttributionReportRepository,
    period: ReportQuery,
    by: Sequence[str],
    currency: str,
) -> list[GroupAttribution]:
    return join_touchpoints_and_totals(
        repository.touchpoint_counts(period, by),
        repository.attributed_totals(period, by),
        currency,
    )


def _preceding_period(period: ReportQuery) -> ReportQuery | None:
    """Return the period of the same length right before `period`."""
    first, last = (date.fromisoformat(day) for day in (period.first_day, period.last_day))
    days = (last - first).days + 1
    if (first - date.min).days < days:
        return None
    return replace(
        period,
        first_day=(first - timedelta(days=days)).isoformat(),
        last_day=(first - timedelta(days=1)).isoformat(),
    )


def _to_before_figures(figures: Iterable[Figure]) -> Iterable[Figure]:
    """Yield the same figures for the preceding days, for comparison."""
    for figure in figures:
        definition = figure.definition
        if definition.name in _COMPARED:
            meaning = f"{definition.meaning}: in the same number of days directly before"
            yield define_figure(
                f"{definition.name}_before", definition.unit, figure.value, meaning
            )


def join_touchpoints_and_totals(
    touchpoints: Mapping[Key, tuple[int, int]],
    credited: Mapping[Key, GroupCurrencyTotals],
    own_currency: str,
) -> list[GroupAttribution]:
    """Return every group with impressions or attributed sums, in each of its currencies."""
    grouped: dict[tuple[Key, str], list[GroupCurrencyTotals]] = defaultdict(list)
    for group, totals in credited.items():
        grouped[group[:-1], group[-1] or own_currency].append(totals)
    for key in touchpoints:
        grouped.setdefault((key, own_currency), [])
    return [
        _to_group_attribution(
            key,
            currency,
            touchpoints if currency == own_currency else None,
            sum_totals(parts),
        )
        for (key, currency), parts in grouped.items()
    ]


def _to_group_attribution(
    key: Key,
    currency: str,
    touchpoints: Mapping[Key, tuple[int, int]] | None,
    credited: GroupCurrencyTotals,
) -> GroupAttribution:
    if touchpoints is None:
        return GroupAttribution(key, currency, None, None, credited)
    shown, clicked = touchpoints.get(key, (0, 0))
    return GroupAttribution(key, currency, shown, clicked, credited)


def sum_totals(parts: Iterable[GroupCurrencyTotals]) -> GroupCurrencyTotals:
    """Return the sum of attributed totals in one currency."""
    return GroupCurrencyTotals._make(map(sum, zip(NO_TOTALS, *parts, strict=True)))


def attribution_notes(omitted: int, backlog: UnattributedRecordCount) -> list[str]:
    """Return notes on a table that is truncated or not up to date."""
    notes = []
    if omitted > 0:
        notes.append(f"{omitted} more rows are not shown; raise the limit to see them.")
    return [*notes, *filter(None, [backlog.note])]


def _sort_by_revenue_or_key(
    groups: Iterable[GroupAttribution], by: Sequence[str]
) -> list[GroupAttribution]:
    if by[0] in {"day", "position"}:
        return sorted(groups, key=lambda group: (group.key, group.currency))
    return sorted(
        groups,
        key=lambda group: (
            -group.attributed.revenue,
            -group.attributed.carts,
            -(group.shown or 0),
            group.key,
            group.currency,
        ),
    )


def _group_attribution_row(group: GroupAttribution) -> tuple[ReportValue, ...]:
    attributed = group.attributed
    rate = None if group.shown is None else share_of(group.clicked or 0, group.shown)
    return (
        *(value or None for value in group.key),
        group.currency,
        group.shown,
        group.clicked,
        rate,
        *split_by_touchpoint(attributed.carts, attributed.carts_clicked),
        attributed.cart_value,
        *split_by_touchpoint(attributed.lines, attributed.lines_clicked),
        attributed.units,
        *split_by_touchpoint(attributed.revenue, attributed.revenue_clicked),
    )


def _attribution_figures(
    groups: Sequence[GroupAttribution], totals: Sequence[PeriodTotals], own_currency: str
) -> Iterable[Figure]:
    shown = sum(group.shown or 0 for group in groups)
    clicked = sum(group.clicked or 0 for group in groups)
    yield define_figure("shown", "count", shown, "recommended products shown, live")
    yield define_figure("clicked", "count", clicked, "clicks on them")
    yield define_figure("click_rate", "share", share_of(clicked, shown), "clicked / shown")
    bought = sum(group.attributed.lines_clicked for group in groups)
    yield define_figure(
        "conversion",
        "share",
        share_of(bought, clicked),
        "order lines after a click / clicked",
    )
    by_currency: dict[str, list[GroupCurrencyTotals]] = defaultdict(list)
    for group in groups:
        by_currency[group.currency].append(group.attributed)
    totals_by_currency = _sum_by_currency(totals, own_currency)
    for currency in sorted(
        totals_by_currency, key=lambda name: (name != own_currency, name)
    ):
        attributed = sum_totals(by_currency[currency])
        suffix = "" if currency == own_currency else f"_{currency.lower()}"
        yield from _currency_figures(
            attributed, totals_by_currency[currency], currency, suffix
        )


def _currency_figures(
    attributed: GroupCurrencyTotals, store_totals: PeriodTotals, currency: str, suffix: str
) -> Iterable[Figure]:
    carts, orders = attributed.carts, store_totals.orders_credited
    parts = split_by_touchpoint(carts, attributed.carts_clicked)
    yield from _total_and_part_figures(
        ("carts", suffix), "count", parts, "credited add-to-carts"
    )
    yield define_figure(
        f"carts_share{suffix}",
        "share",
        share_of(carts, store_totals.carts),
        "credited add-to-carts / all live add-to-carts",
    )
    parts = split_by_touchpoint(orders, store_totals.orders_clicked)
    meaning = "live orders with a credited line"
    yield from _total_and_part_figures(("orders", suffix), "count", parts, meaning)
    yield define_figure(
        f"orders_share{suffix}",
        "share",
        share_of(orders, store_totals.orders),
        "live orders with a credited line / all live orders",
    )
    parts = split_by_touchpoint(attributed.revenue, attributed.revenue_clicked)
    meaning = f"credited revenue in {currency}"
    yield from _total_and_part_figures(("revenue", suffix), "money", parts, meaning)
    shares = [share_of(part, store_totals.revenue) for part in parts]
    meaning = f"credited revenue / all live revenue in {currency}"
    yield from _total_and_part_figures(("revenue_share", suffix), "share", shares, meaning)
    yield define_figure(
        f"revenue_live{suffix}",
        "money",
        store_totals.revenue,
        f"all live revenue in {currency}, credited or not",
    )
    yield define_figure(
        f"order_value{suffix}",
        "money",
        share_of(store_totals.revenue, store_totals.orders),
        f"all live revenue / all live orders in {currency}",
    )


def _total_and_part_figures(
    name: tuple[str, str], unit: str, parts: Sequence[ReportValue], meaning: str
) -> Iterable[Figure]:
    """Yield an attributed total and its two parts."""
    details = ("", ": credited to a click", ": credited to an impression, no click")
    suffixes = ("", "_clicked", "_seen")
    for part, value, detail in zip(suffixes, parts, details, strict=True):
        yield define_figure(f"{name[0]}{part}{name[1]}", unit, value, f"{meaning}{detail}")


def _sum_by_currency(
    totals: Sequence[PeriodTotals], own_currency: str
) -> dict[str, PeriodTotals]:
    sums = {own_currency: _zero_totals(own_currency)}
    for part in totals:
        currency = part.currency or own_currency
        before = sums.get(currency, _zero_totals(currency))
        added = map(sum, zip(before[1:], part[1:], strict=True))
        sums[currency] = PeriodTotals._make((currency, *added))
    return sums


def _zero_totals(currency: str) -> PeriodTotals:
    return PeriodTotals(currency, 0, 0.0, 0, 0, 0.0, 0, 0, 0)
