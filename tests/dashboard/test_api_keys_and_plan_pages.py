"""Registration, password reset, keys, origins and the checklist, without a browser."""

import re
import sys
from pathlib import Path

import pytest

from productrecs.application import create_application
from productrecs.cli.commands import dashboard_logins
from productrecs.cli.commands.dashboard_logins import create_first_store_link
from productrecs.cli.processes import serve
from productrecs.core.clock import DAY_MS, HOUR_MS, system_ms
from productrecs.core.errors import StorageBusyError
from productrecs.services import build_services
from productrecs.settings import Settings
from productrecs.tenancy.accounts.key_uses.repository import KeyUseRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    KeyOverlapError,
    all_stores,
    change_subscription,
    find_or_create_owner,
    find_store,
    rotate_secret,
)
from productrecs.tenancy.accounts.team_members import create_registration_invitation
from productrecs.tenancy.billing.plans_and_subscriptions import Subscription
from productrecs.tenancy.users.login_and_sessions import RESET_MS, create_reset_token
from tests.api.inside import Inside
from tests.dashboard.conftest import Office
from tests.support.dashboard import PASSWORD, Member, add_store, text_of
from tests.support.service import Service, eventually

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "{{7*7}}",
    "</title><script>alert(1)</script>",
    "javascript:alert(1)",
    "&lt;script&gt;",
]


def register(office: Office, **changed: str) -> tuple[Member, object]:
    guest = Member(office.inside)
    office.now_ms += 3_600_000
    fields = {
        "domain": f"new-{office.now_ms}.example",
        "email": f"anna@new-{office.now_ms}.example",
        "password": PASSWORD,
        "currency": "EUR",
    }
    return guest, guest.post("/dashboard/register", **(fields | changed))


def test_who_registers_has_a_trial_and_sees_the_checklist(
    office: Office, store: Store
) -> None:
    member, reply = register(office)
    store = find_store(office.services.database, f"new-{office.now_ms}.example")

    assert getattr(reply, "status", 0) == 303
    assert store.subscription.plan == "trial"
    page = member.get("/dashboard/start")
    assert store.publishable_key in page.body.decode()
    assert "0 of 6 done" in text_of(page)


@pytest.mark.parametrize(
    ("accepted", "language"), [("de-AT,de;q=0.9,en;q=0.8", "de"), ("xx", "en"), ("", "en")]
)
def test_the_language_of_the_shop_is_guessed_from_the_browser(
    office: Office, accepted: str, language: str
) -> None:
    guest = Member(office.inside, headers={"accept-language": accepted})

    form = guest.get("/dashboard/register")

    assert re.search(rf'<option value="{language}(-\w+)?" selected', form.body.decode())


@pytest.mark.parametrize(
    ("chosen", "registration", "plans"),
    [
        ("trial", "open", ["unlimited", "trial"]),
        ("growth", "open", ["unlimited", "growth"]),
        ("trial", "invitation", ["unlimited", "unlimited"]),
    ],
)
def test_the_first_store_has_no_limits_and_later_ones_the_plan_of_the_setting(
    tmp_path: Path, chosen: str, registration: str, plans: list[str]
) -> None:
    place = Service(tmp_path).prepare()
    settings = Settings(data=place.folder, new_store_plan=chosen, registration=registration)
    services = build_services(settings)
    add_store(services, "demo.localhost")
    found = Office(services, None, system_ms())  # type: ignore[arg-type]  # it follows
    with Inside(create_application(services, draining=[])) as found.inside:
        welcomes = []
        for _ in plans:
            token = create_registration_invitation(services.database, None, found.now_ms)
            page = f"/dashboard/register?token={token}"
            member, _reply = register(found, token=token, page=page)
            welcomes.append(member.get("/dashboard/start"))

    stores = sorted(all_stores(services.database), key=lambda one: one.created_at)[1:]
    assert [one.subscription.plan for one in stores] == plans
    assert ["Your plan trial runs for 14 days" in text_of(one) for one in welcomes] == [
        plan == "trial" for plan in plans
    ]


