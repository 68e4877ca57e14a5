"""Mail choices: what a mail shows is kept for a week, and goes with its shopper."""

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.features.mail_slots.mail_slot import (
    KEPT_DAYS,
    CampaignMail,
    MailEngagement,
    MailProduct,
    MailProductSelection,
    MailResource,
)
from productrecs.features.mail_slots.opened_mails.repository import (
    MailSlotCountRepository,
    MailSlotCounts,
    count_mail_engagements_and_delete_old,
    read_day_and_mail_products,
    store_mail_products_and_delete_old,
)
from productrecs.features.privacy.repository import ShopperRecordRepository
from productrecs.storage.sql.database import Database
from tests.support.stores import add_stores

STORE, OTHER = StoreId("a"), StoreId("b")
TODAY = 20_000
TENT, ROPE = (MailProduct("tent", "buy"),), (MailProduct("rope", "mix"),)


def mail(user_id: str) -> CampaignMail:
    return CampaignMail.from_parameters("news", user_id, "spring", [])


def kept(
    database: Database, store_id: StoreId, user_id: str, today: int = TODAY
) -> tuple[int, tuple[MailProduct, ...]] | None:
    reader = database.raw_reader()
    try:
        return read_day_and_mail_products(reader, store_id, mail(user_id), today)
    finally:
        reader.close()


def test_a_choice_is_kept_for_a_week_and_replaced_in_its_place(database: Database) -> None:
    add_stores(database, STORE)
    choice = MailProductSelection(STORE, mail("c-7"), TODAY, TENT)
    with database.transaction() as transaction:
        store_mail_products_and_delete_old(
            transaction, [choice, choice._replace(products=ROPE)]
        )

    last_day = TODAY + KEPT_DAYS - 1
    assert kept(database, STORE, "c-7") == (TODAY, ROPE)
    assert kept(database, STORE, "c-7", last_day) == (TODAY, ROPE)
    assert kept(database, STORE, "c-7", last_day + 1) is None
    assert kept(database, STORE, "c-8") is None

    later = MailProductSelection(STORE, mail("c-8"), last_day + 1, TENT)
    with database.transaction() as transaction:
        store_mail_products_and_delete_old(transaction, [later])
    assert kept(database, STORE, "c-7") is None  # deleted, not only too old


def test_an_erased_shoppers_mails_are_forgotten_and_no_others(database: Database) -> None:
    add_stores(database, STORE, OTHER)
    choices = [
        MailProductSelection(store, mail(user_id), TODAY, TENT)
        for store in (STORE, OTHER)
        for user_id in ("c-7", "c-8", "")
    ]
    with database.transaction() as transaction:
        store_mail_products_and_delete_old(transaction, choices)

    with database.transaction() as transaction:
        ShopperRecordRepository(transaction, STORE).delete_mail_selections(["c-7", "s_1"])

    assert kept(database, STORE, "c-7") is None
    assert kept(database, STORE, "c-8") == kept(database, STORE, "") == (TODAY, TENT)
    assert kept(database, OTHER, "c-7") == (TODAY, TENT)


def test_calls_are_counted_by_slot_for_thirty_days(database: Database) -> None:
    add_stores(database, STORE)
    call = MailEngagement(STORE, "news", TODAY, MailResource.IMAGE, is_proxy=False)
    calls = [
        *[call, call._replace(is_proxy=True), call._replace(is_proxy=True)],
        *[call._replace(part=MailResource.LINK)] * 3,
        call._replace(slot="receipt", day=TODAY - 29),
        call._replace(day=TODAY - 30),
    ]

    for batch in (calls[:4], calls[4:]):
        with database.transaction() as transaction:
            count_mail_engagements_and_delete_old(transaction, batch)

    with database.reading() as connection:
        counts = MailSlotCountRepository(connection, STORE).recent_counts_by_slot(
            TODAY * DAY_MS
        )
    assert counts == {"news": MailSlotCounts(1, 2, 3), "receipt": MailSlotCounts(1, 0, 0)}
