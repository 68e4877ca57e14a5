"""A flood of passwords: it costs no hash where none is needed, and delays no page."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from productrecs.dashboard.pages.account import login
from productrecs.http.pipeline import signed_out_form_pool
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.team_members import accept_invitation
from productrecs.tenancy.users.invitations.repository import InvitationError
from productrecs.tenancy.users.login_and_sessions import (
    ResetLinkError,
    reset_password_and_join_logins,
)
from productrecs.tenancy.users.random_tokens import new_token
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, text_of

TOO_SHORT = "x"  # a hash would refuse it: the token is looked up first


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (reset_password_and_join_logins, ResetLinkError),
        (accept_invitation, InvitationError),
    ],
)
def test_an_unknown_token_costs_no_hash_of_a_password(
    office: Office, store: Store, use: Callable[..., object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        use(office.services.database, new_token(store.store_id), TOO_SHORT, office.now_ms)


def test_unknown_reset_links_are_counted_by_network(office: Office, store: Store) -> None:
    def status(address: str) -> int:
        guest = Member(office.inside, headers={"x-forwarded-for": address})
        token = new_token(store.store_id)
        fields = {"token": token, "password": "long enough"}
        return guest.post("/dashboard/reset", page="/dashboard/login", **fields).status

    statuses = [status("203.0.113.71") for _ in range(11)]

    assert statuses == [404] * 10 + [429]
    assert status("203.0.113.72") == 404


@pytest.fixture
def guesses(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[int], list[int]]]:
    """Give a way to send guesses whose hash takes until the test is over."""
    over = threading.Event()

    def verify(*_: object) -> list[object]:
        over.wait(30)
        return []

    monkeypatch.setattr(login, "logins_opened_by_password", verify)
    threads: list[threading.Thread] = []

    def send(count: int) -> list[int]:
        statuses: list[int] = []
        guest = Member(office.inside)
        token = guest.get("/dashboard/login").body.decode()
        csrf = token.partition('name="csrf" value="')[2].partition('"')[0]
        form = {"csrf": csrf, "name": "nobody@shop.example", "password": "wrong password"}

        def guess() -> None:
            statuses.append(guest.send("/dashboard/login", form).status)

        for _ in range(count):
            threads.append(threading.Thread(target=guess))
            threads[-1].start()
        return statuses

    yield send
    over.set()
    for one in threads:
        one.join()


def test_pages_open_while_passwords_are_checked(
    office: Office, guesses: Callable[[int], list[int]]
) -> None:
    guest = Member(office.inside)
    answered = guesses(8)
    with ThreadPoolExecutor(4) as readers:
        pages = list(readers.map(lambda _: guest.get("/dashboard/login"), range(8)))

    assert [page.status for page in pages] == [200] * 8
    assert answered == []  # all still wait: the pages were not behind them


def test_a_form_behind_too_many_others_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, guesses: Callable[[int], list[int]], office: Office
) -> None:
    monkeypatch.setattr(signed_out_form_pool, "MAX_WAITING", 2)
    answered = guesses(5)
    until = time.monotonic() + 20
    while len(answered) < 3 and time.monotonic() < until:
        time.sleep(0.01)

    assert answered == [503] * 3
    last = Member(office.inside).post("/dashboard/login", name="a", password="b")
    assert "try again in a minute" in text_of(last)
    assert last.header("retry-after") == "60"
