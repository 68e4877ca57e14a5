"""Change descriptions: what a form changed, in the merchant's words, for the audit log.

What a page can change is read before and after its handler. The difference names each
field with its old and its new value, and products by their titles.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Final, TypeAlias

from productrecs.dashboard.page import Visit
from productrecs.dashboard.pages.analyse import (
    demand_forecast,
    experiments,
    order_sheets,
    product_forecast,
    sales_calendar,
    search_report_and_improvements,
)
from productrecs.dashboard.pages.catalog import (
    bundles,
    looks,
    merchandising,
    placements,
    recommendation_and_search_settings,
)
from productrecs.dashboard.pages.catalog.autocomplete_options import filter_label
from productrecs.dashboard.pages.catalog.merchandising_rule_draft import (
    ACTIONS,
    PLACES,
    RuleDraft,
)
from productrecs.dashboard.pages.connect import file_imports
from productrecs.dashboard.pages.settings import (
    access_tokens,
    store_settings,
    team,
    webhooks,
)
from productrecs.dashboard.product_table import titles_of
from productrecs.features.search.search_rule_editor import SearchRuleEditor
from productrecs.records.experiments.experiment_editor import ExperimentEditor
from productrecs.records.placements.bundle_editor import BundleEditor
from productrecs.records.purchase_orders.repository import (
    PurchaseOrderRepository,
)
from productrecs.records.sales_calendar.repository import SalesCalendarRepository
from productrecs.records.suppliers.repository import SupplierRepository
from productrecs.records.uploads.file_imports.repository import FileImportRepository
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.tenancy.users.invitations.repository import InvitationRepository
from productrecs.tenancy.users.repository import UserRepository

Value: TypeAlias = str | tuple[str, ...]
"""A text, or the ids of products."""
LabelledValues: TypeAlias = dict[str, Value]
ValueSnapshot: TypeAlias = dict[tuple[str, str], LabelledValues]
"""What is stored, by what it is and its id; its name has the label ""."""
SnapshotEntries: TypeAlias = Iterator[tuple[tuple[str, str], LabelledValues]]
"""What each thing is and its id, with its values by label."""

_NOTHING: Final = "nothing"
_FILES: Final = 50  # the newest imports, of which one may have changed
_SETTING_LABELS: Final = MappingProxyType(
    {
        **{
            field.name: field.label
            for group in recommendation_and_search_settings.GROUPS
            for field in group.fields
        },
        **{name: label for name, label, _ in demand_forecast.ORDERING},
        "order_budget": "Budget of orders",
        "holiday_country": "Country of the holidays",
        **{
            name: label.removeprefix("The ").capitalize()
            for name, label in store_settings.LABELS.items()
        },
        "earnings_weight": "Weight of margin and stock",
        "holdout_percent": "Shoppers without recommendations, in per cent",
        "holdout_test": "Name of the holdout test",
        "unconfirmed_orders": "Orders that your server did not confirm",
    }
)
_SETTING_CHOICES: Final = MappingProxyType(
    {
        field.name: dict(field.choices)
        for group in recommendation_and_search_settings.GROUPS
        for field in group.fields
        if field.choices
    }
)


def snapshot_changeable_values(visit: Visit) -> ValueSnapshot:
    """Return what the visit's page can change, as it is stored now."""
    found = {("setting", ""): _snapshot_settings(visit)}
    for path, read in _READERS.items():
        if visit.page.path.startswith(path):
            found |= dict(read(visit))
    return found


def describe_difference(visit: Visit, before: ValueSnapshot, after: ValueSnapshot) -> str:
    """Return what changed; "" if nothing did."""
    parts = []
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key, {}), after.get(key, {})
        changed = {
            name: (old.get(name, ""), new.get(name, ""))
            for name in dict.fromkeys([*old, *new])
            if name and old.get(name, "") != new.get(name, "")
        }
        if changed:
            name = new.get("") or old.get("") or ""
            heading = f"{_format_value(visit, name)}: " if name else ""
            is_new, is_gone = not old, not new
            changes = [
                f"{label}: "
                f"{_describe_value_change(visit, *values, is_new=is_new, is_gone=is_gone)}"
                for label, values in changed.items()
            ]
            parts.append(heading + "; ".join(changes))
    return ". ".join(parts)


def _describe_value_change(
    visit: Visit, old: Value, new: Value, *, is_new: bool = False, is_gone: bool = False
) -> str:
    if is_new or is_gone:
        return _format_value(visit, new if is_new else old)
    return (
        f"{_format_value(visit, old) or _NOTHING} → {_format_value(visit, new) or _NOTHING}"
    )


def _format_value(visit: Visit, value: Value) -> str:
    if isinstance(value, str):
        return value
    titles = titles_of(visit, value)
    return ", ".join(titles.get(item_id, item_id) for item_id in value)


