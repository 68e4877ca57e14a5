"""Page: the route, roles and handlers of a page; a visit is one request for it."""

import asyncio
import ipaddress
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import quote, urlsplit

from fastapi import Request

from productrecs.core.errors import ProductRecsError
from productrecs.dashboard.cookies import FLASH, csrf_digest
from productrecs.dashboard.formats import Formats
from productrecs.dashboard.product_picture_urls import ProductPictureUrls
from productrecs.http.pipeline.route_context import ProcessContext
from productrecs.http.pipeline.route_declaration import DASHBOARD_PATH
from productrecs.services import Services
from productrecs.serving.cached_store import CachedStore
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.storage.sql.audit_log import AuditEntry, with_audit_entry
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import change_settings
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role
from productrecs.tenancy.users.login_and_sessions import Session
from productrecs.tenancy.users.login_attempt_limits import network_of
from productrecs.tenancy.users.repository import SessionBrowser

LOGIN_PATH: Final = f"{DASHBOARD_PATH}/login"
HOME_PATH: Final = DASHBOARD_PATH
MCP_PATH: Final = f"{DASHBOARD_PATH}/mcp"  # of the merchant's own assistant
Result = TypeVar("Result")
_LOCAL_NAMES: Final = (".local", ".localhost", ".test", ".internal")


class PageOrRecordNotFoundError(ProductRecsError):
    """There is no such page, or the store has no record with this id."""

    def __init__(self, message: str = "There is nothing at this address.") -> None:
        """Store the message."""
        super().__init__(message)


class NavigationGroup(StrEnum):
    """The groups of the navigation, in its order."""

    OVERVIEW = ""
    CATALOG = "Catalog"
    ANALYSE = "Analyse"
    CONNECT = "Connect"
    SETTINGS = "Settings"


@dataclass(frozen=True, slots=True)
class Reply:
    """A handler's reply; `page` is rendered in the layout, `body` is sent unchanged."""

    status: int = 200
    template: str | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    body: bytes = b""
    media_type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Mapping[str, str | None] = field(default_factory=dict)  # None: delete


@dataclass(frozen=True, slots=True)
class RowRemoval:
    """The row that a form removes: undo stores it again.

    `key` names the form's field of each column; a form without them removes no such row.
    """

    table: str
    counter: str  # of `store_heads`, by which views follow
    key: Mapping[str, str]
    then: str = ""  # the form's `then`, where it can do other things too


@dataclass(frozen=True, slots=True)
class Page:
    """One route of the dashboard: its roles and its handlers."""

    path: str
    title: str
    show: "Handler | None" = None
    change: "Handler | None" = None
    group: NavigationGroup | None = None  # None: not in the navigation
    may_change: Role = Role.EDITOR
    is_public: bool = False  # without a session
    is_signed: bool = False  # its address proves the sender: also without our form
    is_of_login: bool = False  # the user's own login: not for a session from the shop
    action: str = ""  # the audit log's text for a change: "Added an origin"
    actions: Mapping[str, str] = field(default_factory=dict)  # by the form's `then`
    removes: tuple[RowRemoval, ...] = ()  # what undo can bring back
    is_audited: bool = True  # False if POST changes nothing, as for a preview
    shows_pictures: bool = False  # of products, from the hosts that the catalog names
    file_limit: int = 0  # bytes of the one file that its form may send as `file`


def parse_row_number(text: str) -> int:
    """Return the number of a row that a form or query names.

    Raises:
        PageOrRecordNotFoundError: when no database can hold it.
    """
    number = parse_whole_number(text)
    if number is None:
        raise PageOrRecordNotFoundError
    return number


def parse_whole_number(text: str, most_digits: int = 15) -> int | None:
    """Return the number that a text has in digits; None without one, or when too long."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= most_digits
    return int(text) if is_number else None


def is_private_host(host: str) -> bool:
    """Return whether a host is this machine or in its own network."""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(_LOCAL_NAMES)


class SubmittedFields:
    """The fields of a form or a query: text by name, "" for a missing field."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Store the submitted pairs."""
        self._pairs = pairs

    def __getitem__(self, name: str) -> str:
        """Return the first value, stripped."""
        return next((value.strip() for key, value in self._pairs if key == name), "")

    def __contains__(self, name: object) -> bool:
        """Return whether the field was submitted, such as a ticked checkbox."""
        return any(key == name for key, _ in self._pairs)

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value that is not blank, in the order of the form."""
        values = (value.strip() for key, value in self._pairs if key == name)
        return tuple(value for value in values if value)

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Return the submitted pairs."""
        return self._pairs

    def all_with_blanks(self, name: str) -> tuple[str, ...]:
        """Return every value, blank ones too: a column of submitted rows."""
        return tuple(value.strip() for key, value in self._pairs if key == name)

    def as_typed(self, name: str) -> str:
        """Return the first value unstripped, for passwords."""
        return next((value for key, value in self._pairs if key == name), "")


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """The file of a form; it is deleted after the handler unless the handler moves it.

    `name` is the client's name of the file: only for display, never part of a path.
    """

    path: Path
    name: str
    size: int


