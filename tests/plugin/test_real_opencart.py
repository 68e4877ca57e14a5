"""Does the extension keep a real OpenCart shop and the service the same, through its screens?

Set `OPENCART_URL` and `OPENCART_DIR` to a shop of your own with OpenCart's sample data. The shop must
reach this machine. The tests install the extension, and uninstall it at the end.
"""

import html
import json
import os
import re
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import pytest

from productrecs.http.routes.public.shop_module_downloads import build_opencart_archive
from tests.plugin.shop import php
from tests.support.service import HOST, Merchant, Service, eventually

URL: Final = os.environ.get("OPENCART_URL", "").rstrip("/")
DIR: Final = Path(os.environ.get("OPENCART_DIR", "."))
ROUTE: Final = "extension/productrecs/module/productrecs"
ADDRESS: Final = {
    "firstname": "A",
    "lastname": "B",
    "company": "",
    "address_1": "1 Street",
    "address_2": "",
    "city": "London",
    "postcode": "N1 1AA",
    "country_id": 222,
    "zone_id": 3563,
}
SECONDS: Final = 60
LEFTOVERS: Final = """
foreach (['event' => 'code', 'cron' => 'code', 'extension' => 'code', 'user_group' => 'permission'] as $table => $column) {
    $found = $db->query("SELECT * FROM `" . DB_PREFIX . "$table` WHERE `$column` LIKE '%productrecs%'");
    if ($found->num_rows) { $left[] = $table; }
}
foreach ($db->query("SHOW TABLES LIKE '%product\\_recs%'")->rows as $row) { $left[] = reset($row); }
"""

pytestmark = pytest.mark.skipif(
    not URL, reason="set OPENCART_URL and OPENCART_DIR to a shop of your own"
)


class ShopVisitor:
    """A client with cookies of its own."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._client = httpx2.Client(follow_redirects=True, timeout=SECONDS)

    def ask(self, route: str, posted: dict[str, Any] | None = None) -> str:
        """Return what a route or an address answers."""
        address = route if "://" in route else f"{self._base}index.php?route={route}"
        method = "GET" if posted is None else "POST"
        reply = self._client.request(method, html.unescape(address), data=posted)
        return reply.text

    def upload(self, route: str, name: str, content: bytes) -> str:
        """Return what a route answers to a file."""
        files = {"file": (name, content)}
        return self._client.post(f"{self._base}index.php?route={route}", files=files).text

    def remember(self, name: str, value: str) -> None:
        """Store a cookie, as a script of a page does."""
        self._client.cookies.set(name, value, domain=urlsplit(self._base).hostname or "")


class BackOffice(ShopVisitor):
    """The merchant's browser, logged in."""

    def __init__(self) -> None:
        super().__init__(f"{URL}/admin/")
        form = re.search(
            r"common/login\.login&(?:amp;)?login_token=\w+", self.ask("common/login")
        )
        assert form is not None
        reply = self.ask(form[0], {"username": "admin", "password": "adminpass"})
        token = re.search(r"user_token=(\w+)", reply)
        assert token is not None, reply
        self._token = token[1]

    def go(self, route: str, posted: dict[str, Any] | None = None) -> str:
        """Return what a page of the back office answers."""
        return self.ask(f"{route}&user_token={self._token}", posted)

    def install(self, archive: bytes) -> None:
        """Upload the archive and install it, as a merchant does."""
        route = f"marketplace/installer.upload&user_token={self._token}"
        assert "success" in self.upload(route, "productrecs.ocmod.zip", archive)
        step: str | None = (
            f"marketplace/installer.install&extension_install_id={self.number()}"
        )
        while step:
            reply = json.loads(self.go(step) if "://" not in step else self.ask(step))
            assert "error" not in reply, reply
            step = reply.get("next")
        assert "success" in self.go(
            "extension/module.install&extension=productrecs&code=productrecs"
        )

    def number(self) -> str:
        """Return the number of the uploaded archive, as the list of the installer has it."""
        rows = re.findall(
            r"<tr\b.*?</tr>", self.go("marketplace/installer.list"), re.DOTALL
        )
        [row] = [row for row in rows if "ProductRecs" in row]
        match = re.search(r"extension_install_id=(\d+)", row)
        assert match is not None
        return match[1]

    def uninstall(self) -> None:
        """Uninstall the module and the archive, and delete the archive."""
        self.go("extension/module.uninstall&extension=productrecs&code=productrecs")
        number = self.number()
        self.go(f"marketplace/installer.uninstall&extension_install_id={number}")
        self.go(f"marketplace/installer.delete&extension_install_id={number}")

    def connect(self, url: str, key: str, secret: str) -> str:
        """Press Connect; return the screen."""
        values = {"act": "connect", "url": url, "key": key, "secret": secret}
        return self.go(ROUTE, values)


def in_shop(code: str) -> str:
    """Run PHP in the shop's own application, as its cron does, and return what it printed."""
    source = (DIR / "cron.php").read_text("utf-8").partition("// Dispatch")[0]
    source = source.replace(
        "// Template",
        "class_exists('Twig\\Loader\\FilesystemLoader') || require_once DIR_STORAGE . 'vendor/autoload.php';",
        1,
    )
    script = f"{source} $registry->get('load')->model('checkout/order'); {code}"
    done = subprocess.run(
        [php()],
        input=script,
        cwd=DIR,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def work() -> None:
    """Let a page's request do what is due: at most one every five seconds works."""
    in_shop(
        '$db->query("DELETE FROM `" . DB_PREFIX . "product_recs_settings` WHERE name = \'ran_at\'");'
    )
    ShopVisitor(f"{URL}/").ask(f"{ROUTE}.work", {})


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("opencart").resolve()) as running:
        yield running


