"""Customers pages: segments, who is due, and one record to export or to erase."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from productrecs.features.reports.customer_segments_report import compute_and_store_segments
from productrecs.services import build_eraser
from productrecs.storage.sql.audit_log import AuditLogRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.dashboard_user import Role
from tests.dashboard.conftest import Office
from tests.records.orders.import_support import import_text
from tests.support.dashboard import Member, add_user, flat_text, text_of
from tests.support.filled_store import open_store

CUSTOMERS = "/dashboard/customers"


@pytest.fixture
def buying(office: Office) -> Store:
    """Give a store in which Anna buys each week and Bert bought once, long ago."""
    services = office.services
    office.now_ms += 3_600_000
    domain = f"buying-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    now = datetime.fromtimestamp(services.clock() / 1000, UTC)
    bought = [("anna", 7 * week + 1) for week in range(6)] + [("bert", 200)]
    rows = [
        f"o{number},lamp,{now - timedelta(days=back):%Y-%m-%d}T12:00:00,1,20,{who}"
        for number, (who, back) in enumerate(bought)
    ]
    header = "order_id,item_id,timestamp,quantity,price,customer_id\n"
    import_text(services.database, made.store.store_id, header + "\n".join(rows))
    sent = made.merchant.track(
        {"event": "detail-page-view", "item_id": "lamp", "user_id": "anna"}
    )
    assert sent.status < 300
    compute_and_store_segments(services.database, made.store, services.clock())
    return made.store


def test_segments_and_who_is_due(office: Office, buying: Store) -> None:
    owner = office.member(buying)

    text = flat_text(owner.get(CUSTOMERS))
    assert "2 customers who ever bought" in text
    assert "Bought on one day" in text
    assert "anna Active 6" in text
    once = flat_text(owner.get(f"{CUSTOMERS}?segment=once")).split("All segments")[1]
    assert "bert" in once
    assert "anna" not in once
    due = flat_text(owner.get(f"{CUSTOMERS}?by=next")).split("Next order due")[1]
    assert "anna" in due
    assert "bert" not in due


def test_an_unknown_customer_is_said_at_the_field(office: Office, buying: Store) -> None:
    reply = office.member(buying).get(f"{CUSTOMERS}/one?customer=nobody+%22")

    text = flat_text(reply)
    assert reply.status == 404
    assert "Nothing is stored of a customer with this id." in text
    assert "anna Active 6" in text
    assert 'value="nobody &#34;"' in reply.body.decode()


def test_one_customer_is_shown_and_exported(office: Office, buying: Store) -> None:
    owner = office.member(buying)

    text = flat_text(owner.get(f"{CUSTOMERS}/one?customer=anna"))
    assert "Orders 6" in text
    assert "Order lines 6" in text
    assert "Ids of this customer anna Events" in text
    assert "Viewed a product lamp" in text
    page = f"{CUSTOMERS}/one?customer=anna"
    reply = owner.post(f"{CUSTOMERS}/export", page=page, customer="anna")
    records = [json.loads(line) for line in reply.body.decode().splitlines()]
    kinds = [one["record"] for one in records]
    assert (kinds.count("purchase"), kinds.count("event")) == (6, 1)
    assert "attachment" in str(reply.header("content-disposition"))
    assert owner.get(f"{CUSTOMERS}/one?customer=nobody").status == 404


def test_an_export_needs_the_editors_role_and_is_in_the_audit_log(
    office: Office, buying: Store
) -> None:
    """A viewer took every customer's records, and no trace of it was left."""
    page, path = f"{CUSTOMERS}/one?customer=anna", f"{CUSTOMERS}/export"
    statuses = {}
    for role in (Role.VIEWER, Role.EDITOR):
        member = Member(office.inside)
        member.log_in(add_user(office.services, buying, role))
        assert ("Export everything" in text_of(member.get(page))) is (role is Role.EDITOR)
        statuses[role] = (
            member.post(path, page=page, customer="anna").status,
            member.get(f"{path}?customer=anna").status,
        )
    with office.services.database.reading() as connection:
        log = AuditLogRepository(connection, buying.store_id).page(10)

    assert statuses[Role.VIEWER][0] == 403
    assert statuses[Role.EDITOR][0] == 200
    assert {got for _, got in statuses.values()} == {303}  # to the page of the form
    exports = [one for one in log if one.action == "Exported a customer's records"]
    assert [one.actor for one in exports] == [f"editor@{buying.domain}"]
    assert exports[0].detail == ""  # the customer may be erased later


def test_an_owner_erases_a_customer_after_typing_the_id(
    office: Office, buying: Store
) -> None:
    owner, page = office.member(buying), f"{CUSTOMERS}/one?customer=anna"
    eraser = build_eraser(office.services)
    fields = {"page": page, "customer": "anna"}

    wrong = owner.post(f"{CUSTOMERS}/one", **fields, confirm="ana")
    assert wrong.status == 422
    assert "This is not the id above" in text_of(wrong)
    assert 'value="ana"' in wrong.body.decode()
    assert not eraser.all(buying.store_id)

    gone = owner.post(f"{CUSTOMERS}/one", **fields, confirm="anna")
    assert gone.header("location") == CUSTOMERS
    eraser.continue_erasures(buying.store_id)
    assert owner.get(page).status == 404
    assert owner.get(f"{CUSTOMERS}/one?customer=bert").status == 200
    with office.services.database.reading() as connection:
        newest = AuditLogRepository(connection, buying.store_id).page(1)[0]
    assert (newest.action, newest.detail) == ("Erased one customer", "")


def test_an_editor_reads_but_cannot_erase_customers(office: Office, buying: Store) -> None:
    editor = Member(office.inside)
    editor.log_in(add_user(office.services, buying, Role.EDITOR))

    page = f"{CUSTOMERS}/one?customer=anna"
    assert "Only owners can erase" in text_of(editor.get(page))
    sent = {"page": "/dashboard", "customer": "anna", "confirm": "anna"}
    assert editor.post(f"{CUSTOMERS}/one", **sent).status == 403
    assert not build_eraser(office.services).all(buying.store_id)


def test_a_store_without_orders_sees_no_customers_yet(office: Office, store: Store) -> None:
    member = office.member(store)
    before = text_of(member.get(CUSTOMERS))
    compute_and_store_segments(office.services.database, store, office.services.clock())
    after = text_of(member.get(CUSTOMERS))

    assert "No customers counted yet" in before
    assert "No customers yet" in after


def test_a_store_with_new_orders_sees_that_its_customers_are_being_counted(
    office: Office, store: Store
) -> None:
    header = "order_id,item_id,timestamp,quantity,price,customer_id\n"
    long_ago = "o1,lamp,2024-01-01T12:00:00,1,20,anna"
    import_text(office.services.database, store.store_id, header + long_ago)
    member = office.member(store)

    assert "Your customers are being counted" in text_of(member.get(CUSTOMERS))
    compute_and_store_segments(office.services.database, store, office.services.clock())
    assert "1 customer who ever bought" in flat_text(member.get(CUSTOMERS))
