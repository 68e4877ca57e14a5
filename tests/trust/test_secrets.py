"""Secrets: keys and shoppers' ids are never written where they should not be.

A secret key is nowhere: not in a log, not in the database, not in any other file. The ids
of shoppers are in the database, which is what it is for, and in no log and no other file.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.api.routes import TABLE, upload, with_query
from tests.support.service import Merchant, Service, eventually
from tests.trust.test_rotation import rotated

BROKEN: Final = Path(__file__).parent / "broken"
DATABASE: Final = "productrecs.db"
# As odd as no other text is; the mail address is what shops should not send, and do.
SHOPPERS: Final = (
    "customer-zq81x",
    "s_zq82xSession",
    "zq83x@mail.example",
    "zq84x-of-the-file",
    "zq85x-in-an-address",
)
CUSTOMER, SESSION, MAIL, OF_A_FILE, IN_AN_ADDRESS = SHOPPERS


def everything_on_disk(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder, by its place in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def use_every_way(merchant: Merchant) -> None:
    """Send the store's keys in every way there is, right and wrong, to every route."""
    account = merchant.account
    for (method, _), row in TABLE.items():
        call = row.call(merchant)
        for query, headers in (
            (f"key={account.publishable}", {"x-api-key": account.secret}),
            (f"key={account.secret}", {}),
            ("", {"authorization": f"Bearer {account.secret}"}),
            ("", {"x-pub-key": account.secret}),
            (f"key={account.publishable}x", {"x-api-key": f"{account.secret}x"}),
        ):
            target = with_query(call.target, query)
            merchant.client.ask(method, target, call.body, {**call.headers, **headers})
            merchant.client.ask(method, target, b"{" + account.secret.encode(), headers)


def let_shoppers_in(service: Service, merchant: Merchant) -> None:
    """Name shoppers in every way there is, right and wrong, and let the engines learn."""
    assert merchant.push({"id": "a", "title": "A"}, {"id": "b", "title": "B"}).status == 200
    for who in SHOPPERS:
        view = {"event": "detail-page-view", "item_id": "a", "user_id": who}
        assert merchant.track(view, view | {"session_id": SESSION}).status == 200
        assert merchant.track(view | {"event": "odd"}).status == 422
        assert merchant.order(f"o-{who}", "a", "b", user_id=who).status == 200
        assert merchant.order(f"p-{who}", {"item_id": {}}, user_id=who).status == 422
        assert merchant.recommend(user_id=who, customer_id=who).status == 200
        assert merchant.recommend(user_id=who, num="many").status == 422
        assert merchant.client.ask("GET", f"/v1/nothing/{who}?user_id={who}").status == 404
        assert merchant.client.ask("GET", f"/v1/trending?user_id={who}").status == 401
    rows = f"order_id,item_id,customer_id\nA,a,{OF_A_FILE}\nB,{'x' * 300},{OF_A_FILE}\n"
    upload_id = upload(merchant, rows)
    address = f"/orders/upload/{upload_id}"

    def is_done() -> bool:
        reply = merchant.client.ask("GET", address, None, merchant.server)
        return bool(reply.json["status"] == "done")

    eventually(is_done, 60)
    events = service.folder.parent / "past.jsonl"
    line = {"event": "detail-page-view", "item_id": "a", "timestamp": "2026-01-01"}
    events.write_text(
        "".join(json.dumps(line | {"user_id": who}) + "\n" for who in SHOPPERS)
    )
    service.run("import-events", merchant.account.domain, str(events))
    service.train(merchant)
    service.run("doctor")


def places(written: dict[str, bytes], word: str) -> set[str]:
    """Return the files in which a word stands."""
    return {path for path, content in written.items() if word.encode() in content}


def is_database(path: str) -> bool:
    """Return whether a file is the database, or its log of writes."""
    return path.startswith(DATABASE)


@dataclass(frozen=True)
class Used:
    """A service that was used in every way, and what is then on its disk."""

    service: Service
    merchant: Merchant  # of the store whose keys are looked for
    written: dict[str, bytes]


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Used:
    """Return a service that merchants and shoppers have used, and that has stopped."""
    folder = tmp_path_factory.mktemp("used")
    with Service(folder).prepare() as service:
        let_shoppers_in(service, service.register())
        merchant = service.register()
        use_every_way(merchant)
        service.run("keys", "rotate", merchant.account.domain)
        service.stop()
        return Used(service, merchant, everything_on_disk(folder))


def test_no_secret_key_is_ever_written_down(used: Used) -> None:
    account = used.merchant.account
    log = str(used.service.log_path.relative_to(used.service.folder))
    assert places(used.written, account.secret) == set()
    assert log not in places(used.written, account.publishable)
    # Whatever is written would have been found: the other key is kept as it is.
    assert places(used.written, account.publishable) != set()


@pytest.mark.trust
def test_none_of_two_hundred_secret_keys_is_ever_written_down(
    data_folder: Path, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.tar"
    with Service(data_folder).prepare() as service:
        old = [service.register() for _ in range(100)]
        for merchant in old:
            use_every_way(merchant)
        new = [rotated(service, merchant) for merchant in old]
        service.run("backup", str(backup))
        service.stop()
    written = everything_on_disk(data_folder) | {backup.name: backup.read_bytes()}

    assert len({one.account.secret for one in old + new}) == 200
    assert [one for one in old + new if places(written, one.account.secret)] == []
    for merchant in old:  # whatever is written would have been found
        assert backup.name in places(written, merchant.account.publishable)


def test_a_shoppers_ids_are_in_the_database_and_nowhere_else(used: Used) -> None:
    for who in SHOPPERS:
        found = places(used.written, who)
        assert {path for path in found if not is_database(path)} == set(), who
        assert found != set(), who  # what is stored is found
    assert any(path.startswith("models") for path in used.written)


def test_control_a_log_that_names_a_shopper_is_found(data_folder: Path) -> None:
    with Service(data_folder, broken=BROKEN / "chatty_log").prepare() as service:
        merchant = service.register()
        view = {"event": "detail-page-view", "item_id": "a", "user_id": CUSTOMER}
        assert merchant.track(view, view | {"session_id": SESSION}).status == 200
        service.stop()
        written = everything_on_disk(data_folder)

    log = str(service.log_path.relative_to(data_folder))
    assert log in places(written, CUSTOMER)
    assert log in places(written, SESSION)