@dataclass(frozen=True)
class Visit:
    """One request for a page: the store, the submitted data, and reply helpers."""

    context: ProcessContext
    request: Request
    page: Page
    base_url: str  # of the service, as seen by the browser
    client_address: str
    query: SubmittedFields
    form: SubmittedFields
    session: Session | None
    known_store: Store | None
    csrf_secret: str
    loop: asyncio.AbstractEventLoop  # of the process; handlers run in threads
    services: Services  # its database also writes the audit log line
    file: UploadedFile | None = None  # None: none was chosen

    @property
    def database(self) -> Database:
        """The database."""
        return self.services.database

    @property
    def now_ms(self) -> int:
        """The business clock's time."""
        return self.context.clock()

    @property
    def system_ms(self) -> int:
        """The system clock's time, for the expiry of sessions, links and keys."""
        return self.context.services.system_clock()

    @property
    def has_private_address(self) -> bool:
        """Whether only this machine or network can open the service's address."""
        return is_private_host(urlsplit(self.base_url).hostname or "")

    @property
    def network(self) -> str:
        """The client's network, the key of rate limits."""
        return network_of(self.client_address)

    @property
    def browser(self) -> SessionBrowser:
        """The facts of the browser that a session stores."""
        return SessionBrowser(
            self.request.headers.get("user-agent", ""), self.client_address
        )

    @property
    def store(self) -> Store:
        """The session's store: the only one that a page may read or change."""
        if self.known_store is None:
            message = "a public page has no store"
            raise RuntimeError(message)
        return self.known_store

    @property
    def user(self) -> DashboardUser:
        """The logged-in user."""
        if self.session is None:
            message = "a public page has no user"
            raise RuntimeError(message)
        return self.session.user

    @property
    def may_change(self) -> bool:
        """Whether the user may use this page's forms."""
        if self.session is None or (self.page.is_of_login and self.user.is_from_shop):
            return False
        return self.user.role >= self.page.may_change

    @property
    def is_partial(self) -> bool:
        """Whether htmx requests a part of the page."""
        return self.request.headers.get("hx-request") == "true"

    @cached_property
    def cached_store(self) -> CachedStore:
        """The session's cached store: its lists, its rules and its search."""
        return self.context.stores.open_blocking(self.store)

    @cached_property
    def pictures(self) -> ProductPictureUrls:
        """The product pictures that this page may show."""
        return ProductPictureUrls.of(self.cached_store.state.catalog, self.store.domain)

    @cached_property
    def formats(self) -> Formats:
        """The store's formats of money, numbers and dates."""
        store = self.known_store
        return Formats.plain() if store is None else Formats.of(store.settings)

    def csrf_token(self) -> str:
        """Return a CSRF token; each differs, so that compression leaks none (BREACH)."""
        salt = secrets.token_hex(8)
        return f"{salt}{csrf_digest(self.csrf_secret, salt)}"

    def render(self, template: str, *, status: int = 200, **values: object) -> Reply:
        """Return a page of `templates`."""
        return Reply(status=status, template=template, values=values)

    def redirect(self, path: str, message: str = "") -> Reply:
        """Return a redirect to a page that shows `message` once."""
        cookies = {FLASH: quote(message[:500])} if message else {}
        return Reply(status=303, headers={"location": path}, cookies=cookies)

    def run_on_event_loop(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the process's event loop; return its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def refresh_store(self) -> None:
        """Apply a change to this process's lists at once; others follow within a second."""
        self.context.stores.refresh_blocking(self.store)

    def change_settings(self, changes: Mapping[str, str]) -> None:
        """Store settings of the store, and apply them as `refresh_accounts` does.

        Raises:
            SettingError: when one is invalid; nothing is changed.
        """
        change_settings(self.database, self.store, changes)
        self.refresh_accounts()

    def enqueue_job(self, kind: str) -> None:
        """Enqueue a job of the store."""
        with self.database.transaction() as transaction:
            self.services.queue.enqueue(transaction, NewJob(self.store.store_id, kind))

    def database_with_audit_entry(
        self,
        action: str,
        detail: str = "",
        user: DashboardUser | None = None,
        undo: tuple[str, str] = ("", ""),
    ) -> Database:
        """Return the database; its next transaction writes a line to the audit log.

        The line says that `user`, by default the logged-in one, did `action`; `undo` is
        the line's id, and the rows that undo brings back.
        """
        actor = user or self.user
        name = actor.email or f"{actor.role.label} of {self.client_address}"
        entry = AuditEntry(self.system_ms, name, action, detail, *undo)
        return with_audit_entry(self.database, actor.store_id, entry)

    def refresh_accounts(self) -> None:
        """Apply a store's change in this process at once; others follow within a second."""
        self.context.accounts.refresh()


Handler: TypeAlias = Callable[[Visit], Reply]


def form_pages(
    base: str,
    title: str,
    *forms: tuple[str, Handler, str],
    may_change: Role = Role.EDITOR,
    is_of_login: bool = False,
) -> tuple[Page, ...]:
    """Return pages that only take a form: path below `base`, handler and action of each."""
    return tuple(
        Page(
            f"{base}/{path}",
            title,
            change=change,
            may_change=may_change,
            is_of_login=is_of_login,
            action=action,
        )
        for path, change, action in forms
    )
