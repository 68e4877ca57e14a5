"""Products in mails: switches slots on, makes a slot's HTML, and shows what it led to."""

from html import escape
from types import MappingProxyType
from typing import Final, NamedTuple

from productrecs.core.report import ReportValue
from productrecs.dashboard.page import Page, Reply, Visit
from productrecs.dashboard.pages.connect.widgets import WIDGETS_PATH
from productrecs.dashboard.report_values import (
    SalesAfterClicks,
    recount_note,
    sales_after_clicks,
)
from productrecs.features.mail_slots.mail_slot import (
    COUNTED_DAYS,
    MAX_POSITIONS,
    PREVIEW_CAMPAIGN,
    WIDGET_PREFIX,
    MailResource,
    sign_slot,
    slot_path,
)
from productrecs.features.mail_slots.opened_mails.repository import (
    MailSlotCountRepository,
    MailSlotCounts,
)
from productrecs.records.pictures.draw_product_card import card_height
from productrecs.records.placements.placement_editor import PlacementEditor
from productrecs.tenancy.accounts.store_management import find_store

MAIL_PATH: Final = f"{WIDGETS_PATH}/mail"
_SHOWN_WIDTH: Final = 300  # half of the picture's: mails are read on sharp screens
_DEFAULT_COUNT: Final = 3


class MailTool(NamedTuple):
    """A mail tool, the tag by which it fills in the customer's id, and its source."""

    name: str
    recipient: str
    campaign: str
    field: str  # what the merchant does in the tool before the tag works


_TOOLS: Final = MappingProxyType(
    {
        "mailchimp": MailTool(
            "Mailchimp",
            "*|CUSTOMERID|*",
            "*|CAMPAIGN_UID|*",
            "Make an audience field with the tag CUSTOMERID first, and fill it with your "
            "customers' ids.",
        ),
        "klaviyo": MailTool(
            "Klaviyo",
            "{{ person.external_id }}",
            "newsletter",
            "Your profiles need an External ID first: your customers' ids.",
        ),
        "brevo": MailTool(
            "Brevo",
            "{{ contact.EXT_ID }}",
            "newsletter",
            "Your contacts need an EXT_ID first: your customers' ids.",
        ),
        "other": MailTool(
            "Another tool",
            "CUSTOMER-ID",
            "newsletter",
            "Replace it with the tag of your tool.",
        ),
    }
)


def show_mail_slots(visit: Visit) -> Reply:
    """Show the switch, the HTML of the chosen slot, its preview, and all slots' counts."""
    store = find_store(visit.database, visit.store.domain)
    editor = PlacementEditor(visit.database, visit.store, visit.context.clock)
    placements = {placement.name: placement.content.needs for placement in editor.all()}
    # First those that show something in every mail.
    names = sorted(placements, key=lambda name: placements[name] is not None)
    slot = visit.query["placement"]
    if slot not in names:
        slot = next(iter(names), "")
    tool_key = visit.query["tool"] if visit.query["tool"] in _TOOLS else next(iter(_TOOLS))
    asked = visit.query["count"]
    count = int(asked) if asked in _count_choices() else _DEFAULT_COUNT
    secret_hash, tool = store.secrets.secret_hash, _TOOLS[tool_key]
    signed = ""
    if secret_hash is not None and slot:
        signature = sign_slot(secret_hash, slot)
        signed = f"key={store.publishable_key}&signature={signature}"
    preview = f"{signed}&campaign={PREVIEW_CAMPAIGN}&width={_SHOWN_WIDTH}"
    return visit.render(
        "mail_slots.html",
        recount=recount_note(visit),
        is_on=store.settings.mail_slots,
        has_secret_key=secret_hash is not None,
        slots=[
            (name, f"{name} (needs a {needs.value})" if needs else name)
            for name in names
            for needs in [placements[name]]
        ],
        needs=placements.get(slot),
        slot=slot,
        tool_key=tool_key,
        tool=tool,
        tools=[(key, tool.name) for key, tool in _TOOLS.items()],
        count=count,
        counts=[(choice, choice) for choice in _count_choices()],
        html=_slot_html(visit.base_url, slot, signed, tool, count),
        json_address=visit.base_url
        + slot_path(MailResource.PRODUCTS, slot, f"{signed}&campaign=newsletter"),
        previews=[
            slot_path(MailResource.IMAGE, slot, f"{preview}&position={position}")
            for position in range(1, count + 1)
        ],
        size=(_SHOWN_WIDTH, card_height(_SHOWN_WIDTH)),
        led_to=_counts_and_sales_by_slot(visit),
        days=COUNTED_DAYS,
    )


def switch_mail_slots(visit: Visit) -> Reply:
    """Switch all slots of the store on or off."""
    is_on = bool(visit.form["on"])
    visit.change_settings({"mail_slots": str(is_on).lower()})
    message = (
        "Products in mails are on."
        if is_on
        else "Products in mails are off. Pictures in mails stop, links lead to your shop."
    )
    return visit.redirect(MAIL_PATH, message)


def _count_choices() -> list[str]:
    return [str(number) for number in range(1, MAX_POSITIONS + 1)]


def _slot_html(base_url: str, slot: str, signed: str, tool: MailTool, count: int) -> str:
    """Return the HTML of a slot's products; the tool's tags stay as they are."""
    width, height = _SHOWN_WIDTH, card_height(_SHOWN_WIDTH)
    parts = []
    for position in range(1, count + 1):
        mail = f"position={position}&campaign={tool.campaign}&user_id={tool.recipient}"
        link, image = (
            escape(base_url + slot_path(part, slot, f"{signed}&{mail}"))
            for part in (MailResource.LINK, MailResource.IMAGE)
        )
        parts.append(
            f'<a href="{link}"><img src="{image}" width="{width}" height="{height}" '
            'alt="A product for you" style="border:0"></a>'
        )
    return "\n".join(parts)


def _counts_and_sales_by_slot(
    visit: Visit,
) -> list[tuple[str, MailSlotCounts, ReportValue, float]]:
    """Return each slot's counts, and its sales after a click: how many, and how much."""
    with visit.database.reading() as connection:
        repository = MailSlotCountRepository(connection, visit.store.store_id)
        counts = repository.recent_counts_by_slot(visit.now_ms)
    sold = sales_after_clicks(visit, WIDGET_PREFIX)
    return [
        (slot, counts[slot], *sold.get(slot, SalesAfterClicks())) for slot in sorted(counts)
    ]


PAGES: Final = (
    Page(
        MAIL_PATH,
        "Products in mails",
        show_mail_slots,
        switch_mail_slots,
        action="Switched products in mails on or off",
    ),
)
