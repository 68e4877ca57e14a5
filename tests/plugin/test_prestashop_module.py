"""Does the PrestaShop module answer PrestaShop's hooks, so that the service knows what the shop has?

Stand-ins for PrestaShop's classes call the module of the archive, against the real service.
"""

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from productrecs.http.routes.public.shop_module_downloads import build_prestashop_archive
from tests.plugin.shop import FAKE_MODULE, in_module
from tests.support.service import HOST, Merchant, Service, eventually

FAKE: Final = FAKE_MODULE.with_name("prestashop.php")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("prestashop").resolve()) as running:
        yield running


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The module, as PrestaShop unpacks it."""
    folder = tmp_path_factory.mktemp("archive")
    with zipfile.ZipFile(
        io.BytesIO(build_prestashop_archive("https://r.example"))
    ) as archive:
        archive.extractall(folder)
    return folder / "productrecs"


def in_shop(
    module: Path,
    script: str,
    merchant: Merchant | None = None,
    service: Service | None = None,
) -> Any:
    """Run a script in the shop; return its `$result`."""
    url = f"http://{HOST}:{service.port}" if service else ""
    return in_module(module / "core", script, merchant, url, FAKE)


def item(merchant: Merchant, item_id: int) -> dict[str, Any]:
    body: dict[str, Any] = merchant.client.ask(
        "GET", f"/v1/items/{item_id}", None, merchant.server
    ).json
    return body


def lines(merchant: Merchant, order_id: int) -> dict[str, tuple[int, float]]:
    """Return units and total of each product of an order, as the service knows them."""
    reply = merchant.client.ask("GET", f"/v1/orders/{order_id}", None, merchant.server)
    return {
        line["item_id"]: (line["quantity"], round(line["total"], 2))
        for line in reply.json.get("items", [])
    }


def test_the_first_sync_sends_products_as_visitors_see_them(
    service: Service, module: Path
) -> None:
    merchant = service.register()
    script = """sell(array(1 => array(), 2 => array('show_price' => 0), 3 => array('ean13' => '4006381333931')));
        \\Product::$prices[1] = array(20, 15); \\StockAvailable::$stock[3] = 0;
        CONNECT; work(); $result = array(errors(), due(), \\PrestaShopLogger::$messages);"""

    errors, due, logged = in_shop(module, script, merchant, service)

    assert (errors, logged) == ([], [])
    assert due == {"products": 0, "orders": 0, "past": 0}
    first = item(merchant, 1)
    assert (first["price"], first["list_price"]) == (18, 24)
    assert (first["title"], first["sku"], first["brand"]) == ("Tent 1", "T-1", "Vango")
    assert first["categories"] == ["Outdoor", "Outdoor > Tents"]
    assert (first["color"], first["attributes"]) == (["Red"], {"Weight": ["2 kg"]})
    assert first["product_url"] == "http://shop.example/tents/1-tent-1.html"
    assert item(merchant, 2)["price"] is None
    assert item(merchant, 3)["availability"] == "out_of_stock"
    assert item(merchant, 3)["gtin"] == "4006381333931"


@pytest.mark.parametrize(
    ("setting", "price"),
    [
        ("", 12),
        ("\\Group::$method = 1;", 10),
        ("\\Configuration::$all['PS_TAX'] = 0;", 10),
        ("\\Configuration::$all['PS_CATALOG_MODE'] = 1;", None),
        (
            "\\Configuration::$all += array('PS_CATALOG_MODE' => 1, 'PS_CATALOG_MODE_WITH_PRICES' => 1);",
            12,
        ),
    ],
)
def test_prices_follow_what_the_shop_shows_to_visitors(
    module: Path, setting: str, price: float | None
) -> None:
    script = f"sell(array(1 => array())); {setting} $result = $shop->items(array(1, 9));"

    items = in_shop(module, script)

    assert items["1"]["price"] == price
    assert items["9"] is None


def test_an_order_arrives_with_its_session_less_discounts_and_refunds(
    service: Service, module: Path
) -> None:
    merchant = service.register()
    script = """sell(array(1 => array(), 2 => array())); CONNECT; work(); $_COOKIE['pr_sid'] = 's_abc';
        buy(7, array(1 => array(2, 40.0), 2 => array(1, 20.0)), array('conversion_rate' => 2), 10);
        hook('actionValidateOrder', array('order' => new \\Order(7))); work();
        $result = array(errors(), \\PrestaShopLogger::$messages);"""

    assert in_shop(module, script, merchant, service) == [[], []]

    assert lines(merchant, 7) == {"1": (2, 18.0), "2": (1, 9.0)}
    order = merchant.client.ask("GET", "/v1/orders/7", None, merchant.server).json
    assert (order["session_id"], order["currency"]) == ("s_abc", "EUR")


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ("buy(7, array(1 => array(1, 20.0)));", {"1": (1, 20.0)}),
        ("buy(7, array(1 => array(2, 40.0, 15.0)));", {"1": (2, 25.0)}),
        ("buy(7, array(1 => array(2, 40.0)), array('is_paid' => 0));", {}),
    ],
)
def test_a_changed_order_is_corrected(
    service: Service, module: Path, change: str, left: dict[str, tuple[int, float]]
) -> None:
    merchant = service.register()
    script = f"""sell(array(1 => array())); CONNECT; work(); buy(7, array(1 => array(2, 40.0)));
        hook('actionObjectOrderUpdateAfter', array('object' => new \\Order(7))); work();
        {change} hook('actionObjectOrderDetailUpdateAfter', array('object' => (object) array('id_order' => 7))); work();
        $result = array(errors(), \\PrestaShopLogger::$messages);"""

    assert in_shop(module, script, merchant, service) == [[], []]

    eventually(lambda: {i: one for i, one in lines(merchant, 7).items() if one[0]} == left)


@pytest.mark.parametrize(
    ("hook", "params"),
    [
        ("actionObjectProductUpdateAfter", "'object' => new \\Product(1)"),
        ("actionUpdateQuantity", "'id_product' => 1"),
        (
            "actionObjectSpecificPriceAddAfter",
            "'object' => (object) array('id_product' => 1)",
        ),
        (
            "actionObjectSpecificPriceAddAfter",
            "'object' => (object) array('id_product' => 0)",
        ),
        ("actionObjectTaxUpdateAfter", "'object' => (object) array()"),
    ],
)
def test_a_changed_product_is_sent(
    service: Service, module: Path, hook: str, params: str
) -> None:
    merchant = service.register()
    script = f"""sell(array(1 => array())); CONNECT; work(); sell(array(1 => array('name' => 'Big tent')));
        hook('{hook}', array({params})); work(); $result = \\PrestaShopLogger::$messages;"""

    assert in_shop(module, script, merchant, service) == []
    assert item(merchant, 1)["title"] == "Big tent"


def test_each_place_holds_its_widget_only_in_a_connected_shop(module: Path) -> None:
    script = """$draw = function () { return array(hook('displayHeader'), hook('displayFooterProduct', array('product' => array('id_product' => 3))),
            hook('displayShoppingCart'), hook('displayHome'), hook('displayOrderConfirmation', array('order' => new \\Order(7))), hook('displayContentWrapperBottom')); };
        $module->context->cart->products = array(array('id_product' => 4), array('id_product' => 5));
        buy(7, array(6 => array(1, 9.0))); $before = $draw();
        $settings->change(array('connected' => 1, 'url' => 'https://r.example', 'domain' => 'shop.example', 'key' => 'pk_a', 'places' => array_keys(Page::PLACES)));
        $list->add(Work_List::ORDER, array(7)); $first = $draw(); $module->context->controller->php_self = 'search';
        $result = array($before, $first, $draw(), \\PrestaShopLogger::$messages);"""

    before, first, search, logged = in_shop(module, script)

    assert logged == []
    assert set(before) == {""}
    head, product, cart, home, thanks, other = first
    assert 'src="/modules/productrecs/views/bridge.js' in head
    assert 'data-pr-work="http://shop.example/module/productrecs/work"' in head
    assert product.count('data-item-id="3"') == 2
    assert 'data-item-ids="4,5"' in cart
    assert 'data-type="trending"' in home
    assert 'data-item-ids="6"' in thanks
    assert (other, 'data-type="trending"' in search[5]) == ("", True)


def test_an_error_of_the_module_is_logged_and_never_reaches_the_shop(module: Path) -> None:
    script = """$settings->change(array('connected' => 1)); \\Db::$tables = array();
        $result = array(hook('displayOrderConfirmation', array('order' => (object) array())), \\PrestaShopLogger::$messages);"""

    drawn, logged = in_shop(module, script)

    assert drawn == ""
    assert len(logged) == 1


def test_the_screen_connects_and_uninstall_leaves_nothing(
    service: Service, module: Path
) -> None:
    merchant = service.register()
    account, url = merchant.account, f"http://{HOST}:{service.port}"
    script = f"""sell(array(1 => array())); $hooks = $module->hooks;
        $_POST = array('act' => 'connect', 'url' => '{url}', 'key' => '{account.publishable}', 'secret' => '{account.secret}');
        $html = $module->getContent(); $module->uninstall(); $result = array($hooks, $html, $module->hooks, \\Db::$fake->tables);"""

    hooks, html, left, tables = in_shop(module, script)

    assert "Connected. The first sync" in html
    assert f"Connected to {account.domain}" in html
    assert account.secret not in html
    assert {"displayHeader", "actionValidateOrder", "actionUpdateQuantity"} <= set(hooks)
    assert left == tables == []


def test_the_address_for_cron_does_what_is_due(service: Service, module: Path) -> None:
    merchant = service.register()
    script = f"""sell(array(1 => array())); CONNECT;
        require '{module}/controllers/front/work.php'; $page = new \\ProductrecsWorkModuleFrontController(); $page->initContent();"""

    assert in_shop(module, script, merchant, service) == {"is_left": False}

    assert item(merchant, 1)["title"] == "Tent 1"


def test_every_hook_has_a_method(module: Path) -> None:
    php = (module / "productrecs.php").read_text("utf-8")
    answers = set(re.findall(r"=> '(\w+)',", php.partition("/** Name the module")[0]))

    assert len(answers) > 10
    assert {name for name in answers if f"private function {name}(" not in php} == set()