def _snapshot_settings(visit: Visit) -> LabelledValues:
    settings = find_store(visit.database, visit.store.domain).settings
    return {
        _SETTING_LABELS.get(
            field.name, field.name.replace("_", " ").capitalize()
        ): _format_setting(field.name, getattr(settings, field.name))
        for field in fields(settings)
    }


def _format_setting(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return _SETTING_CHOICES.get(name, {}).get(text, text)


def _snapshot_rules(visit: Visit) -> SnapshotEntries:
    for rule in merchandising.rule_editor_of(visit).all():
        draft = RuleDraft.of_rule(rule)
        yield (
            ("rule", draft.rule_id),
            _without_empty_values(
                {
                    "": draft.name and f"“{draft.name}”",
                    "Action": ACTIONS[draft.action][0],
                    "Name": draft.name,
                    "Products": draft.items,
                    "Categories": ", ".join(draft.categories.splitlines()),
                    "Attributes": ", ".join(draft.attributes.splitlines()),
                    "Words in the title": draft.title_words,
                    "Price from": draft.price_min,
                    "Price up to": draft.price_max,
                    "Strength": draft.strength,
                    "Position": draft.position if draft.action == "pin" else "",
                    "Only in": ", ".join(PLACES[place] for place in draft.only_in),
                    "Not in": ", ".join(PLACES[place] for place in draft.not_in),
                    "Placements": ", ".join(draft.placements),
                    "First day": draft.starts
                    and merchandising.format_schedule_moment(visit, draft.starts),
                    "Last day": draft.ends
                    and merchandising.format_schedule_moment(visit, draft.ends),
                    "Priority": draft.priority,
                    "State": "on" if draft.enabled else "off",
                }
            ),
        )


def _snapshot_placements(visit: Visit) -> SnapshotEntries:
    for placement in placements.placement_editor_of(visit).all():
        content, draft = (
            placement.content,
            placements.PlacementDraft.of_placement(placement),
        )
        yield (
            ("placement", placement.name),
            _without_empty_values(
                {
                    "": f"“{placement.name}”",
                    "Show": placements.STRATEGIES[content.strategy],
                    "Fill up with": placements.STRATEGIES[content.fallback]
                    if content.fallback
                    else "",
                    "Title": content.title,
                    "Only these products": ", ".join(
                        filter_label(visit, text) for text in content.filters
                    ),
                    "As the product of the page": ", ".join(
                        placements.RELATIVE[same] for same in content.relative
                    ),
                    "Products": draft.numbers["num"],
                    "Hide below": draft.numbers["minimum"],
                    "At most of one category": draft.numbers["most_per_category"],
                    "At most of one brand": draft.numbers["most_per_brand"],
                }
            ),
        )


def _snapshot_bundles(visit: Visit) -> SnapshotEntries:
    bundles = BundleEditor(visit.database, visit.store, visit.context.clock).all()
    for bundle in bundles:
        content, fmt = bundle.content, visit.formats
        amount = fmt.money(content.discount_amount) if content.discount_amount else ""
        percent = content.discount_percent
        yield (
            ("bundle", str(bundle.bundle_id)),
            _without_empty_values(
                {
                    "": content.name and f"“{content.name}”",
                    "Name": content.name,
                    "Products": content.items,
                    "Discount": fmt.share(percent / 100, 0) if percent else amount,
                    "State": content.state.value,
                }
            ),
        )


def _snapshot_looks(visit: Visit) -> SnapshotEntries:
    for look in looks.look_editor_of(visit).all():
        content = look.content
        boxes = [
            " ".join(f"{side * 100:.0f}" for side in hotspot.box)
            for hotspot in content.hotspots
        ]
        yield (
            ("look", str(look.look_id)),
            _without_empty_values(
                {
                    "": content.title and f"“{content.title}”",
                    "Title": content.title,
                    "On the page of": (content.item_id,),
                    "Hotspots": tuple(hotspot.item_id for hotspot in content.hotspots),
                    "Labels": ", ".join(hotspot.label for hotspot in content.hotspots),
                    "Places in the photo, in per cent": ", ".join(boxes),
                    "Photo": content.picture_id or content.image_url,
                    "State": looks.STATES[look.state][0],
                }
            ),
        )


def _snapshot_synonyms_and_search_rules(visit: Visit) -> SnapshotEntries:
    editor = SearchRuleEditor(visit.database, visit.store, visit.services.clock)
    for number, synonym in editor.synonyms().items():
        yield ("synonym", str(number)), {"Synonyms": ", ".join(synonym.texts)}
    for number, rule in editor.rules().items():
        yield (
            ("search rule", str(number)),
            _without_empty_values(
                {
                    "Search": rule.query,
                    "Products that come first": rule.items,
                    "Sent to": rule.address or "",
                }
            ),
        )


def _snapshot_imports(visit: Visit) -> SnapshotEntries:
    with visit.database.reading() as connection:
        files = FileImportRepository(connection, visit.store.store_id).latest(_FILES)
    for file_import in files:
        state, _ = file_imports.status_text_and_tone(file_import)
        yield (
            ("import", file_import.import_id),
            {"": f"“{file_import.file_name}”", "State": state},
        )


def _snapshot_experiments(visit: Visit) -> SnapshotEntries:
    editor = ExperimentEditor(visit.database, visit.store, visit.context.clock, "")
    for experiment in editor.all():
        shares = experiment.content.shares.items()
        yield (
            ("test", experiment.name),
            _without_empty_values(
                {
                    "": f"“{experiment.name}”",
                    "State": experiments.STATES[experiment.state][0],
                    "Shoppers": ", ".join(f"{name} {share:g} %" for name, share in shares),
                    "Chosen variant": experiment.winner,
                }
            ),
        )


def _snapshot_team(visit: Visit) -> SnapshotEntries:
    with visit.database.reading() as connection:
        members = UserRepository(connection, visit.store.store_id).all()
        repository = InvitationRepository(connection, visit.store.store_id)
        invitations = repository.all(visit.system_ms)
    for member in members:
        name = member.email or f"Owner of {visit.store.domain}"
        yield ("member", member.user_id), {"": name, "Role": member.role.label}
    for invitation in invitations:
        name = invitation.email or "Anybody with the link"
        yield (
            ("invitation", invitation.token_hash),
            {"": name, "Invited as": invitation.role.label},
        )


def _snapshot_calendar(visit: Visit) -> SnapshotEntries:
    with visit.database.reading() as connection:
        repository = SalesCalendarRepository(connection, visit.store.store_id)
        entries = repository.entries()
    for number, entry in entries.items():
        days = [visit.formats.day(day) for day in (entry.first_day, entry.last_day)]
        yield (
            ("calendar entry", str(number)),
            {
                "": f"“{entry.name}”" if entry.name else entry.kind.value.capitalize(),
                "Days": " to ".join(dict.fromkeys(days)),
            },
        )


def _snapshot_tokens(visit: Visit) -> SnapshotEntries:
    for token in access_tokens.tokens_of(visit):
        name, may = f"“{token.name}”", access_tokens.RIGHTS[token.role]
        yield ("token", token.token_id), {"": name, "May": may}


def _snapshot_suppliers_and_goods_on_order(visit: Visit) -> SnapshotEntries:
    with visit.database.reading() as connection:
        repository = SupplierRepository(connection, visit.store.store_id)
        suppliers, counts = repository.suppliers(), repository.product_counts()
        ordered = PurchaseOrderRepository(connection, visit.store.store_id).lines()
    units = sum(line.quantity for line in ordered.values())
    yield (
        ("goods on order", ""),
        {"": "Goods on order", "Lines": str(len(ordered)), "Units": str(units)},
    )
    for supplier in suppliers:
        days = (supplier.lead_time_days, supplier.order_every_days)
        lead_time, order_every = ("" if count is None else str(count) for count in days)
        yield (
            ("supplier", supplier.name),
            {
                "": supplier.name,
                "Products": str(counts.get(supplier.name, 0)),
                **_without_empty_values(
                    {
                        "Lead time in days": lead_time,
                        "Days between two orders": order_every,
                        "Minimum order": f"{supplier.minimum_order:.12g}"
                        if supplier.minimum_order
                        else "",
                        "Budget": f"{supplier.budget:.12g}" if supplier.budget else "",
                    }
                ),
            },
        )


def _snapshot_webhooks(visit: Visit) -> SnapshotEntries:
    for endpoint in webhooks.endpoints_of(visit):
        name = webhooks.host_without_path(endpoint.url)
        messages = len(webhooks.EVENTS) - len(endpoint.left_out)
        yield (
            ("webhook", endpoint.endpoint_id),
            {
                "": name,
                "State": endpoint.state.value,
                "Kinds of messages": str(messages),
            },
        )


def _without_empty_values(values: Mapping[str, Value]) -> LabelledValues:
    return {label: value for label, value in values.items() if value}


_READERS: Final[Mapping[str, Callable[[Visit], SnapshotEntries]]] = MappingProxyType(
    {
        merchandising.MERCHANDISING_PATH: _snapshot_rules,
        placements.PLACEMENTS_PATH: _snapshot_placements,
        bundles.BUNDLES_PATH: _snapshot_bundles,
        looks.LOOKS_PATH: _snapshot_looks,
        search_report_and_improvements.SEARCH_PATH: _snapshot_synonyms_and_search_rules,
        experiments.TESTS_PATH: _snapshot_experiments,
        team.TEAM_PATH: _snapshot_team,
        access_tokens.ASSISTANT_PATH: _snapshot_tokens,
        file_imports.IMPORTS_PATH: _snapshot_imports,
        order_sheets.ORDERS_PATH: _snapshot_suppliers_and_goods_on_order,
        product_forecast.PRODUCT_PATH: _snapshot_suppliers_and_goods_on_order,
        sales_calendar.CALENDAR_PATH: _snapshot_calendar,
        webhooks.WEBHOOKS_PATH: _snapshot_webhooks,
    }
)
