"""Real shop: the WooCommerce that the environment names, its visitors, and its stored copy.

`WOO_SHOP_DIR` is the folder of a shop in which the plugin is active and connected,
`WOO_SHOP_URL` its address, and `WOO_SERVICE_DATA` the data folder of its service.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from typing import Any, Final

import httpx2

from tests.plugin.shop import run_php

URL: Final = os.environ.get("WOO_SHOP_URL", "").rstrip("/")
FOLDER: Final = os.environ.get("WOO_SHOP_DIR", "")
DATA: Final = os.environ.get("WOO_SERVICE_DATA", "")
_HOST: Final = URL.partition("//")[2]
# Action Scheduler also runs in the shop's own requests: wait for what they have claimed.
DRAIN: Final = """
    for ($i = 0; $i < 60; $i++) {
        ActionScheduler_QueueRunner::instance()->run('test');
        $left = array_filter(as_get_scheduled_actions(array('group' => 'product-recs',
            'status' => array('pending', 'in-progress'), 'per_page' => 100)),
            fn($one) => $one->get_hook() !== 'product_recs_nightly'
                && (!$one->get_schedule()->get_date() || $one->get_schedule()->get_date()->getTimestamp() <= time()));
        if (!$left) { break; }
        usleep(200000);
    }"""


def in_real_shop(script: str) -> Any:
    """Run a script in the shop, as an administrator; return its `$told`. It sends no mail."""
    said = run_php(
        f"""ini_set('display_errors', '0'); $_SERVER['HTTP_HOST'] = '{_HOST}';
        require '{FOLDER}/wp-load.php'; $told = null; add_filter('pre_wp_mail', '__return_false');
        wp_set_current_user((int) get_users(array('role' => 'administrator', 'number' => 1, 'fields' => 'ID'))[0]);
        {script} echo '<<<' . json_encode($told) . '>>>';""",
        options=(),  # with php.ini: the shop needs the extension of its database
    )
    return json.loads(said.rpartition("<<<")[2].partition(">>>")[0])


def drain(script: str = "") -> Any:
    """Run the shop's queue until nothing that is due waits; then a script, for its `$told`."""
    left, told = in_real_shop(
        f"{DRAIN} $left = count($left); {script} $told = array($left, $told);"
    )
    assert left == 0
    return told


def stored_items() -> dict[str, dict[str, Any]]:
    """Return what the service stores of each product, by id."""
    rows = [json.loads(line) for line in _export("items").splitlines()]
    return {row["id"]: row for row in rows}


def stored_lines(order_id: int) -> list[tuple[str, str, int, float]]:
    """Return item, customer, quantity and price of an order's lines, sorted."""
    return sorted(
        (row["item_id"], row["customer_id"], int(row["quantity"]), float(row["price"]))
        for row in _lines(order_id)
    )


def stored_times(order_id: int) -> list[str]:
    """Return the times of an order's lines."""
    return [row["timestamp"] for row in _lines(order_id)]


def _lines(order_id: int) -> list[dict[str, str]]:
    rows = csv.DictReader(io.StringIO(_export("orders")))
    return [row for row in rows if row["order_id"] == str(order_id)]


def known_lines(order_id: int) -> dict[str, tuple[int, float]]:
    """Return units and total of each product of an order, as the service knows them."""
    return {
        row["item_id"]: (
            int(row["quantity"]),
            round(int(row["quantity"]) * float(row["price"]), 2),
        )
        for row in _lines(order_id)
    }


def customer_id(user: int) -> str:
    """Return what the page of a customer calls them."""
    return str(in_real_shop(f"$told = ProductRecs\\Customers::id({user});"))


def is_credited(order_id: int) -> bool:
    """Return whether an order is credited to a recommendation."""
    told = json.loads(_service("report", _domain(), "credited-sales", "--json"))
    return str(order_id) in {row["order_id"] for row in told["rows"]}


@cache
def _domain() -> str:
    return str(in_real_shop("$told = ProductRecs\\Settings::get('domain');"))


def _export(what: str) -> str:
    return _service("export", _domain(), what, "-")


def _service(*words: str) -> str:
    command = [sys.executable, "-m", "productrecs", *words]
    done = subprocess.run(
        [*command, "--data", DATA], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


class _Form(HTMLParser):
    """The fields of the form with an id, as a browser would send them unchanged."""

    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._form_id, self._is_inside = form_id, False
        self._select, self._area = "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        name = told.get("name", "")
        if tag == "form":
            self._is_inside = told.get("id") == self._form_id
        elif not self._is_inside:
            return
        elif tag == "select":
            self._select = name
        elif tag == "textarea":
            self._area, self.fields[name] = name, ""
        elif tag == "option" and self._select:
            if "selected" in told or self._select not in self.fields:
                self.fields[self._select] = told.get("value", "")
        elif tag == "input" and name:
            self._input(name, told)

    def _input(self, name: str, told: dict[str, str]) -> None:
        kind = told.get("type", "text")
        if kind in {"checkbox", "radio"}:
            if "checked" in told:
                self.fields[name] = told.get("value", "on")
        elif kind not in {"submit", "button"}:
            self.fields.setdefault(name, told.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._is_inside = False
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.fields[self._area] += data


class Visitor:
    """A browser without scripts: cookies, forms, wc-ajax, the Store API and REST."""

    def __init__(self, name: str = "", password: str = "", session: str = "") -> None:
        """Come as a guest, or log in; `session` is what the page's script mirrors."""
        self._client = httpx2.Client(base_url=URL, follow_redirects=True, timeout=60)
        self._rest_nonce = self._store_nonce = ""
        if session:
            self._client.cookies.set("pr_sid", session)
        if name:
            self.get("/wp-login.php")
            fields = {"log": name, "pwd": password, "testcookie": "1"}
            self.post("/wp-login.php", fields)
            self._rest_nonce = self.get("/wp-admin/admin-ajax.php?action=rest-nonce")
            assert re.fullmatch(r"\w{10}", self._rest_nonce), self._rest_nonce[:200]

    def get(self, path: str) -> str:
        """Return a page."""
        return self._client.get(path).text

    def post(self, path: str, fields: dict[str, str]) -> str:
        """Send a form."""
        return self._client.post(path, data=fields).text

    def form(self, path: str, form_id: str) -> dict[str, str]:
        """Return the fields of a page's form."""
        parser = _Form(form_id)
        parser.feed(self.get(path))
        assert parser.fields, f"no form {form_id} in {path}"
        return parser.fields

    def rest(self, method: str, route: str, body: dict[str, Any] | None = None) -> Any:
        """Call WordPress's REST API; the Store API gets its own nonce."""
        headers = {"X-WP-Nonce": self._rest_nonce} if self._rest_nonce else {}
        if route.startswith("/wc/store"):
            if not self._store_nonce:
                cart = self._client.get("/?rest_route=/wc/store/v1/cart", headers=headers)
                self._store_nonce = cart.headers["Nonce"]
            headers["Nonce"] = self._store_nonce
        path = f"/?rest_route={route}"
        return self._client.request(method, path, json=body, headers=headers).json()
