"""Credentials: every route with every key; each accepts exactly the right ones."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest

from productrecs.http.dispatch import admission
from productrecs.http.pipeline.authentication import (
    Caller,
    RequestKeys,
    UnknownKeyError,
    authenticate,
)
from productrecs.http.pipeline.route_declaration import CredentialKind
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.storage.sql.dialects import RawReader
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store_management import find_store, rotate_secret
from tests.api.inside import Inside, of_our_own
from tests.api.routes import (
    EITHER,
    INSTALLATION,
    NOBODY,
    PUBLISHABLE,
    SECRET,
    TABLE,
    routes_of_the_service,
    with_query,
)
from tests.support.service import (
    METRICS_TOKEN,
    Account,
    Merchant,
    Reply,
    Service,
    eventually,
    kept_once,
    raw_request,
)

Headers = dict[str, str]
Sent = tuple[str, Headers]  # what is added to the query, and the headers
OK, MISSING, INVALID = "ok", "key_missing", "key_invalid"
NEEDS_SECRET, IN_ADDRESS = "secret_key_required", "secret_key_in_address"
NO_OPERATOR = "metrics_token_invalid"


def _expected(
    publishable: str, either: str, secret: str, operator: str = OK
) -> dict[str, str]:
    return {
        PUBLISHABLE: publishable,
        EITHER: either,
        SECRET: secret,
        NOBODY: OK,
        INSTALLATION: operator,  # its token comes too, unless a bearer takes its place
    }


# name: (what is sent, what each kind of route answers)
CREDENTIALS: Final[Mapping[str, tuple[Callable[[Account], Sent], dict[str, str]]]] = (
    MappingProxyType(
        {
            "none": (lambda _: ("", {}), _expected(MISSING, MISSING, MISSING)),
            "an empty key": (lambda _: ("key=", {}), _expected(MISSING, MISSING, MISSING)),
            "an unknown publishable key": (
                lambda _: (f"key=pk_{'x' * 43}", {}),
                _expected(INVALID, INVALID, NEEDS_SECRET),
            ),
            "anything": (
                lambda _: ("key=%27%20OR%201=1", {}),
                _expected(INVALID, INVALID, NEEDS_SECRET),
            ),
            "a key that is no text": (
                lambda _: ("key=%ff%00", {}),
                _expected(INVALID, INVALID, NEEDS_SECRET),
            ),
            "publishable in the query": (
                lambda a: (f"key={a.publishable}", {}),
                _expected(OK, OK, NEEDS_SECRET),
            ),
            "publishable in another case": (
                lambda a: (f"key={a.publishable.swapcase()}", {}),
                _expected(INVALID, INVALID, NEEDS_SECRET),
            ),
            "publishable as X-Pub-Key": (
                lambda a: ("", {"x-pub-key": a.publishable}),
                _expected(OK, OK, NEEDS_SECRET),
            ),
            "publishable as X-API-Key": (
                lambda a: ("", {"x-api-key": a.publishable}),
                _expected(MISSING, NEEDS_SECRET, NEEDS_SECRET),
            ),
            "publishable as a bearer": (
                lambda a: ("", {"authorization": f"Bearer {a.publishable}"}),
                _expected(MISSING, NEEDS_SECRET, NEEDS_SECRET, NO_OPERATOR),
            ),
            "secret as X-API-Key": (
                lambda a: ("", {"x-api-key": a.secret}),
                _expected(MISSING, OK, OK),
            ),
            "secret as a bearer": (
                lambda a: ("", {"authorization": f"Bearer {a.secret}"}),
                _expected(MISSING, OK, OK, NO_OPERATOR),
            ),
            "secret as a bearer in small letters": (
                lambda a: ("", {"authorization": f"bearer {a.secret}"}),
                _expected(MISSING, OK, OK, NO_OPERATOR),
            ),
            "secret as Basic": (
                lambda a: ("", {"authorization": f"Basic {a.secret}"}),
                _expected(MISSING, MISSING, MISSING, NO_OPERATOR),
            ),
            "secret as X-Pub-Key": (
                lambda a: ("", {"x-pub-key": a.secret}),
                _expected(INVALID, INVALID, NEEDS_SECRET),
            ),
            "secret in the query": (
                lambda a: (f"key={a.secret}", {}),
                _expected(IN_ADDRESS, IN_ADDRESS, IN_ADDRESS),
            ),
            "secret in the query and in its header": (
                lambda a: (f"key={a.secret}", {"x-api-key": a.secret}),
                _expected(IN_ADDRESS, IN_ADDRESS, IN_ADDRESS),
            ),
            "an unknown secret": (
                lambda _: ("", {"x-api-key": f"sk_{'x' * 43}"}),
                _expected(MISSING, INVALID, INVALID),
            ),
            "an unknown secret beside a right publishable key": (
                lambda a: (f"key={a.publishable}", {"x-api-key": f"sk_{'x' * 43}"}),
                _expected(OK, INVALID, INVALID),
            ),
            "both keys": (
                lambda a: (f"key={a.publishable}", {"x-api-key": a.secret}),
                _expected(OK, OK, OK),
            ),
            "a secret cut short": (
                lambda a: ("", {"x-api-key": a.secret[:-1]}),
                _expected(MISSING, INVALID, INVALID),
            ),
        }
    )
)


DISTINGUISHING = {"none", "publishable in the query", "secret as X-API-Key"}
ANSWERED = {200, 202, 302}  # 302: a link in a mail


def mismatches(
    merchant: Merchant,
    credentials: Mapping[str, tuple[Callable[[Account], Sent], Any]],
    share: int = 1,
) -> list[str]:
    """Return where a route answers a credential otherwise than expected.

    With a `share` of 3, a route gets a third of the credentials, and those that tell the
    kinds of routes apart; the next routes of its kind get the other thirds.
    """
    wrong = []
    for number, ((method, path), row) in enumerate(
        sorted(TABLE.items(), key=lambda entry: entry[1].wants)
    ):
        for place, (name, (credential, expected)) in enumerate(credentials.items()):
            if (number + place) % share and name not in DISTINGUISHING:
                continue
            call = row.call(merchant)
            query, headers = credential(merchant.account)
            target = with_query(call.target, query)
            headers = {**call.headers, **headers}
            ask = partial(merchant.client.ask, method, target, call.body, headers)
            reply = _ask_once_known(ask) if path.startswith("/v1/mail/") else ask()
            code = OK if reply.status in ANSWERED else reply.json.get("code")
            if code != expected[row.wants] or reply.status not in {*ANSWERED, 401}:
                wrong.append(f"{method} {path}, {name}: {reply.status} {code}")
    return wrong


def _ask_once_known(ask: Callable[[], Reply]) -> Reply:
    """Return the reply of a process that has read the placement made for the call."""
    eventually(lambda: ask().status != 404, 30)
    return ask()


def test_every_route_has_a_row_here_and_in_the_description(merchant: Merchant) -> None:
    described = merchant.client.ask("GET", "/openapi.json").json["paths"]

    assert set(TABLE) == routes_of_the_service()
    assert set(TABLE) == {
        (method.upper(), path) for path, methods in described.items() for method in methods
    }


@pytest.mark.parametrize("share", [3, pytest.param(1, marks=pytest.mark.trust)])
def test_every_route_lets_in_exactly_the_keys_it_should(
    merchant: Merchant, share: int
) -> None:
    assert mismatches(merchant, CREDENTIALS, share) == []


def test_another_stores_secret_does_not_delete_what_is_only_here(
    merchant: Merchant, other: Merchant
) -> None:
    assert merchant.push({"id": "only here"}).status == 200

    theirs = other.delete("only here")

    assert (theirs.status, theirs.json["code"]) == (404, "item_unknown")
    assert merchant.delete("only here").status == 200


def test_a_rotated_secret_is_refused_within_a_second_on_every_process(
    service: Service, merchant: Merchant
) -> None:
    old, clients = merchant.account, service.clients_of_every_worker()
    keys = [old.secret]

    def rotate() -> float:
        known = Account(old.store_id, old.domain, old.publishable, keys[-1])
        everywhere = [Merchant(known, client) for client in clients]
        assert [one.push({"id": "a"}).status for one in everywhere] == [200, 200]

        with service.database() as database:
            keys.append(rotate_secret(database, find_store(database, old.domain)))
        return eventually(
            lambda: {one.push({"id": "a"}).status for one in everywhere} == {401}, 20
        )

    assert kept_once(rotate, 1.0)

    secret = keys[-1]
    rotated = {"a rotated secret": CREDENTIALS["an unknown secret"][1]}
    as_header = {
        name: (lambda _: ("", {"x-api-key": old.secret}), expected)
        for name, expected in rotated.items()
    }
    new = Account(old.store_id, old.domain, old.publishable, secret)
    for client in clients:
        assert mismatches(Merchant(new, client), as_header) == []
        assert Merchant(new, client).push({"id": "a"}).status == 200


def test_a_new_store_is_served_at_once_by_every_process(service: Service) -> None:
    merchant = service.register()

    for there in service.everywhere(merchant):
        assert there.trending().status == 200


def test_a_new_store_that_another_thread_reads_in_between_is_known_too(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh = AccountDirectory.refresh

    def after_somebody_else(self: AccountDirectory, reader: RawReader) -> bool:
        refresh(self, reader)
        return refresh(self, reader)  # nothing new is left to see

    with Inside(of_our_own(services)) as inside:
        monkeypatch.setattr(AccountDirectory, "refresh", after_somebody_else)
        merchant = Service(services.settings.data).register()

        assert merchant.through(inside).trending().status == 200


def test_a_deleted_stores_keys_are_refused_within_a_second(service: Service) -> None:
    def delete() -> float:
        merchant = service.register()
        everywhere = service.everywhere(merchant)
        assert [one.trending().status for one in everywhere] == [200, 200]

        service.run("store", "delete", merchant.account.domain, "--yes")

        return eventually(
            lambda: {one.trending().status for one in everywhere} == {401}, 20
        )

    assert kept_once(delete, 1.0)


def test_a_wrong_key_is_refused_before_a_hundred_megabytes_are_sent(
    service: Service,
) -> None:
    for path in ("/v1/items", "/v1/orders", "/v1/events"):
        head = f"POST {path} HTTP/1.1\r\nhost: a\r\ncontent-length: 104857600\r\n"
        began = time.monotonic()

        came = raw_request(
            service.port,
            [f"{head}x-api-key: sk_wrong\r\nx-pub-key: pk_wrong\r\n\r\n".encode()],
            until=b"}",
        )

        assert came.startswith(b"HTTP/1.1 401 "), came
        assert time.monotonic() - began < 5


@pytest.fixture
def services(data_folder: Path) -> Services:
    """Give the services of one process, over a migrated SQLite."""
    Service(data_folder).prepare()
    return build_services(Settings(data=data_folder, metrics_token=METRICS_TOKEN))


@pytest.mark.trust
def test_a_right_matrix_holds_inside_one_process_too(services: Services) -> None:
    merchant = Service(services.settings.data).register()

    with Inside(of_our_own(services)) as inside:
        assert mismatches(merchant.through(inside), CREDENTIALS) == []


def _takes_any_key(
    keys: RequestKeys, wanted: CredentialKind, accounts: AccountDirectory
) -> Caller:
    """Let a publishable key do what only a secret one may."""
    if wanted is CredentialKind.SECRET and keys.secret is None:
        wanted = CredentialKind.EITHER
    return authenticate(keys, wanted, accounts)


def _reads_secrets_in_addresses(
    keys: RequestKeys, wanted: CredentialKind, accounts: AccountDirectory
) -> Caller:
    """Take a secret key wherever it stands."""
    if keys.query and keys.query.startswith("sk_"):
        keys = RequestKeys(query=None, header=None, secret=keys.query)
    return authenticate(keys, wanted, accounts)


def _knows_no_wrong_key(
    keys: RequestKeys, wanted: CredentialKind, accounts: AccountDirectory
) -> Caller:
    """Take the first store for a key that nobody has."""
    try:
        return authenticate(keys, wanted, accounts)
    except UnknownKeyError:
        return Caller(accounts.all()[0], wanted)


@pytest.mark.trust
@pytest.mark.parametrize(
    "broken", [_takes_any_key, _reads_secrets_in_addresses, _knows_no_wrong_key]
)
def test_control_a_door_with_a_hole_does_not_pass_the_matrix(
    services: Services, monkeypatch: pytest.MonkeyPatch, broken: Callable[..., Caller]
) -> None:
    merchant = Service(services.settings.data).register()
    monkeypatch.setattr(admission, "authenticate", broken)

    with Inside(of_our_own(services)) as inside:
        assert mismatches(merchant.through(inside), CREDENTIALS) != []
