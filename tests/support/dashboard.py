"""How does a test use the dashboard without a browser?

`Member` is one person with cookies: it logs in, opens pages, and sends the forms that stand
on them, as a browser would.
"""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Final
from urllib.parse import urlencode

from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import Registration, register_store
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role
from productrecs.tenancy.users.passwords import validate_and_hash_password
from productrecs.tenancy.users.repository import UserRepository
from tests.support.service import Reply, Requester
from tests.support.uploads import BOUNDARY
from tests.support.uploads import part as form_part

PASSWORD: Final = "correct horse battery"
_TOKEN: Final = re.compile(r'name="csrf" value="([0-9a-f]+)"')
_FORM: Final = {"content-type": "application/x-www-form-urlencoded"}


def add_store(services: Services, domain: str, **settings: str) -> Store:
    """Register a store whose owner is `owner@DOMAIN`."""
    wanted = Registration(
        domain, f"owner@{domain}", PASSWORD, DEFAULT_PLANS["unlimited"], settings
    )
    return register_store(services.database, wanted, services.clock)[0]


def add_user(services: Services, store: Store, role: Role, name: str = "") -> str:
    """Add a user of a role, named after it; return the e-mail."""
    name = name or role.label
    email = f"{name}@{store.domain}"
    user = DashboardUser(
        store.store_id, name, email, role, validate_and_hash_password(PASSWORD)
    )
    with services.database.transaction() as transaction:
        UserRepository(transaction, store.store_id).add(user, 0)
    return email


@dataclass
class Member:
    """Somebody at the dashboard, with the cookies of one browser."""

    client: Requester
    cookies: dict[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def get(self, path: str) -> Reply:
        """Open a page."""
        return self._ask("GET", path, None, {})

    def post(self, path: str, *, page: str | None = None, **fields: str) -> Reply:
        """Send a form with the token of `page` (else of the page of the path)."""
        seen = self.get(page or path)
        if seen.status == 303:  # a path that only takes forms
            seen = self.get(seen.header("location") or "")
        token = _TOKEN.search(seen.body.decode())
        sent = {**fields, "csrf": token[1] if token else ""}
        return self.send(path, sent)

    def send(
        self,
        path: str,
        fields: Mapping[str, str] | Sequence[tuple[str, str]],
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send fields as they are."""
        body = urlencode(fields).encode()
        return self._ask("POST", path, body, {**_FORM, **(headers or {})})

    def send_file(
        self, path: str, content: bytes, name: str, *, page: str, **fields: str
    ) -> Reply:
        """Send a form with a file and the token of `page`."""
        token = _TOKEN.search(self.get(page).body.decode())
        sent = {"csrf": token[1] if token else "", **fields}
        return self.send_parts(
            path,
            *(form_part(value.encode(), key, None) for key, value in sent.items()),
            form_part(content, "file", name),
        )

    def send_parts(self, path: str, *parts: bytes) -> Reply:
        """Send the parts of a multipart form as they are."""
        kind = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}
        body = b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()
        return self._ask("POST", path, body, {**kind, "content-length": str(len(body))})

    def log_in(self, name: str, password: str = PASSWORD) -> Reply:
        """Log in."""
        return self.post("/dashboard/login", name=name, password=password)

    def _ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        sent = {**self.headers, **headers}
        if self.cookies:
            sent["cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        reply = self.client.ask(method, path, body, sent)
        for name, value in reply.headers:
            if name == "set-cookie":
                for key, morsel in SimpleCookie(value).items():
                    if morsel["max-age"] == "0":
                        self.cookies.pop(key, None)
                    else:
                        self.cookies[key] = morsel.value
        return reply


def text_of(reply: Reply) -> str:
    """Return a page's text without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", " ", reply.body.decode()))


def flat_text(reply: Reply) -> str:
    """Return a page's text without its tags, in one line."""
    return " ".join(text_of(reply).split())
