"""Store settings page: only known codes, and a preview of prices."""

import json
from urllib.parse import urlencode

import pytest

from productrecs.storage.sql.storage_usage import (
    DataKind,
    StoredDataSize,
    store_sizes_of_today_and_purge_older,
)
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    UnknownStoreError,
    change_settings,
    find_store,
    make_sandbox,
    rotate_secret,
)
from productrecs.tenancy.billing.plans_and_subscriptions import UNLIMITED
from productrecs.tenancy.users.dashboard_user import Role
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_store, add_user, text_of
from tests.support.service import Reply, eventually

PAGE = "/dashboard/settings"
SENT = {
    "currency": "CHF",
    "language": "de-CH",
    "timezone": "Europe/Zurich",
    "price_format": "",
    "week_start": "sunday",
    "contact_email": "help@shop.example",
}


def test_settings_are_saved_and_shown(office: Office, store: Store) -> None:
    member = office.member(store)

    assert member.post(PAGE, page=PAGE, **SENT).status == 303

    stored = find_store(office.services.database, store.domain).settings
    assert {name: getattr(stored, name) for name in SENT} == SENT
    page = member.get(PAGE)
    assert '<option value="CHF" selected>CHF: Swiss Franc</option>' in page.body.decode()
    assert '<option value="Europe/Zurich" selected>' in page.body.decode()
    assert "Changed the store's settings" in text_of(member.get("/dashboard/audit"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, "CHF 1'234.00"),
        ({"currency": "EUR", "language": "de"}, "1.234,00 €"),
        ({"currency": "EUR", "price_format": "€ 1 234"}, "€ 1 234"),
        ({"price_format": "1'234.-"}, "CHF 9.50 and 1'234.-"),
        ({"currency": "EURO"}, "The currency must be a currency code"),
        ({"price_format": "cheap"}, "The price format must be"),
    ],
)
def test_prices_are_shown_before_they_are_saved(
    office: Office, store: Store, changed: dict[str, str], message: str
) -> None:
    member = office.member(store)
    member.headers = {"hx-request": "true"}
    reply = member.get(f"{PAGE}?{urlencode(SENT | changed)}")
    assert message in " ".join(text_of(reply).split())
    assert find_store(office.services.database, store.domain).settings.currency == "EUR"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("currency", "EURO"),
        ("timezone", "Mars/Base"),
        ("language", "xx"),
        ("week_start", "noday"),
        ("contact_email", "call us"),
    ],
)
def test_an_unknown_code_is_refused(
    office: Office, store: Store, name: str, text: str
) -> None:
    reply = office.member(store).post(PAGE, page=PAGE, **(SENT | {name: text}))
    assert reply.status == 422
    assert find_store(office.services.database, store.domain).settings.currency == "EUR"


def test_only_an_owner_changes_them(office: Office, store: Store) -> None:
    editor = Member(office.inside)
    editor.log_in(add_user(office.services, store, Role.EDITOR))
    assert "Only an owner can change" in text_of(editor.get(PAGE))
    assert editor.post(PAGE, page=PAGE, **SENT).status == 403


def test_the_team_sees_the_contact_address(office: Office, store: Store) -> None:
    member = office.member(store)
    assert "Questions about" not in text_of(member.get("/dashboard/team"))
    member.post(PAGE, page=PAGE, **SENT)
    eventually(
        lambda: (
            f"Questions about {store.domain} go to help@shop.example"
            in " ".join(text_of(member.get("/dashboard/team")).split())
        )
    )


