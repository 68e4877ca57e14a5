"""Access walk: every page of the registry, with another store's ids, roles and no token."""

import html
from urllib.parse import quote, quote_plus

import pytest
import sqlalchemy as sa

from productrecs.dashboard.page import Page
from productrecs.dashboard.page_registry import PAGES
from productrecs.storage.sql.tables import metadata
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.tenancy.users.login_and_sessions import begin_session
from productrecs.tenancy.users.repository import UserRepository
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_user
from tests.support.dashboard_calls import address_of, fields_of, undeclared
from tests.support.filled_store import Filled, fill, open_store
from tests.support.service import Reply

OURS, OTHERS = "zqours", "zqother"
_SEEN_WITHOUT_CHANGE = {"dashboard_sessions", "key_uses"}  # when they were last used
# Made once: SQLAlchemy would spend more time on making them than on reading the rows.
_ROWS_OF_A_STORE = {
    table.name: sa.select(table).where(table.c.store_id == sa.bindparam("store_id"))
    for table in metadata.sorted_tables
    if "store_id" in table.c and table.name not in _SEEN_WITHOUT_CHANGE
}
FORM_PAGE = "/dashboard/security"  # short, for everybody, with the token of each form
SHOWN = [page for page in PAGES if page.show is not None and not page.is_public]
CHANGING = [page for page in PAGES if page.change is not None]
OWN = {  # what a viewer may change: the own login and e-mails, nothing of the store
    "/dashboard/confirm/send",
    "/dashboard/switch",
    "/dashboard/demand/mails",
    "/dashboard/imports/scheduled-feed/mails",
    "/dashboard/search/relevance/mails",
    "/dashboard/security/password",
    "/dashboard/security/sessions",
    "/dashboard/security/two-factor",
    "/dashboard/security/two-factor/on",
    "/dashboard/security/two-factor/off",
    "/dashboard/security/weekly-report",
}
INNER = [page for page in CHANGING if not page.is_public]
FOR_EDITORS = [page for page in INNER if page.path not in OWN]
FOR_OWNERS = [page for page in INNER if page.may_change is Role.OWNER]


def texts(word: str) -> list[str]:
    return [f"{word} lamp", f"{word} chair", f"{word} table"]


@pytest.fixture(scope="module")
def ours(office: Office) -> Filled:
    return _filled(office, OURS)


@pytest.fixture(scope="module")
def others(office: Office) -> Filled:
    return _filled(office, OTHERS)


def _filled(office: Office, word: str) -> Filled:
    services = office.services
    made = open_store(services.database, services.clock, office.inside, f"{word}.example")
    return fill(made, texts(word))


def member_of(office: Office, filled: Filled, role: Role = Role.OWNER) -> Member:
    """Return a user of a role, with a session of its own."""
    database = office.services.database
    with database.reading() as connection:
        users = UserRepository(connection, filled.store.store_id).all()
    named = [one for one in users if one.role is role and "zq" not in (one.user_id)]
    if role is not Role.OWNER and not any(one.user_id == role.label for one in named):
        add_user(office.services, filled.store, role)
        return member_of(office, filled, role)
    user = next(one for one in named if one.user_id == role.label)
    session = begin_session(database, user, office.now_ms)
    return Member(office.inside, {"productrecs_session": session.token})


def rows_of(office: Office, filled: Filled) -> dict[str, list[str]]:
    """Return every row of a store, in every table."""
    sought = {"store_id": filled.store.store_id}
    with office.services.database.reading() as connection:
        return {
            name: sorted(map(repr, connection.execute(query, sought)))
            for name, query in _ROWS_OF_A_STORE.items()
        }


