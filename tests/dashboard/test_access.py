"""Who gets into the dashboard: sessions, roles, CSRF tokens, and each store by itself."""

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from productrecs.application import create_application
from productrecs.core.clock import DAY_MS
from productrecs.dashboard.cookies import cookie_name
from productrecs.dashboard.page_registry import PAGES
from productrecs.dashboard.pages.settings.security import browser_name
from productrecs.services import build_services
from productrecs.settings import Settings
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users import login_and_sessions, passwords
from productrecs.tenancy.users.login_and_sessions import ABSOLUTE_MS, IDLE_MS
from productrecs.tenancy.users.repository import UserRepository
from productrecs.tenancy.users.second_factors.repository import (
    SecondFactor,
    SecondFactorRepository,
)
from tests.api.inside import Inside
from tests.dashboard.conftest import Office
from tests.support.dashboard import PASSWORD, Member, add_store, text_of
from tests.support.service import Service

INNER = [page for page in PAGES if not page.is_public]
COOKIE = "productrecs_session"


@pytest.mark.parametrize("page", INNER, ids=lambda page: page.path)
def test_no_page_opens_without_a_session(office: Office, page: object) -> None:
    path = getattr(page, "path", "")
    guest = Member(office.inside)

    seen, sent = guest.get(path), guest.post(path, page="/dashboard/login")

    assert {reply.status for reply in (seen, sent)} == {303}
    assert "/dashboard/login" in (sent.header("location") or "")


FORMS = [page.path for page in INNER if page.show is None]


@pytest.mark.parametrize("path", FORMS)
def test_the_address_of_a_form_leads_to_its_page(
    office: Office, store: Store, path: str
) -> None:
    member = office.member(store)

    reply = member.get(f"{path}?id=1")

    location = reply.header("location") or ""
    assert reply.status == 303
    assert location.endswith("?id=1")
    assert path.startswith(location.partition("?")[0])
    assert member.get(f"{path}/no-such").status == 404


def test_a_session_of_another_store_is_worth_nothing(office: Office, store: Store) -> None:
    other = add_store(office.services, f"other-{office.now_ms}.example")
    member = office.member(store)
    token = member.cookies[COOKIE].partition(".")[2]
    member.cookies[COOKIE] = f"{other.store_id}.{token}"

    assert member.get("/dashboard").status == 303


@pytest.mark.parametrize(
    ("token", "headers"),
    [
        ("", {}),
        ("0" * 48, {}),
        (None, {"origin": "https://evil.example"}),
        (None, {"origin": "null"}),
        (None, {"sec-fetch-site": "cross-site"}),
        (None, {"sec-fetch-site": "same-site"}),
    ],
)
def test_a_form_from_elsewhere_is_refused(
    office: Office, store: Store, token: str | None, headers: dict[str, str]
) -> None:
    member = office.member(store)
    page = member.get("/dashboard/account").body.decode()
    own = page.split('name="csrf" value="')[1].split('"')[0]
    fields = {"csrf": own if token is None else token, "origin": "https://a.example"}

    refused = member.send("/dashboard/account/origins/add", fields, headers)
    taken = member.send("/dashboard/account/origins/add", {**fields, "csrf": own})

    assert (refused.status, taken.status) == (403, 303)


def test_a_token_of_another_session_is_refused(office: Office, store: Store) -> None:
    member, other = office.member(store), office.member(store)
    page = other.get("/dashboard/account").body.decode()
    token = page.split('name="csrf" value="')[1].split('"')[0]

    reply = member.send("/dashboard/account/origins/add", {"csrf": token, "origin": "x"})

    assert reply.status == 403