def test_the_api_stores_the_week_and_the_contact_or_says_why_not(
    office: Office, store: Store
) -> None:
    key = {"x-api-key": rotate_secret(office.services.database, store)}

    def init(**body: str) -> Reply:
        sent = json.dumps(body).encode()
        return office.inside.ask("POST", "/integration/engines/init", sent, key)

    eventually(
        lambda: office.inside.ask("GET", "/integration/status", b"", key).status == 200
    )
    refused = [init(week_start="someday"), init(contact_email="call us")]
    assert [one.status for one in refused] == [422, 422]
    assert "help@shop.example.com" in str(refused[1].json)
    assert init(week_start="sunday", contact_email="help@shop.example").status == 200
    assert init(currency="EUR").status == 200  # what is not sent stays
    stored = find_store(office.services.database, store.domain).settings
    assert (stored.week_start, stored.contact_email) == ("sunday", "help@shop.example")


def test_a_plugin_is_warned_that_its_currency_is_unknown(
    office: Office, store: Store
) -> None:
    key = {"x-api-key": rotate_secret(office.services.database, store)}

    def warnings_for(currency: str) -> list[str]:
        body = json.dumps({"currency": currency}).encode()
        reply = office.inside.ask("POST", "/integration/engines/init", body, key)
        assert reply.status == 200
        return [str(one) for one in reply.json.get("warnings", [])]

    eventually(
        lambda: office.inside.ask("GET", "/integration/status", b"", key).status == 200
    )
    assert warnings_for("usd") == []
    (warning,) = warnings_for("EURO")
    assert "EUR (Euro)" in warning
    assert find_store(office.services.database, store.domain).settings.currency == "USD"


def test_it_says_what_the_stores_data_take(office: Office, store: Store) -> None:
    events = StoredDataSize(DataKind.EVENTS, 1_200_000, 30_000, 600_000, 240_000_000)
    sizes = {store.store_id: {events.part: events}}
    with office.services.database.transaction() as transaction:
        store_sizes_of_today_and_purge_older(transaction, sizes, office.now_ms)

    page = " ".join(text_of(office.member(store).get(PAGE)).split())

    assert "Events 1,200,000 240.0 MB 200.0 kB" in page
    assert "of more than a year ago take 120.0 MB" in page
    change_settings(office.services.database, store, {"retention_days": "400"})
    member = office.member(store)
    expected = "Events and impressions are deleted after 400 days"
    eventually(lambda: expected in text_of(member.get(PAGE)))  # settings are polled


def test_an_owner_deletes_the_store_by_its_domain(office: Office, store: Store) -> None:
    office.now_ms += 1
    neighbour = add_store(office.services, f"neighbour-{office.now_ms}.example")
    database = office.services.database
    test_store, _ = make_sandbox(database, store, UNLIMITED, office.services.clock)
    owner, colleague = office.member(store), office.member(store)
    form = f"{PAGE}/delete"

    mistyped = owner.post(form, page=PAGE, domain=neighbour.domain)
    assert (mistyped.status, f"Type {store.domain}" in text_of(mistyped)) == (422, True)
    assert find_store(database, store.domain) == store

    deleted = owner.post(form, page=PAGE, domain=f" {store.domain.upper()} ")
    assert (deleted.status, deleted.header("location")) == (303, "/dashboard/login")
    assert f"{store.domain} is deleted" in text_of(owner.get("/dashboard/login"))
    for gone in (store, test_store):
        with pytest.raises(UnknownStoreError):
            find_store(database, gone.domain)
    assert find_store(database, neighbour.domain) == neighbour
    assert office.member(neighbour).get(PAGE).status == 200

    assert "/dashboard/login" in (colleague.get(PAGE).header("location") or "")
    headers = {"x-api-key": store.publishable_key}
    assert office.inside.ask("GET", "/v1/trending", None, headers).status == 401


@pytest.mark.parametrize("role", [Role.EDITOR, Role.VIEWER])
def test_only_an_owner_may_delete_the_store(
    office: Office, store: Store, role: Role
) -> None:
    member = Member(office.inside)
    member.log_in(add_user(office.services, store, role))

    assert "Delete it with all its data" not in text_of(member.get(PAGE))
    assert member.post(f"{PAGE}/delete", page=PAGE, domain=store.domain).status == 403
    assert find_store(office.services.database, store.domain) == store
