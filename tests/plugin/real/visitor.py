"""Visitor of a real shop: a browser without scripts, and the screens of wp-admin."""

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import urljoin

import httpx2

from tests.plugin.real.shop import URL

PLUGIN_FILE: Final = "service-recommender/service-recommender.php"
WITHOUT_PLUGIN: Final = "test_without_plugin"
"""The cookie with which the shop answers as if the plugin was not active."""


class _Forms(HTMLParser):
    """The fields of each form of a page, as a browser would send them unchanged."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[set[str], dict[str, str]]] = []
        self._fields: dict[str, str] | None = None
        self._select, self._area = "", ""

    def find(self, name: str) -> dict[str, str]:
        """Return the fields of the form with an id, a class or an `action` field."""
        for names, fields in self.forms:
            if name in names or fields.get("action") == name:
                return fields
        return {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        name = attributes.get("name", "")
        if tag == "form":
            self._fields = {}
            names = {attributes.get("id", ""), *attributes.get("class", "").split()}
            self.forms.append((names, self._fields))
        elif self._fields is None:
            return
        elif tag == "select":
            self._select = name
        elif tag == "textarea":
            self._area, self._fields[name] = name, ""
        elif tag == "option" and self._select:
            if "selected" in attributes or self._select not in self._fields:
                self._fields[self._select] = attributes.get("value", "")
        elif tag == "input" and name:
            self._input(self._fields, name, attributes)

    @staticmethod
    def _input(fields: dict[str, str], name: str, attributes: dict[str, str]) -> None:
        kind = attributes.get("type", "text")
        if kind in {"checkbox", "radio"}:
            if "checked" in attributes:
                fields[name] = attributes.get("value", "on")
        elif kind not in {"submit", "button", "file"}:
            fields.setdefault(name, attributes.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._fields = None
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area and self._fields is not None:
            self._fields[self._area] += data


class Visitor:
    """A browser without scripts: cookies, forms, wc-ajax, the Store API and REST."""

    def __init__(
        self, name: str = "", password: str = "", session: str = "", *, plugin: bool = True
    ) -> None:
        """Come as a guest, or log in; `session` is what the page's script mirrors."""
        # A kept connection would occupy one of the few workers of PHP's own server.
        self._client = httpx2.Client(
            base_url=URL, follow_redirects=True, timeout=60, headers={"Connection": "close"}
        )
        self._rest_nonce = self._store_nonce = ""
        if session:
            self._client.cookies.set("pr_sid", session)
        if not plugin:
            self._client.cookies.set(WITHOUT_PLUGIN, "1")
        if name:
            self.get("/wp-login.php")
            fields = {"log": name, "pwd": password, "testcookie": "1"}
            self.post("/wp-login.php", fields)
            self._rest_nonce = self.get("/wp-admin/admin-ajax.php?action=rest-nonce")
            assert re.fullmatch(r"\w{10}", self._rest_nonce), self._rest_nonce[:200]

    def get(self, path: str) -> str:
        """Return a page."""
        return self._client.get(path.removeprefix(URL)).text

    def post(
        self, path: str, fields: dict[str, str], upload: dict[str, Any] | None = None
    ) -> str:
        """Send a form."""
        return self._client.post(path, data=fields, files=upload).text

    def form(self, path: str, name: str) -> dict[str, str]:
        """Return the fields of a page's form, by its id, a class or its `action` field."""
        parser = _Forms()
        parser.feed(self.get(path))
        fields = parser.find(name)
        assert fields, f"no form {name} in {path}"
        return fields

    def follow(self, path: str, link: str) -> str:
        """Open a link of a page; `link` is a pattern of its address."""
        links = re.findall(rf'href="([^"]*{link}[^"]*)"', self.get(path))
        assert links, f"no link {link} in {path}"
        return self.get(urljoin(path, unescape(links[0])))

    def rest(self, method: str, route: str, body: dict[str, Any] | None = None) -> Any:
        """Call WordPress's REST API; the Store API gets its own nonce."""
        headers = {"X-WP-Nonce": self._rest_nonce} if self._rest_nonce else {}
        if route.startswith("/wc/store"):
            if not self._store_nonce:
                cart = self._client.get(
                    "/index.php?rest_route=/wc/store/v1/cart", headers=headers
                )
                self._store_nonce = cart.headers["Nonce"]
            headers["Nonce"] = self._store_nonce
        path = f"/index.php?rest_route={route}"
        return self._client.request(method, path, json=body, headers=headers).json()

    def install_plugin(self, archive: bytes) -> None:
        """Upload the plugin's archive under Plugins, Add New, and activate it."""
        upload = "/wp-admin/plugin-install.php?tab=upload"
        fields = self.form(upload, "wp-upload-form")
        file = {"pluginzip": ("service-recommender.zip", archive, "application/zip")}
        said = self.post("/wp-admin/update.php?action=upload-plugin", fields, file)
        assert "Plugin installed successfully" in said, _text(said)
        self.follow("/wp-admin/plugins.php", r"action=activate&amp;plugin=service-rec")

    def connect_plugin(self, address: str, key: str, secret: str) -> str:
        """Fill in the plugin's form, press Connect, and return the page after it."""
        path = "/wp-admin/admin.php?page=product-recs"
        fields = self.form(path, "product_recs_connect")
        fields |= {"url": address, "key": key, "secret": secret}
        return self.post("/wp-admin/admin-post.php", fields)

    def remove_plugin(self) -> None:
        """Deactivate the plugin and delete it, if it is there."""
        page = "/wp-admin/plugins.php"
        if PLUGIN_FILE not in self.get(page):
            return
        if "action=deactivate&amp;plugin=service-rec" in self.get(page):
            self.follow(page, r"action=deactivate&amp;plugin=service-rec")
        fields = self.form(page, "bulk-action-form")
        fields = {name: fields[name] for name in ("_wpnonce", "_wp_http_referer")}
        fields |= {"action": "delete-selected", "checked[]": PLUGIN_FILE}
        self.post(page, fields | {"verify-delete": "1"})
        assert PLUGIN_FILE not in self.get(page)


def _text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())[-600:]
