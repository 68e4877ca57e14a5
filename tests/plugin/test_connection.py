"""Does a shop connect, say why it cannot, and leave nothing behind?"""

import socketserver
import threading

import pytest

from tests.plugin.shop import address, in_shop, nowhere, run_php
from tests.support.service import Merchant, Service, eventually

BLANK = "\N{NO-BREAK SPACE}"


def test_a_shop_connects_with_three_values(service: Service) -> None:
    merchant = service.register("www.shop.example")
    script = f"""
        update_option('product_recs_settings', array()); update_option('product_recs_secret', '');
        require_once $plugin . '/includes/admin.php';
        product(1); product(2); order(5, array(line(1, 2, 20.0), line(2)));
        $said = ProductRecs\\Admin::connect(array('url' => '{address(service)}/wp-admin',
            'key' => '{merchant.account.publishable}', 'secret' => '{merchant.account.secret}'));
        work();
        $result = array($said, ProductRecs\\Settings::get('domain'),
            ProductRecs\\Sync::state()['state'], ProductRecs\\History::state()['state']);"""

    result = in_shop(script, nowhere())

    assert result == ["", "www.shop.example", "done", "done"]
    assert _price_form(merchant) == f"1.234,00{BLANK}€"
    status = service.client().ask("GET", "/integration/status", None, merchant.server).json
    assert (status["catalog_items"], status["platform"]) == (2, "woocommerce")
    eventually(lambda: _orders(service, merchant.server) == 1)


def _price_form(merchant: Merchant) -> str:
    key = merchant.account.publishable
    config = merchant.client.ask(
        "GET", f"/v1/widget-config?type=recs&lang=en&key={key}"
    ).json
    form: str = config["settings"]["strings"]["price"]
    return form


@pytest.mark.parametrize(
    ("thousands", "form"), [(" ", f"1 234,00{BLANK}€"), ("--", "€1,234.00")]
)
def test_a_changed_form_of_prices_reaches_the_widgets(
    service: Service, thousands: str, form: str
) -> None:
    merchant = service.register()
    script = f"""
        $thousands = '{thousands}';
        for ($i = 0; $i < 2; $i++) {{ do_action('update_option_woocommerce_price_thousand_sep', '.', $thousands); }}
        $waiting = count($jobs); run_jobs(); $result = array($waiting, count($calls));"""

    assert in_shop(script, address(service), merchant) == [1, 1]
    assert _price_form(merchant) == form


def _orders(service: Service, headers: dict[str, str]) -> int:
    status = service.client().ask("GET", "/integration/status", None, headers).json
    return int(status["orders_30d"])


@pytest.mark.parametrize(
    ("url", "key", "secret", "word"),
    [
        ("", "own", "own", "address"),
        ("own", "sk_wrong", "own", "pk_"),
        ("own", "own", "sk_wrong", "does not know this key"),
        ("own", "pk_wrong", "own", "keys of two stores"),
        ("own", "other", "own", "keys of two stores"),
        ("nowhere", "own", "own", "did not answer"),
        ("moved", "own", "own", "redirects (https://new.example.com/integration/connect)"),
        ("nowhere without a scheme", "own", "own", "did not answer"),
    ],
)
def test_a_refused_connection_says_its_remedy(
    service: Service, url: str, key: str, secret: str, word: str
) -> None:
    account, other = service.register().account, service.register().account
    moved = _Moved(("127.0.0.1", 0), _MovedReply)
    threading.Thread(target=moved.serve_forever, daemon=True).start()
    places = {
        "own": address(service),
        "nowhere": nowhere(),
        "nowhere without a scheme": nowhere().removeprefix("http://"),
        "moved": f"http://127.0.0.1:{moved.server_address[1]}",
    }
    url = places.get(url, url)
    key = {"own": account.publishable, "other": other.publishable}.get(key, key)
    secret = account.secret if secret == "own" else secret

    said = in_shop(
        f"""require_once $plugin . '/includes/admin.php';
        $result = ProductRecs\\Admin::connect(array('url' => '{url}', 'key' => '{key}',
            'secret' => '{secret}'));""",
        nowhere(),
    )
    moved.shutdown()
    moved.server_close()

    assert word in said


class _Moved(socketserver.ThreadingTCPServer):
    allow_reuse_address = True


