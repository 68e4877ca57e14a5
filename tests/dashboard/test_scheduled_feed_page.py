"""Scheduled feed page: an address is entered, fetched, and what waits is answered."""

from collections.abc import Iterator

import pytest

from productrecs.core.clock import HOUR_MS
from productrecs.features.imports.dashboard_file_import import DashboardFileImporter
from productrecs.features.imports.scheduled_feeds.feed_download import FeedDownloader
from productrecs.features.imports.scheduled_feeds.repository import ScheduledFeedRepository
from productrecs.features.imports.scheduled_feeds.scheduled_feed import (
    FETCH_JOB,
    ScheduledFeed,
)
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.tenancy.users.mail_subscriptions.repository import (
    MailSubscriptionRepository,
    MailTopic,
)
from productrecs.worker.file_import_jobs import (
    build_file_check_worker,
    build_file_import_worker,
)
from productrecs.worker.scheduled_feed_jobs import build_feed_worker
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_user, flat_text, text_of
from tests.support.feeds import HOST, FeedHost

PAGE = "/dashboard/imports/scheduled-feed"
URL = "https://shop.example/feed.xml"
FEED = "id,title,price\nmug,Blue mug,9.5\ntent,Tent,90\nrope,Rope,four\n"


@pytest.fixture(scope="module")
def host() -> Iterator[FeedHost]:
    with FeedHost() as found:
        yield found


def flat(member: Member, path: str = PAGE) -> str:
    """Return the text of a page in one line."""
    return flat_text(member.get(path))


def stored_feed(office: Office, store: Store) -> ScheduledFeed | None:
    """Return the feed as it is stored."""
    with office.services.database.reading() as connection:
        return ScheduledFeedRepository(connection, store.store_id).find()


def work(office: Office, store: Store) -> None:
    """Let the workers fetch what is due, check and import it."""
    with office.services.database.transaction() as transaction:
        office.services.queue.enqueue(transaction, NewJob(store.store_id, FETCH_JOB))
    files = DashboardFileImporter(office.services.imports)
    for worker in (
        build_feed_worker(office.services, FeedDownloader({HOST})),
        build_file_check_worker(office.services, files),
        build_file_import_worker(office.services, files),
    ):
        while worker.run_next_job():
            pass


def test_a_feed_is_added_held_back_and_applied(
    office: Office, store: Store, host: FeedHost
) -> None:
    member = office.member(store)
    assert "Nothing has been fetched yet" in flat(member)

    url = host.put(FEED)
    reply = member.post(PAGE, secret_url=url, every="60", secret_header="", complete="on")
    assert reply.status == 303, text_of(reply)
    work(office, store)

    page = flat(member)
    assert f'value="{url}"' in member.get(PAGE).body.decode()
    assert "Imported" in page
    assert "2 0 0 1" in page  # new, changed, no longer shown, failed
    assert "waits for your yes" not in page

    host.put(FEED.replace("9.5", "95"))
    office.now_ms += HOUR_MS
    work(office, store)
    page = flat(member)
    assert "The last file waits for your yes" in page
    assert "change the price of 1, of 2 in your catalog" in page
    feed = stored_feed(office, store)
    assert feed is not None
    details = f"/dashboard/imports/file?file={feed.import_id}"
    assert "With a new price 1" in flat(member, details)
    assert "Waits for your yes" in flat(member, "/dashboard/imports")

    reply = member.post("/dashboard/imports/start", page=PAGE, file=str(feed.import_id))
    assert reply.status == 303
    work(office, store)
    assert "waits for your yes" not in flat(member)


def test_a_password_is_stored_encrypted_and_never_shown(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    address = "https://me:s3cret@shop.example/feed.xml"

    assert member.post(PAGE, secret_url=address, every="60").status == 303

    feed = stored_feed(office, store)
    assert feed is not None
    assert feed.url == URL
    assert feed.header.startswith("fernet:")
    assert office.services.cipher.decrypt(feed.header).startswith("Authorization: Basic ")
    html = member.get(PAGE).body.decode()
    assert "A header is stored" in html
    assert "s3cret" not in html
    assert feed.header not in html
    assert "s3cret" not in flat(member, "/dashboard/audit")

    member.post(PAGE, secret_url=f"{URL}?page=2", every="60", secret_header="")
    kept = stored_feed(office, store)
    assert kept is not None
    assert kept.header == feed.header
    member.post(
        PAGE, secret_url="https://attacker.example/feed.xml", every="60", secret_header=""
    )
    moved = stored_feed(office, store)
    assert moved is not None
    assert moved.header == ""  # another host does not get the secret

    member.post(PAGE, secret_url=URL, every="60", secret_header="X-Key: abc")
    member.post(PAGE, secret_url=URL, every="60", secret_header="", drop_header="on")
    dropped = stored_feed(office, store)
    assert dropped is not None
    assert dropped.header == ""


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"secret_url": "shop.example"}, "Enter a whole address"),
        ({"secret_url": "http://me:p@shop.example/f"}, "must begin with https://"),
        ({"secret_url": URL, "secret_header": "Host: x"}, "set by the service"),
        ({"secret_url": URL, "every": "1"}, "Choose how often"),
        ({"secret_url": URL, "every": "x"}, "Choose how often"),
        ({"secret_url": URL, "every": "9" * 5_000}, "Choose how often"),
    ],
)
def test_what_cannot_be_stored_gets_an_error_beside_the_field(
    office: Office, store: Store, fields: dict[str, str], words: str
) -> None:
    reply = office.member(store).post(
        PAGE, **{"every": "60", "secret_header": "", **fields}
    )

    assert reply.status == 422
    assert words in text_of(reply)
    assert stored_feed(office, store) is None


def test_a_feed_is_fetched_now_and_removed(
    office: Office, store: Store, host: FeedHost
) -> None:
    member = office.member(store)
    member.post(PAGE, secret_url=host.put(FEED, "/now.csv"), every="1440", secret_header="")
    work(office, store)

    for _ in range(2):
        assert member.post(f"{PAGE}/fetch", page=PAGE).status == 303
        work(office, store)
    assert flat(member).count("Imported") == 3  # also if the file has not changed

    assert member.post(f"{PAGE}/remove", page=PAGE).status == 303
    assert stored_feed(office, store) is None
    assert "Add your feed" in flat(member)
    assert flat(member).count("Imported") == 3  # the log stays
    reply = member.post(f"{PAGE}/fetch", page=PAGE)
    assert "Your store has no scheduled feed" in flat(
        member, reply.header("location") or ""
    )


def test_a_viewer_sees_the_feed_and_no_form(office: Office, store: Store) -> None:
    office.member(store).post(PAGE, secret_url=URL, every="60", secret_header="X-Key: abc")
    viewer = Member(office.inside)
    viewer.log_in(add_user(office.services, store, Role.VIEWER))

    page = viewer.get(PAGE).body.decode()

    assert "Your role can see the feed" in page
    assert "Save and fetch" not in page
    assert viewer.send(f"{PAGE}/remove", {}).status == 403
    assert stored_feed(office, store) is not None


def test_each_member_chooses_whether_to_get_mails(office: Office, store: Store) -> None:
    member = office.member(store)

    def readers() -> int:
        with office.services.database.reading() as connection:
            subscriptions = MailSubscriptionRepository(connection, store.store_id)
            return len(subscriptions.readers(MailTopic.SCHEDULED_FEED))

    assert readers() == 0
    member.post(f"{PAGE}/mails", page=PAGE, mails="on")
    assert readers() == 1
    member.post(f"{PAGE}/mails", page=PAGE, mails="off")
    assert readers() == 0
