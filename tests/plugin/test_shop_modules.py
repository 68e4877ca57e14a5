"""Do the modules of OpenCart and PrestaShop end with the service knowing what the shop has?

The PHP that both share runs in a small stand-in for a shop system, against the real service.
"""

import hashlib
import hmac
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from productrecs.http.routes.public.shop_module_downloads import (
    build_opencart_archive,
    build_prestashop_archive,
)
from tests.plugin.shop import in_module, php, run_php, unpacked_core
from tests.support.service import HOST, Merchant, Service, eventually, free_port

BASE: Final = "https://recs.example.com"
ARCHIVES: Final = {
    "opencart": build_opencart_archive,
    "prestashop": build_prestashop_archive,
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("modules").resolve()) as running:
        yield running


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shared PHP, as the archive has it."""
    return unpacked_core(tmp_path_factory.mktemp("archive"))


def address(service: Service) -> str:
    return f"http://{HOST}:{service.port}"


def known_order(merchant: Merchant, order_id: int = 7) -> dict[str, tuple[int, float]]:
    """Return units and total of each product, as the service knows them."""
    reply = merchant.client.ask("GET", f"/v1/orders/{order_id}", None, merchant.server)
    return {
        line["item_id"]: (line["quantity"], round(line["total"], 2))
        for line in reply.json.get("items", [])
    }


def known_ids(merchant: Merchant) -> list[str]:
    page: dict[str, Any] = merchant.client.ask(
        "GET", "/v1/items?fields=id&limit=1000", None, merchant.server
    ).json
    return sorted(page["items"])


@pytest.mark.parametrize(
    ("url", "key", "secret", "said"),
    [
        ("", "pk", "sk", "Enter the address"),
        ("ftp://x", "pk", "sk", "Enter the address"),
        ("URL", "sk", "sk", "The publishable key begins"),
        ("URL", "pk", "pk", "The secret key begins"),
        ("URL", "pk", "", "Enter the secret key"),
        ("URL", "other pk", "sk", "keys of two stores"),
        ("URL", "pk", "wrong sk", "does not know this key"),
        ("NOWHERE", "pk", "sk", "did not answer"),
        ("URL/path", "pk", "sk", ""),
    ],
)
def test_connect_says_what_is_wrong_and_stores_nothing_that_was_refused(
    service: Service, core: Path, url: str, key: str, secret: str, said: str
) -> None:
    ours, other = service.register(), service.register()
    values = {
        "pk": ours.account.publishable,
        "sk": ours.account.secret,
        "other pk": other.account.publishable,
        "wrong sk": "sk_wrong",
    }
    url = url.replace("URL", address(service)).replace("NOWHERE", f"{HOST}:{free_port()}")
    url = url if "://" in url or not url else f"http://{url}"
    script = f"$result = array(connect('{url}', '{values[key]}', '{values.get(secret, '')}'), $settings->connected(), $settings->secret());"

    answer, is_connected, stored = in_module(core, script)

    assert said in answer
    assert bool(answer) is bool(said)
    assert is_connected is not bool(said)
    assert bool(stored) is not bool(said)


def test_a_refused_address_keeps_the_connection_and_never_gets_the_stored_key(
    service: Service, core: Path
) -> None:
    merchant = service.register()
    elsewhere = f"http://{HOST}:{free_port()}"
    script = f"CONNECT; $result = array(connect('{elsewhere}', '{merchant.account.publishable}', ''), $settings->get('url'));"

    said, url = in_module(core, script, merchant, address(service))

    assert said.startswith("Enter the secret key")
    assert "earlier connection is still in use" in said
    assert url == address(service)


def test_the_first_sync_sends_all_visible_products_and_all_past_orders(
    service: Service, core: Path
) -> None:
    merchant = service.register()
    script = """for ($i = 1; $i <= 450; $i++) { product($i); } $shop->items[5] = null;
        order(3, array(1 => array(2, 20.0)), array('created' => time() - 400 * 86400, 'customer' => 9));
        order(4, array(2 => array(1, 10.0)), array('is_sellable' => false));
        CONNECT; work(); $result = array(due(), errors(), Identity::id(9, $settings->id_secret()));"""

    due, errors, customer = in_module(core, script, merchant, address(service))

    assert due == {"products": 0, "orders": 0, "past": 0}
    assert errors == []
    assert known_ids(merchant) == sorted(str(i) for i in range(1, 451) if i != 5)
    eventually(lambda: known_order(merchant, 3) == {"1": (2, 20.0)})
    order = merchant.client.ask("GET", "/v1/orders/3", None, merchant.server).json
    assert order["user_id"] == customer
    assert known_order(merchant, 4) == {}


def test_an_order_is_sent_once_with_the_shopper_of_its_checkout(
    service: Service, core: Path
) -> None:
    merchant = service.register()
    script = """product(1); product(2); CONNECT; work(); $list->remember(7, 's_abc', 9);
        order(7, array(1 => array(2, 20.0), 2 => array(1, 5.5)), array('customer' => 4));
        changed(7); changed(7); changed(7); $result = array(Identity::id(9, $settings->id_secret()), errors());"""

    customer, errors = in_module(core, script, merchant, address(service))

    assert errors == []
    assert known_order(merchant) == {"1": (2, 20.0), "2": (1, 5.5)}
    order = merchant.client.ask("GET", "/v1/orders/7", None, merchant.server).json
    assert (order["user_id"], order["session_id"]) == (customer, "s_abc")


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (
            "order(7, array(1 => array(3, 30.0)), array('is_sellable' => false)); changed(7);",
            {},
        ),
        ("order(7, array(1 => array(1, 10.0))); changed(7);", {"1": (1, 10.0)}),
        ("order(7, array(1 => array(3, 12.0))); changed(7);", {"1": (3, 12.0)}),
        ("order(7, array(2 => array(1, 5.0))); changed(7);", {"2": (1, 5.0)}),
        (
            "order(7, array(1 => array(3, 30.0)), array('is_sellable' => false)); changed(7); order(7, array(1 => array(3, 30.0))); changed(7);",
            {"1": (3, 30.0)},
        ),
        ("unset($shop->orders[7]); night();", {}),
        ("order(7, array(1 => array(1, 10.0))); night();", {"1": (1, 10.0)}),
    ],
)
def test_a_changed_order_is_sent_with_what_is_left_of_it(
    service: Service, core: Path, change: str, left: dict[str, tuple[int, float]]
) -> None:
    merchant = service.register()
    script = f"product(1); product(2); CONNECT; order(7, array(1 => array(3, 30.0))); changed(7); {change} $result = errors();"

    assert in_module(core, script, merchant, address(service)) == []

    eventually(lambda: known_order(merchant) == left)


def test_nothing_is_lost_while_the_service_does_not_answer(
    service: Service, core: Path
) -> None:
    merchant = service.register()
    nowhere = f"http://{HOST}:{free_port()}"
    script = f"""CONNECT; work(); $settings->change(array('url' => '{nowhere}'));
        product(1); $list->add(Work_List::PRODUCT, array(1));
        foreach (array(7, 8, 9) as $id) {{ order($id, array(1 => array(1, 10.0))); changed($id); }}
        $waits = array(due(), $settings->value('retry_at') > time());
        $settings->change(array('url' => '{address(service)}')); work(); $still = due();
        work(1); $result = array($waits, $still, due());"""

    (down, is_waiting), still, up = in_module(core, script, merchant, address(service))

    assert down == still == {"products": 1, "orders": 3, "past": 0}
    assert is_waiting
    assert up == {"products": 0, "orders": 0, "past": 0}
    assert known_ids(merchant) == ["1"]
    assert [known_order(merchant, number) for number in (7, 8, 9)] == [{"1": (1, 10.0)}] * 3


def test_the_nightly_sync_deletes_products_that_the_shop_lost_silently(
    service: Service, core: Path
) -> None:
    merchant = service.register()
    script = """product(1); product(2); product(3); CONNECT; work();
        unset($shop->items[2]); $shop->items[3] = null; product(4); night(); $result = errors();"""
    push = {"items": [{"id": "pushed-by-hand", "title": "Tent"}]}
    merchant.client.ask("POST", "/v1/items", json.dumps(push).encode(), merchant.server)

    assert in_module(core, script, merchant, address(service)) == []

    assert known_ids(merchant) == ["1", "4", "pushed-by-hand"]


def test_a_refused_item_holds_up_no_other(service: Service, core: Path) -> None:
    merchant = service.register()
    script = "product(1); product(2, array('price' => 'free')); product(3); CONNECT; work(); $result = errors();"

    errors = in_module(core, script, merchant, address(service))

    assert known_ids(merchant) == ["1", "3"]
    assert len(errors) == 1


@pytest.mark.parametrize(("age", "is_done"), [(10, False), (301, True)])
def test_one_process_works_at_a_time_and_a_dead_one_is_replaced(
    service: Service, core: Path, *, age: int, is_done: bool
) -> None:
    merchant = service.register()
    script = f"""CONNECT; work(); product(1); $list->add(Work_List::PRODUCT, array(1));
        $settings->put('lock', time() - {age}); work(); $result = due()['products'];"""

    assert (in_module(core, script, merchant, address(service)) == 0) is is_done


@pytest.mark.parametrize(
    ("asks", "agreed", "waits", "session", "is_identified"),
    [
        (False, False, False, "", True),
        (False, False, True, "", False),
        (False, False, True, "s_abc", True),
        (True, False, False, "s_abc", False),
        (True, True, False, "", True),
    ],
)
def test_a_customer_is_identified_only_with_consent(
    core: Path, *, asks: bool, agreed: bool, waits: bool, session: str, is_identified: bool
) -> None:
    flags = [json.dumps(one) for one in (asks, agreed, waits)]
    script = f"""$shop->asks = {flags[0]}; $shop->agreed = {flags[1]}; $_COOKIE['pr_sid'] = '{session}';
        $settings->change(array('consent' => {flags[2]}, 'connected' => 1, 'url' => '{BASE}', 'domain' => 'shop.example'));
        $page = new Page($shop, $settings, 9); $result = array($page->customer(), $page->scripts('/a/', ''));"""

    customer, scripts = in_module(core, script)

    assert customer == (9 if is_identified else 0)
    assert ('data-consent="required"' in scripts) is (asks or waits)
    assert ("data-pr-agreed" in scripts) is (asks and agreed)


def test_a_page_names_the_customer_with_a_signature_that_the_service_accepts(
    core: Path,
) -> None:
    script = f"""$settings->change(array('connected' => 1, 'url' => '{BASE}', 'domain' => 'shop.example', 'key' => 'pk_"<', 'selector' => '#a > "b"', 'search' => 1));
        $settings->put('secret', 'sk_secret'); $page = new Page($shop, $settings, 9);
        $result = array($page->scripts('/a/', '/work'), $page->place('product', array(3)), $page->place('home'), $page->place('cart', array()));"""

    scripts, product, home, cart = in_module(core, script)

    identity = re.search(
        r'data-customer-id="(c_\w{32})" data-identity="(\d+)\.(\w+)"', scripts
    )
    assert identity is not None
    key = hashlib.sha256(b"sk_secret").hexdigest().encode()
    text = f"identity:{identity[2]}:{identity[1]}".encode()
    assert hmac.new(key, text, "sha256").hexdigest() == identity[3]
    assert 'data-input="#a &gt; &quot;b&quot;"' in scripts
    assert f'src="{BASE}/widget/v1/search-shop.example.js"' in scripts
    assert 'data-pr-work="/work"' in scripts
    assert product == (
        f'<product-recs data-item-id="3" data-key="pk_&quot;&lt;" data-customer-id="{identity[1]}"></product-recs>'
    )
    assert (home, cart) == ("", "")  # switched off, and an empty cart


def test_the_screen_never_shows_the_secret_key(service: Service, core: Path) -> None:
    merchant = service.register()
    script = """CONNECT; $screen = new Screen($shop); $act = $screen->act(array('act' => 'save', 'places' => array('home', 'nonsense')));
        $result = array($screen->html('/go', '/progress', '/work', '/cron'), $settings->get('places'));"""

    html, places = in_module(core, script, merchant, address(service))

    assert merchant.account.secret not in html
    assert f"••••{merchant.account.secret[-4:]}" in html
    assert places == ["home"]


def test_uninstall_leaves_no_table(core: Path) -> None:
    assert in_module(core, "$made->uninstall(); $result = $shop->tables;") == []


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_is_deterministic_valid_and_names_its_service(
    name: str, tmp_path: Path
) -> None:
    first = ARCHIVES[name]("https://it's.example")
    ARCHIVES[name].cache_clear()
    assert ARCHIVES[name]("https://it's.example") == first
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        archive.extractall(tmp_path)
        assert {one.date_time for one in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    files = sorted(tmp_path.rglob("*.php"))
    assert len(files) > 15
    listed = json.dumps([str(one) for one in files]).replace("\\", "\\\\")
    script = f"$bad = array(); foreach (json_decode('{listed}') as $file) {{ exec('{php()} -l ' . escapeshellarg($file) . ' 2>&1', $said, $code); if ($code) {{ $bad[] = $said; }} }} echo json_encode($bad);"
    assert json.loads(run_php(script)) == []
    for file in files:
        text = file.read_text("utf-8")
        code = re.sub(r"/\*.*?\*/|(?<!:)//[^\n]*", "", text, flags=re.DOTALL)
        assert not re.search(
            r"(?<![\w>$])(?:wp_|esc_|get_option|add_action|wc_)\w*\(", code
        )
        assert not re.search(
            r"\?->|\bmatch\s*\(|\bstr_(?:contains|starts_with|ends_with)\(", code
        )