def test_log_in_changes_the_session_and_log_out_ends_it(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    first = member.cookies[COOKIE]
    assert member.post("/dashboard/logout", page="/dashboard").status == 303
    again = Member(office.inside, {COOKIE: first})

    assert again.get("/dashboard").status == 303
    assert again.log_in(store.domain.upper()).status == 303
    assert again.cookies[COOKIE] != first


@pytest.mark.parametrize("step_ms", [IDLE_MS + 1, IDLE_MS - 1])
def test_a_session_ends_when_idle_and_in_any_case(
    office: Office, store: Store, step_ms: int
) -> None:
    member = office.member(store)
    began = office.now_ms
    seen = []

    while office.now_ms - began <= ABSOLUTE_MS:
        office.now_ms += step_ms
        seen.append(member.get("/dashboard").status)

    is_idle = step_ms > IDLE_MS
    assert seen[0] == (303 if is_idle else 200)
    assert seen[-1] == 303


def test_a_session_lasts_seven_days_at_most_and_the_page_says_so(
    office: Office, store: Store
) -> None:
    page = text_of(office.member(store).get("/dashboard/security"))

    assert ABSOLUTE_MS == 7 * DAY_MS
    assert "after 7 days in any case" in page


@pytest.mark.parametrize(
    ("seconds", "scheme", "sent"),
    [(0, "https", None), (31_536_000, "http", None), (600, "https", "max-age=600")],
)
def test_the_hsts_header_is_sent_where_the_operator_sets_it(
    tmp_path: Path, seconds: int, scheme: str, sent: str | None
) -> None:
    place = Service(tmp_path).prepare()
    services = build_services(Settings(data=place.folder, hsts_seconds=seconds))
    with Inside(create_application(services, draining=[])) as inside:
        guest = Member(inside, headers={"x-forwarded-proto": scheme})
        reply = guest.get("/dashboard/login")

    assert reply.status == 200
    assert reply.header("strict-transport-security") == sent


def test_a_session_ends_by_the_machines_clock_where_the_services_time_is_frozen(
    office: Office, store: Store
) -> None:
    member = office.member(store)

    office.ahead_ms += IDLE_MS + 1

    assert member.get("/dashboard").status == 303


@pytest.mark.parametrize(
    ("path", "headers", "after"),
    [
        ("/dashboard/products?q=red+tent&page=2", {}, None),
        ("/dashboard?days=7", {}, None),
        ("/dashboard", {}, ""),
        (
            "/dashboard/products?q=re",
            {
                "hx-request": "true",
                "hx-current-url": "http://shop.example/dashboard/products?q=r",
            },
            "/dashboard/products?q=r",
        ),
    ],
)
def test_log_in_leads_back_to_the_page_with_its_query(
    office: Office, store: Store, path: str, headers: dict[str, str], after: str | None
) -> None:
    guest = Member(office.inside, headers=headers)

    sent = guest.get(path)
    to = sent.header("location") or sent.header("hx-redirect") or ""
    next_path = dict(parse_qsl(urlsplit(to).query)).get("next", "")
    entered = Member(office.inside).post(
        "/dashboard/login", name=store.domain, password=PASSWORD, next=next_path
    )

    wanted = path if after is None else after
    assert next_path == wanted
    assert entered.header("location") == (wanted or "/dashboard")


def test_a_form_sent_after_the_session_leads_back_to_its_page(office: Office) -> None:
    guest = Member(office.inside, headers={"referer": "http://x/dashboard/account?a=1"})

    reply = guest.send("/dashboard/account/origins/add", {"origin": "https://a.example"})

    assert reply.header("location") == "/dashboard/login?next=/dashboard/account%3Fa%3D1"


def test_wrong_passwords_sound_alike_and_are_throttled(
    office: Office, store: Store
) -> None:
    guest = Member(office.inside, headers={"x-forwarded-for": "203.0.113.7"})
    names = [f"owner@{store.domain}", "nobody@nowhere.example"]
    replies = [guest.log_in(name, "wrong password") for name in names]
    pages = [
        text_of(reply).replace(name, "") for reply, name in zip(replies, names, strict=True)
    ]
    assert pages[0] == pages[1]

    for _ in range(12):
        last = guest.log_in(names[0], "wrong password")

    assert last.status == 429
    assert guest.log_in(names[0], PASSWORD).status == 429


@pytest.mark.parametrize("domain", ["{}", "nobody-{}"])
def test_every_spelling_of_a_name_counts_as_the_account_that_it_means(
    office: Office, store: Store, domain: str
) -> None:
    host = domain.format(store.domain)
    spellings = [
        host,
        f"{host}:1",
        f"http://{host}/2",
        f"HTTPS://{host.upper()}.",
        f"//{host}?3",
    ]
    if host == store.domain:
        spellings.append(f"owner@{host}")

    def status(number: int, password: str) -> int:
        name = spellings[number % len(spellings)]
        headers = {"x-forwarded-for": f"203.0.113.{number}"}
        return Member(office.inside, headers=headers).log_in(name, password).status

    assert {status(number, "wrong password") for number in range(10)} == {422}
    assert {status(number, PASSWORD) for number in range(10, 16)} == {429}


def test_a_login_costs_the_same_hashes_whatever_the_name_has(
    office: Office, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = add_store(office.services, f"twin-{store.domain}")
    email = f"owner@{store.domain}"
    with office.services.database.transaction() as transaction:
        for one in (store, twin):  # two second factors hold the two logins apart
            factor = SecondFactor("owner", "SECRET", 1, 0, ())
            SecondFactorRepository(transaction, one.store_id).put(factor)
        users = UserRepository(transaction, twin.store_id)
        users.set_email(users.all()[0].user_id, email)
    verified: list[str | None] = []

    def is_correct_password(password_hash: str | None, password: str) -> bool:
        verified.append(password_hash)
        return passwords.is_correct_password(password_hash, password)

    monkeypatch.setattr(login_and_sessions, "is_correct_password", is_correct_password)
    work, replies = [], []
    for name in (email, f"owner@{twin.domain}", store.domain, "nobody@nowhere.example"):
        for password in ("wrong password", PASSWORD):
            replies.append(text_of(Member(office.inside).log_in(name, password)))
            work.append(len(verified))
            verified.clear()

    assert len(set(work)) == 1
    assert "owns several stores" in replies[1]


def test_cookies_are_bound_to_the_host_where_the_page_is_encrypted() -> None:
    assert cookie_name("session", "https://a.example") == "__Host-productrecs_session"
    assert cookie_name("session", "http://localhost:8000") == "productrecs_session"


def test_cookies_and_pages_are_closed_to_others(office: Office, store: Store) -> None:
    safe = Member(office.inside, headers={"x-forwarded-proto": "https"})
    reply = safe.log_in(f"owner@{store.domain}")
    cookies = [value for name, value in reply.headers if name == "set-cookie"]
    page = office.member(store).get("/dashboard")

    session = next(one for one in cookies if one.startswith("__Host-productrecs_session="))
    assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= set(session.split("; "))
    policy = page.header("content-security-policy") or ""
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert page.header("cache-control") == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "https://evil.example",
        "/dashboard/\\e",
        "/dashboardx",
        "/dashboard@x",
    ],
)
def test_log_in_leads_to_no_other_site(office: Office, store: Store, path: str) -> None:
    member = Member(office.inside)
    reply = member.post("/dashboard/login", name=store.domain, password=PASSWORD, next=path)

    assert reply.header("location") == "/dashboard"


def test_an_unknown_page_is_shown_as_one(office: Office) -> None:
    reply = Member(office.inside).get("/dashboard/no-such")

    assert reply.status == 404
    assert "There is nothing at this address" in text_of(reply)


CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) Gecko/2 Firefox/140.0", "Firefox on Linux"),
        (f"Mozilla/5.0 (Windows NT 10.0) {CHROME} Edg/142.0", "Edge on Windows"),
        (f"Mozilla/5.0 (Linux; Android 15) {CHROME}", "Chrome on Android"),
        ("Mozilla/5.0 (iPhone; like Mac OS X) Safari/604.1", "Safari on iPhone"),
        ("curl/8.5", "curl/8.5"),
        ("", "Unknown browser"),
    ],
)
def test_sessions_name_the_browser_as_people_do(agent: str, name: str) -> None:
    assert browser_name(agent) == name