def without_what_was_sent(reply: Reply, sent: dict[str, str]) -> str:
    """Return a page's text without the ids that it was asked for, in any notation."""
    text = reply.body.decode("utf-8", "replace")
    where = reply.header("location")
    for value in sorted(sent.values(), key=len, reverse=True):
        for written in (value, html.escape(value), quote(value), quote_plus(value)):
            text = text.replace(written, "") if value else text
            where = where.replace(written, "") if value and where else where
    return f"{text} {where}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_what_every_page_reads_is_declared(page: Page) -> None:
    assert not undeclared(page), (
        f"{page.path} reads {undeclared(page)}: declare it in "
        "tests/support/dashboard_calls.py, so that the walk sends another store's id"
    )


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.path)
def test_a_page_opens_with_the_ids_of_its_own_store(
    office: Office, ours: Filled, page: Page
) -> None:
    reply = member_of(office, ours).get(address_of(page, ours))

    assert reply.status in {200, 204, 303}, (page.path, reply.body[-600:])


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.path)
def test_a_page_shows_nothing_of_another_store(
    office: Office, ours: Filled, others: Filled, page: Page
) -> None:
    reply = member_of(office, ours).get(address_of(page, others))

    assert reply.status in {200, 204, 303, 400, 404, 422}, (page.path, reply.status)
    shown = without_what_was_sent(reply, fields_of(page, others))
    assert OTHERS not in shown, page.path
    assert others.store.publishable_key not in shown


@pytest.mark.parametrize("page", INNER, ids=lambda page: page.path)
def test_a_form_changes_nothing_of_another_store(
    office: Office, ours: Filled, others: Filled, page: Page
) -> None:
    member, fields = member_of(office, ours), fields_of(page, others)
    fields.pop("page", None)  # the form's page is another here
    before = rows_of(office, others)

    reply = member.post(page.path, page=FORM_PAGE, **{**fields, "store": OTHERS})

    assert reply.status < 500, (page.path, reply.body[-600:])
    assert reply.status != 403, (page.path, "an owner may use every form")
    assert page.may_change > Role.VIEWER or page.path in OWN, page.path
    assert OTHERS not in without_what_was_sent(reply, fields), page.path
    assert rows_of(office, others) == before


@pytest.mark.parametrize("page", FOR_EDITORS, ids=lambda page: page.path)
def test_a_viewer_can_change_nothing(office: Office, ours: Filled, page: Page) -> None:
    viewer = member_of(office, ours, Role.VIEWER)
    before = rows_of(office, ours)

    fields = fields_of(page, ours)
    fields.pop("page", None)
    reply = viewer.post(page.path, page=FORM_PAGE, **fields)

    assert reply.status == 403, page.path
    assert rows_of(office, ours) == before


@pytest.mark.parametrize("page", FOR_OWNERS, ids=lambda page: page.path)
def test_who_has_a_lower_role_than_a_form_asks_for_can_not_use_it(
    office: Office, ours: Filled, page: Page
) -> None:
    editor = member_of(office, ours, Role.EDITOR)
    before = rows_of(office, ours)

    reply = editor.post(page.path, page=FORM_PAGE, **fields_of(page, ours))

    assert reply.status == 403, page.path
    assert rows_of(office, ours) == before


@pytest.mark.parametrize("page", CHANGING, ids=lambda page: page.path)
def test_a_form_without_a_token_is_refused(
    office: Office, ours: Filled, page: Page
) -> None:
    owner = member_of(office, ours)
    before = rows_of(office, ours)

    reply = owner.send(page.path, fields_of(page, ours) | {"csrf": ""})

    # An address that is signed needs no token; this one is not.
    assert reply.status == (404 if page.is_signed else 403), page.path
    assert rows_of(office, ours) == before


def test_the_walk_sees_what_leaks(office: Office, ours: Filled, others: Filled) -> None:
    """Check the walk's own eyes: the other store's pages do hold what it looks for."""
    reply = member_of(office, others).get("/dashboard/account")

    assert OTHERS in without_what_was_sent(reply, {})
    assert rows_of(office, ours)["items"]
    assert {"rule", "look", "upload", "user", "item", "order"} <= set(others.ids)