def test_the_owner_of_the_first_store_adds_others_without_an_invitation(
    tmp_path: Path,
) -> None:
    place = Service(tmp_path).prepare()
    services = build_services(Settings(data=place.folder, registration="invitation"))
    add_store(services, "demo.localhost")
    found = Office(services, None, system_ms())  # type: ignore[arg-type]  # it follows
    fields = {"domain": "second.example", "currency": "EUR"}
    with Inside(create_application(services, draining=[])) as found.inside:
        people = []
        for _ in range(2):
            token = create_registration_invitation(services.database, None, found.now_ms)
            page = f"/dashboard/register?token={token}"
            people.append(register(found, token=token, page=page)[0])
        first, later = people
        assert "Add a store" in text_of(first.get("/dashboard"))
        refused = later.post("/dashboard/register", page="/dashboard", **fields)
        added = first.post("/dashboard/register", **fields)
        shown = text_of(first.get("/dashboard"))

    assert "By invitation" in text_of(refused)
    assert added.status == 303
    assert "second.example" in shown
    made = find_store(services.database, "second.example")
    assert made.subscription.plan == "unlimited"


@pytest.mark.parametrize(
    ("days", "notice"),
    [(5, None), (4, "ends in 4 days"), (0.5, "ends in 1 day"), (-1, "has ended")],
)
def test_a_plan_counts_down_and_the_store_can_ask_for_another(
    office: Office,
    store: Store,
    days: float,
    notice: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    member = office.member(store)
    ends_at = office.now_ms + int(days * DAY_MS)
    change_subscription(
        office.services.database, store, lambda _: Subscription("trial", ends_at)
    )
    # A change in the dashboard applies the stored account in this process at once.
    member.post(
        "/dashboard/account/origins/add",
        page="/dashboard/account",
        origin="https://a.example",
    )
    for path in ("/dashboard", "/dashboard/products"):
        page = text_of(member.get(path))
        assert ("Your plan" in page) is (notice is not None)
        assert (notice or "") in page
        assert ("events and orders are still stored" in page) is (notice is not None)

    for _ in range(2):
        reply = member.post("/dashboard/account/plan/ask", page="/dashboard/account")
        assert reply.status == 303
    requested = [one for one in caplog.records if one.message == "plan requested"]
    assert [vars(one)["domain"] for one in requested] == [store.domain] * 2
    assert "Asked for a plan" in text_of(member.get("/dashboard/audit"))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("domain", "no domain", "domain"),
        ("domain", "Bergladen", "like bergladen.com"),
        ("email", "anna", "e-mail"),
        ("password", "short", "at least 8"),
        ("password", "12345678", "first that attackers try"),
        ("password", "Passwort", "first that attackers try"),
        ("password", "aaaabbbb", "first that attackers try"),
        ("currency", "", ""),
    ],
)
def test_an_error_in_a_registration_is_shown_beside_its_field(
    office: Office, name: str, value: str, message: str
) -> None:
    _member, reply = register(office, **{name: value})

    assert getattr(reply, "status", 0) == (422 if message else 303)
    assert message in text_of(reply)  # type: ignore[arg-type]  # a reply


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost"},
        {"host": "127.0.0.1:8000"},
        {"host": "[::1]"},
        {"host": "recs.example.com"},
        {"host": "localhost", "x-forwarded-for": "203.0.113.7"},
    ],
    ids=str,
)
def test_registration_needs_a_link_whatever_the_request_says(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    """A bare `proxy_pass` made every visitor local, and so does a `Host: localhost`."""
    place = Service(tmp_path).prepare()
    services = build_services(Settings(data=place.folder))
    fields = {"domain": "a.example", "email": "a@a.example", "password": PASSWORD}
    with Inside(create_application(services, draining=[])) as inside:
        guest = Member(inside, headers=headers)
        shown = text_of(guest.get("/dashboard/register"))
        sent = guest.post("/dashboard/register", page="/dashboard/login", **fields)

    assert "By invitation" in shown
    assert sent.status == 422
    assert all_stores(services.database) == []


def test_the_first_store_needs_the_link_that_the_last_start_printed(tmp_path: Path) -> None:
    place = Service(tmp_path).prepare()
    services = build_services(Settings(data=place.folder))
    base, path = "http://127.0.0.1:8000", "/dashboard/register"
    links = [create_first_store_link(services.settings, base) or "" for _ in range(2)]
    pages = [one.removeprefix(base) for one in links]
    token = links[1].partition("token=")[2]
    fields = {"domain": "a.example", "email": "a@a.example", "password": PASSWORD}
    with Inside(create_application(services, draining=[])) as inside:
        older = text_of(Member(inside).get(pages[0]))
        made = Member(inside).post(path, page=pages[1], token=token, **fields)
        fields["domain"] = "b.example"
        again = Member(inside).post(path, page="/dashboard/login", token=token, **fields)

    assert "does not work" in older
    assert (made.status, again.status) == (303, 422)
    assert [one.domain for one in all_stores(services.database)] == ["a.example"]
    assert create_first_store_link(services.settings, base) is None
    assert create_first_store_link(services.settings, base, other_domains={"a.example"})


def test_a_store_that_the_operator_makes_ends_the_link_of_the_first_store(
    tmp_path: Path,
) -> None:
    place = Service(tmp_path).prepare()
    services = build_services(Settings(data=place.folder))
    link = create_first_store_link(services.settings, "") or ""
    place.register("a.example")

    with Inside(create_application(services, draining=[])) as inside:
        assert "does not work" in text_of(Member(inside).get(link))


def test_a_busy_database_ends_no_start_of_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The supervisor ended with all processes when a writer held the database."""
    place = Service(tmp_path).prepare()
    settings = Settings(data=place.folder)

    def busy(*_: object, **__: object) -> None:
        message = "the database is busy"
        raise StorageBusyError(message)

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(dashboard_logins, "create_first_store_invitation", busy)
    serve.print_address_and_first_store_link(settings, "http://127.0.0.1:8000")

    printed = capsys.readouterr().out
    assert "listens on http://127.0.0.1:8000" in printed
    assert "productrecs account invite" in printed


def test_a_start_with_a_store_waits_for_no_writer(tmp_path: Path) -> None:
    place = Service(tmp_path).prepare()
    place.register("a.example")
    settings = Settings(data=place.folder)
    with place.database() as database, database.transaction():
        assert (
            create_first_store_link(settings, "") is None
        )  # without a write, that would wait


@pytest.mark.parametrize("mode", ["open", "closed"])
def test_no_link_is_printed_where_none_is_needed_or_allowed(
    tmp_path: Path, mode: str
) -> None:
    place = Service(tmp_path).prepare()
    assert (
        create_first_store_link(Settings(data=place.folder, registration=mode), "") is None
    )


def test_a_reset_link_works_once_and_ends_every_session(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    database = office.services.database
    token = create_reset_token(
        database, find_or_create_owner(database, store), office.now_ms
    )
    guest = Member(office.inside)
    link = f"/dashboard/reset?token={token}"
    sent = {"token": token, "password": "another password"}

    short = guest.post("/dashboard/reset", page=link, token=token, password="short")
    first = guest.post("/dashboard/reset", page=link, **sent)
    second = Member(office.inside).post("/dashboard/reset", page="/dashboard/login", **sent)

    assert (short.status, first.status, second.status) == (422, 303, 404)
    assert member.get("/dashboard").status == 303
    assert Member(office.inside).log_in(store.domain).status == 422
    assert Member(office.inside).log_in(store.domain, "another password").status == 303


def test_a_reset_link_expires(office: Office, store: Store) -> None:
    database = office.services.database
    token = create_reset_token(
        database, find_or_create_owner(database, store), office.now_ms
    )
    link = f"/dashboard/reset?token={token}"
    before = Member(office.inside).get(link).status

    office.now_ms += RESET_MS

    assert (before, Member(office.inside).get(link).status) == (200, 404)


def test_a_secret_key_is_shown_once_and_works(office: Office, store: Store) -> None:
    member = office.member(store)
    shown = member.post("/dashboard/account/secret", page="/dashboard/account")
    found = re.search(r"sk_\w+", text_of(shown))
    assert found is not None

    headers = {"x-api-key": found[0]}
    assert office.inside.ask("GET", "/integration/status", None, headers).status == 200
    assert found[0] not in member.get("/dashboard/account").body.decode()


def test_origins_are_checked_and_their_twin_is_named(office: Office, store: Store) -> None:
    member, page = office.member(store), "/dashboard/account"
    path = f"{page}/origins/add"

    wrong = member.post(path, page=page, origin="shop.example/path")
    right = member.post(path, page=page, origin="shop.example")

    assert (wrong.status, right.status) == (422, 303)
    assert "https://www.shop.example" in text_of(member.get(page))
    gone = member.post(f"{page}/origins/remove", page=page, origin="https://shop.example")
    assert gone.status == 303
    assert find_store(office.services.database, store.domain).origins == frozenset()


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_that_is_sent_becomes_markup(
    office: Office, store: Store, text: str
) -> None:
    member, guest = office.member(store), Member(office.inside)
    pages = [
        member.post(
            "/dashboard/account/origins/add", page="/dashboard/account", origin=text
        ),
        guest.post("/dashboard/login", name=text, password="wrong", next=text),
        guest.get(f"/dashboard/login?next={text}"),
        register(office, domain=text, email=text, currency=text)[1],
        guest.get(f"/dashboard/{text}"),
    ]
    guest.cookies["productrecs_flash"] = text
    pages.append(guest.get("/dashboard/login"))

    for reply in pages:
        body = getattr(reply, "body", b"").decode()
        assert "<script>alert" not in body
        assert "<img src=x" not in body
        assert "<svg/onload" not in body
        assert ">49<" not in body


def test_a_replaced_key_works_as_long_as_was_chosen(office: Office, store: Store) -> None:
    member, page = office.member(store), "/dashboard/account"
    first = rotate_secret(office.services.database, store, office.now_ms)
    shown = member.post(f"{page}/secret", page=page, overlap="6")
    found = re.search(r"sk_\w{20,}", text_of(shown))
    assert found is not None
    new = found[0]

    before = [status_with(office, key) for key in (first, new)]
    listed = text_of(member.get(page))
    assert not re.search(r"sk_…\w{4}\s+–", listed), "a key without its creation time"
    office.now_ms += 6 * HOUR_MS
    after = [status_with(office, key) for key in (first, new)]

    assert (before, after) == ([200, 200], [401, 200])
    assert f"sk_…{first[-4:]}" in listed
    assert f"sk_…{new[-4:]}" in listed
    assert f"sk_…{first[-4:]}" not in text_of(member.get(page))


def test_keys_are_revoked_at_once(office: Office, store: Store) -> None:
    member, page = office.member(store), "/dashboard/account"
    old = rotate_secret(office.services.database, store, office.now_ms)
    new = rotate_secret(
        office.services.database, store, office.now_ms, overlap_ms=24 * HOUR_MS
    )
    seen = [[status_with(office, key) for key in (old, new)]]

    for key in ("old", "all"):
        reply = member.post(f"{page}/secret/revoke", page=page, key=key)
        assert reply.status == 303
        seen.append([status_with(office, key) for key in (old, new)])

    assert seen == [[200, 200], [401, 200], [401, 401]]
    assert "There is no secret key" in text_of(member.get(page))


def test_the_last_use_of_a_key_is_shown_and_written_once(
    office: Office, store: Store
) -> None:
    member, page = office.member(store), "/dashboard/account"
    key = rotate_secret(office.services.database, store, office.now_ms)
    assert "Never" in text_of(member.get(page))

    for _ in range(5):
        assert status_with(office, key, "203.0.113.7") == 200

    def uses() -> dict[str, int]:
        with office.services.database.reading() as connection:
            return KeyUseRepository(connection, store.store_id).last_uses()

    eventually(uses)
    assert list(uses().values()) == [office.now_ms]
    shown = text_of(member.get(page))
    assert "Never" not in shown
    assert "from 203.0.113.7" in shown


@pytest.mark.parametrize("hours", [-1, 25])
def test_an_overlap_is_at_most_a_day(office: Office, store: Store, hours: int) -> None:
    with pytest.raises(KeyOverlapError):
        rotate_secret(
            office.services.database, store, office.now_ms, overlap_ms=hours * HOUR_MS
        )


def status_with(office: Office, key: str, address: str = "203.0.113.1") -> int:
    headers = {"x-api-key": key, "x-forwarded-for": address}
    return office.inside.ask("GET", "/integration/status", None, headers).status


def test_registration_by_invitation_needs_one_that_works_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    place = Service(tmp_path_factory.mktemp("invited")).prepare()
    settings = Settings(data=place.folder, registration="invitation")
    services = build_services(settings)
    token = create_registration_invitation(
        services.database, "anna@example.com", system_ms()
    )
    path = "/dashboard/register"
    link = f"{path}?token={token}"
    fields = {"domain": "a.example", "email": "a@a.example", "password": PASSWORD}

    with Inside(create_application(services, draining=[])) as inside:
        closed = text_of(Member(inside).get(path))
        form = Member(inside).get(link).body.decode()
        without = Member(inside).post(path, page="/dashboard/login", **fields)
        wrong = Member(inside).post(
            path, page=link, token=token, **fields | {"domain": "no domain"}
        )
        made = Member(inside).post(path, page=link, token=token, **fields)
        fields["domain"] = "b.example"
        again = Member(inside).post(path, page="/dashboard/login", token=token, **fields)

        assert "By invitation" in closed
        assert "anna@example.com" in form
        statuses = [one.status for one in (without, wrong, made, again)]
        assert statuses == [422, 422, 303, 422]
        assert "does not work" in text_of(again)
        assert [one.domain for one in all_stores(services.database)] == ["a.example"]
