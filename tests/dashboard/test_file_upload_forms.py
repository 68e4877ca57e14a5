"""File forms: checked before the file is stored, within a limit, and leaving nothing."""

from types import MappingProxyType

import pytest

from productrecs.dashboard import application, file_upload_forms
from productrecs.dashboard.page import Page, Reply, UploadedFile, Visit
from productrecs.dashboard.page_registry import BY_PATH
from productrecs.records.uploads.upload_folder import MIB
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.dashboard_user import Role
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_user, text_of
from tests.support.uploads import part

PATH = "/dashboard/a-file"
LIMIT = 3 * MIB


class Taken:
    """What the handler of the page saw."""

    def __init__(self) -> None:
        self.files: list[tuple[UploadedFile | None, bytes, str]] = []

    def __call__(self, visit: Visit) -> Reply:
        """Read the file as a handler would."""
        content = visit.file.path.read_bytes() if visit.file else b""
        self.files.append((visit.file, content, visit.form["note"]))
        return visit.redirect(PATH, "Taken.")


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Taken:
    """Add a page that takes a file."""
    taken = Taken()
    page = Page(PATH, "A file", None, taken, file_limit=LIMIT)
    monkeypatch.setattr(application, "BY_PATH", MappingProxyType({**BY_PATH, PATH: page}))
    return taken


def stored(office: Office) -> list[str]:
    """Return the names of the files that are left."""
    folder = office.services.uploads
    return [path.name for path in folder.glob("up_*")] if folder.is_dir() else []


@pytest.mark.parametrize("size", [0, 10, MIB, 2 * MIB + 3, LIMIT])
def test_a_file_reaches_the_handler_with_its_fields_and_is_removed(
    office: Office, store: Store, taken: Taken, size: int
) -> None:
    content = bytes(range(256)) * (size // 256 + 1)

    reply = office.member(store).send_file(
        PATH, content[:size], "My orders ü.csv", page="/dashboard", note="été"
    )

    assert reply.status == 303, reply.body
    ((file, seen, note),) = taken.files
    assert file is not None
    assert (file.name, file.size, note) == ("My orders ü.csv", size, "été")
    assert seen == content[:size]
    assert not stored(office)


def test_a_form_without_a_chosen_file_has_none(
    office: Office, store: Store, taken: Taken
) -> None:
    reply = office.member(store).send_file(PATH, b"", "", page="/dashboard", note="n")

    assert reply.status == 303
    assert taken.files == [(None, b"", "n")]


def test_a_file_over_the_limit_is_refused(
    office: Office, store: Store, taken: Taken
) -> None:
    reply = office.member(store).send_file(
        PATH, b"x" * (LIMIT + 1), "a.csv", page="/dashboard"
    )

    assert reply.status == 413
    assert "at most 3 MiB" in text_of(reply)
    assert not taken.files
    assert not stored(office)


@pytest.mark.parametrize("token", [None, "", "0" * 48])
def test_no_file_is_stored_without_a_token(
    office: Office,
    store: Store,
    taken: Taken,
    token: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    member = office.member(store)
    monkeypatch.setattr(file_upload_forms, "_append", pytest.fail)
    fields = [] if token is None else [part(token.encode(), "csrf", None)]

    reply = member.send_parts(PATH, *fields, part(b"x" * MIB))

    assert reply.status == 403
    assert not taken.files


def test_guests_and_viewers_send_no_file(
    office: Office, store: Store, taken: Taken
) -> None:
    guest, viewer = Member(office.inside), Member(office.inside)
    viewer.log_in(add_user(office.services, store, Role.VIEWER))

    sent = [
        member.send_file(PATH, b"x", "a.csv", page="/dashboard")
        for member in (guest, viewer)
    ]

    assert [reply.status for reply in sent] == [303, 403]
    assert not taken.files


@pytest.mark.usefixtures("taken")
def test_what_is_no_whole_form_is_refused_in_words(office: Office, store: Store) -> None:
    member = office.member(store)
    urlencoded = member.post(PATH, page="/dashboard")
    page = member.get("/dashboard/account").body.decode()
    token = part(page.split('name="csrf" value="')[1][:48].encode(), "csrf", None)
    twice = member.send_parts(PATH, token, part(b"a"), part(b"b"))

    assert urlencoded.status == 303
    assert twice.status == 400
    assert "exactly one file" in text_of(twice)
    assert not stored(office)