class _MovedReply(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        path = self.rfile.readline().split()[1].decode()
        head = f"HTTP/1.1 301 Moved\r\nLocation: https://new.example.com{path}\r\n"
        self.wfile.write(f"{head}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())


@pytest.mark.parametrize(
    ("url", "secret", "constant", "word"),
    [
        ("http://127.0.0.1:1", "", "", "Enter the secret key"),
        ("{scheme}https://{place}", "", "", "Enter the secret key"),
        ("http://localhost:{port}", "", "", "Enter the secret key"),
        ("http://127.0.0.1:1", "", "sk_of_the_file", "Enter the secret key"),
        ("http://127.0.0.1:1", "sk_mine", "sk_of_the_file", "wp-config.php"),
        ("http://{place}/path", "", "", ""),
        ("HTTP://{place}", "", "", ""),
    ],
)
def test_the_secret_key_goes_to_no_address_that_it_was_not_entered_for(
    service: Service, url: str, secret: str, constant: str, word: str
) -> None:
    merchant = service.register()
    place = address(service).removeprefix("http://")
    url = url.format(scheme="", place=place, port=service.port)
    script = f"""require_once $plugin . '/includes/admin.php';
        if ('{constant}') {{ define('PRODUCT_RECS_SECRET', '{constant}'); }}
        $said = ProductRecs\\Admin::connect(array('url' => '{url}', 'secret' => '{secret}',
            'key' => '{merchant.account.publishable}'));
        $result = array($said, count($calls) > 0);"""

    said, is_sent = in_shop(script, address(service), merchant)

    assert word in said
    assert bool(said) is bool(word) is not is_sent


def test_an_upgrade_hides_the_secret_key_from_the_page_of_all_options() -> None:
    # WordPress's options.php shows options that are texts.
    script = """$before = is_string($options['product_recs_secret']); ProductRecs\\Settings::change(array('version' => ''));
        do_action('init'); $result = array($before, is_array($options['product_recs_secret']), ProductRecs\\Settings::secret());"""

    assert in_shop(script, nowhere()) == [True, True, "sk_x"]


def test_a_refused_reconnection_keeps_the_connection(service: Service) -> None:
    merchant = service.register()
    script = f"""require_once $plugin . '/includes/admin.php';
        $said = ProductRecs\\Admin::connect(array('url' => '{nowhere()}', 'key' => 'pk_other', 'secret' => 'sk_other'));
        $result = array($said, ProductRecs\\Settings::get('url'), ProductRecs\\Settings::get('key'), ProductRecs\\Settings::secret());"""

    said, *kept = in_shop(script, address(service), merchant)

    assert "earlier connection is still in use" in said
    account = merchant.account
    assert kept == [address(service), account.publishable, account.secret]


def test_a_refusal_names_the_field() -> None:
    script = """$reply = new ProductRecs\\Reply(); $reply->status = 422;
        $reply->json = array('detail' => array(array('loc' => array('body', 'items'), 'msg' => 'too short')));
        $result = $reply->remedy();"""

    assert "body.items: too short" in in_shop(script, nowhere())


def test_uninstalling_leaves_nothing(service: Service) -> None:
    merchant = service.register()
    script = """product(1); ProductRecs\\Sync::begin(); run_jobs(); ProductRecs\\Queue::schedule_nightly();
        $order = order(7, array(line(1)), array('status' => 'pending')); ProductRecs\\Orders::remember($order);
        ProductRecs\\Settings::change(array('meta' => 1)); $remembered = count($order->meta);
        ProductRecs\\Sync::begin(); ProductRecs\\record_error('a', 'b'); set_transient('product_recs_said_1', 1);
        ProductRecs\\Customers::id(5); $before = array(count($options) > 3, count($jobs) > 0, count($meta) > 0);
        do_action('deactivate'); $stopped = count($jobs);
        define('WP_UNINSTALL_PLUGIN', 1); require $plugin . '/uninstall.php';
        $result = array($before, $stopped, count($options), count($meta) + count($wpdb->outbox), $remembered, count($order->meta));"""

    result = in_shop(script, address(service), merchant)

    assert result == [[True, True, True], 0, 0, 0, 1, 0]


def test_the_fake_shop_sees_errors() -> None:
    with pytest.raises(AssertionError):
        run_php("undefined_function();")