@pytest.fixture(scope="module")
def office(service: Service) -> Iterator[BackOffice]:
    browser = BackOffice()
    browser.install(build_opencart_archive(f"http://{HOST}:{service.port}"))
    yield browser
    browser.uninstall()
    left = f"$left = []; {LEFTOVERS} echo json_encode($left);"
    assert json.loads(in_shop(left)) == []
    assert not (DIR / "extension" / "productrecs").exists()
    assert "product-recs" not in ShopVisitor(f"{URL}/").ask("product/product&product_id=40")


@pytest.fixture(scope="module")
def merchant(service: Service, office: BackOffice) -> Merchant:
    ours, other = service.register(), service.register()
    address = f"http://{HOST}:{service.port}"
    key, secret = ours.account.publishable, ours.account.secret
    assert "keys of two stores" in office.connect(address, key, other.account.secret)
    assert "Connected. The first sync" in office.connect(address, key, secret)
    work()
    return ours


def known(merchant: Merchant, path: str) -> Any:
    return merchant.client.ask("GET", path, None, merchant.server).json


def known_order(merchant: Merchant, order: str) -> dict[str, int]:
    lines = known(merchant, f"/v1/orders/{order}").get("items", [])
    return {line["item_id"]: line["quantity"] for line in lines}


def shows(merchant: Merchant, order: str, left: dict[str, int]) -> bool:
    return known_order(merchant, order) == left


def buy(shopper: ShopVisitor, lines: dict[int, int]) -> str:
    """Check out as a guest; return the number of the order."""
    for product, units in lines.items():
        added = shopper.ask("checkout/cart.add", {"product_id": product, "quantity": units})
        assert "success" in added, added
    assert 'data-type="cart"' in shopper.ask("checkout/cart")
    form: dict[str, Any] = {
        f"{kind}_{name}": text
        for kind in ("payment", "shipping")
        for name, text in ADDRESS.items()
    }
    form |= {
        "firstname": "A",
        "lastname": "B",
        "email": "guest@example.com",
        "telephone": "12345",
    }
    form |= {
        "account": 0,
        "customer_group_id": 1,
        "address_match": 0,
        "password": "",
        "agree": 1,
        "newsletter": 0,
    }
    save = re.search(r"checkout/register\.save[^'\"]*", shopper.ask("checkout/checkout"))
    reply = shopper.ask(save[0] if save else "checkout/register.save", form)
    assert "success" in reply, reply
    shopper.ask("checkout/shipping_method.quote")
    shopper.ask("checkout/shipping_method.save", {"shipping_method": "flat.flat"})
    shopper.ask("checkout/payment_method.getMethods")
    shopper.ask("checkout/payment_method.save", {"payment_method": "cod.cod"})
    shopper.ask("checkout/confirm.confirm")
    assert "redirect" in shopper.ask("extension/opencart/payment/cod.confirm")
    thanks = shopper.ask("checkout/success")
    assert 'data-type="thanks"' in thanks
    assert "data-pr-work=" in thanks
    return in_shop(
        'echo $db->query("SELECT MAX(order_id) AS id FROM `" . DB_PREFIX . "order`")->row["id"];'
    ).strip()


def test_all_products_have_the_titles_and_prices_of_their_pages(merchant: Merchant) -> None:
    items = known(merchant, "/v1/items?limit=100")["items"]

    visitor = ShopVisitor(f"{URL}/")
    assert len(items) > 15
    for item in items:
        page = visitor.ask(item["product_url"])
        assert (
            f"<h1>{html.escape(item['title'], quote=True)}</h1>".replace("&#x27;", "'")
            in page
        )
        shown = re.search(r'price-new">\D*([\d,.]+)', page)
        assert shown is not None
        assert float(shown[1].replace(",", "")) == item["price"], item["id"]
        assert f'<product-recs data-item-id="{item["id"]}"' in page


def test_an_order_follows_the_shop_from_checkout_to_its_end(merchant: Merchant) -> None:
    shopper = ShopVisitor(f"{URL}/")
    shopper.remember("pr_sid", "s_abc123")
    order = buy(shopper, {40: 2, 29: 1})
    work()
    assert known_order(merchant, order) == {"40": 2, "29": 1}
    assert known(merchant, f"/v1/orders/{order}")["session_id"] == "s_abc123"

    history = f"$registry->get('model_checkout_order')->addHistory({order}, %d);"
    for status, left in ((7, {}), (5, {"40": 2, "29": 1})):  # cancelled, complete
        in_shop(history % status)
        work()
        eventually(partial(shows, merchant, order, left))
    in_shop(f"$registry->get('model_checkout_order')->deleteOrder({order});")
    work()
    eventually(partial(shows, merchant, order, {}))


def test_a_product_that_the_merchant_hides_leaves_the_service_and_comes_back(
    merchant: Merchant,
) -> None:
    change = 'UPDATE `" . DB_PREFIX . "product` SET status = %d WHERE product_id = 47'
    night = "UPDATE `\" . DB_PREFIX . \"product_recs_settings` SET value = 0 WHERE name = 'night_at'"
    for status, is_known in ((0, False), (1, True)):
        in_shop(f'$db->query("{change % status}"); $db->query("{night}");')
        work()
        assert ("title" in known(merchant, "/v1/items/47")) is is_known
