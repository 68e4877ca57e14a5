"""Does the plugin do to the real service what a shop expects, and nothing to the shop?"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.api import stored
from tests.plugin.shop import in_shop, run_php
from tests.support.service import HOST, Service, eventually, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.service import Merchant

CHECKOUTS = {
    "classic": "do_action('woocommerce_checkout_order_processed', 7, array(), wc_get_order(7));",
    "store api": "do_action('woocommerce_store_api_checkout_order_processed', wc_get_order(7));",
}
BLANK = "\N{NO-BREAK SPACE}"
PAID = "do_action('woocommerce_order_status_processing', 7); end_request();"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("plugin").resolve()) as running:
        yield running


def address(service: Service) -> str:
    return f"http://{HOST}:{service.port}"


def nowhere() -> str:
    return f"http://{HOST}:{free_port()}"


def test_a_shop_connects_with_three_values(service: Service) -> None:
    merchant = service.register("www.shop.example")
    script = f"""
        update_option('product_recs_settings', array()); update_option('product_recs_secret', '');
        require_once $plugin . '/includes/admin.php';
        product(1); product(2); order(5, array(line(1, 2, 20.0), line(2)));
        $said = ProductRecs\\Admin::connect(array('url' => '{address(service)}/wp-admin',
            'key' => '{merchant.account.publishable}', 'secret' => '{merchant.account.secret}'));
        work();
        $told = array($said, ProductRecs\\Settings::get('domain'),
            ProductRecs\\Sync::state()['state'], ProductRecs\\History::state()['state']);"""

    told = in_shop(script, nowhere())

    assert told == ["", "www.shop.example", "done", "done"]
    assert _price_form(merchant) == f"1.234,00{BLANK}€"
    status = service.client().ask("GET", "/integration/status", None, merchant.server).json
    assert (status["catalog_items"], status["platform"]) == (2, "woocommerce")
    eventually(lambda: _orders(service, merchant.server) == 1)


def _price_form(merchant: Merchant) -> str:
    key = merchant.account.publishable
    told = merchant.client.ask("GET", f"/v1/widget-config?type=recs&lang=en&key={key}").json
    form: str = told["settings"]["strings"]["price"]
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
        $waiting = count($jobs); run_jobs(); $told = array($waiting, count($calls));"""

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
    ],
)
def test_a_refused_connection_says_its_remedy(
    service: Service, url: str, key: str, secret: str, word: str
) -> None:
    account, other = service.register().account, service.register().account
    url = {"own": address(service), "nowhere": nowhere()}.get(url, url)
    key = {"own": account.publishable, "other": other.publishable}.get(key, key)
    secret = account.secret if secret == "own" else secret

    said = in_shop(
        f"""require_once $plugin . '/includes/admin.php';
        $told = ProductRecs\\Admin::connect(array('url' => '{url}', 'key' => '{key}',
            'secret' => '{secret}'));""",
        nowhere(),
    )

    assert word in said


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
        $told = array($said, count($calls) > 0);"""

    said, is_sent = in_shop(script, address(service), merchant)

    assert word in said
    assert bool(said) is bool(word) is not is_sent


def test_an_upgrade_hides_the_secret_key_from_the_page_of_all_options() -> None:
    # WordPress's options.php shows options that are texts.
    script = """$before = is_string($options['product_recs_secret']); ProductRecs\\Settings::change(array('version' => ''));
        do_action('init'); $told = array($before, is_array($options['product_recs_secret']), ProductRecs\\Settings::secret());"""

    assert in_shop(script, nowhere()) == [True, True, "sk_x"]


def test_a_refused_reconnection_keeps_the_connection(service: Service) -> None:
    merchant = service.register()
    script = f"""require_once $plugin . '/includes/admin.php';
        $said = ProductRecs\\Admin::connect(array('url' => '{nowhere()}', 'key' => 'pk_other', 'secret' => 'sk_other'));
        $told = array($said, ProductRecs\\Settings::get('url'), ProductRecs\\Settings::get('key'), ProductRecs\\Settings::secret());"""

    said, *kept = in_shop(script, address(service), merchant)

    assert "earlier connection is still in use" in said
    account = merchant.account
    assert kept == [address(service), account.publishable, account.secret]


def test_a_refusal_names_the_field() -> None:
    script = """$reply = new ProductRecs\\Reply(); $reply->status = 422;
        $reply->json = array('detail' => array(array('loc' => array('body', 'items'), 'msg' => 'too short')));
        $told = $reply->remedy();"""

    assert "body.items: too short" in in_shop(script, nowhere())


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (
            "'price' => '12.5', 'regular_price' => '20', 'is_on_sale' => true, 'gtin' => '4006381333931'",
            {"list_price": 20.0, "gtin": "4006381333931", "brand": "Acme & Co"},
        ),
        (
            "'price' => '12.5', 'regular_price' => '12.5'",
            {"list_price": None, "gtin": None},
        ),
        (
            "'type' => 'variable', 'variation_price' => '9', 'variation_regular_price' => '15', 'is_on_sale' => true, 'children' => array()",
            {"price": 9.0, "list_price": 15.0},
        ),
        (
            "'price' => '1', 'attributes' => array(new Fake_Attribute('pa_colour', array(7)), new Fake_Attribute('Fit: wide', array('Slim', 'Wide')), new Fake_Attribute('pa_cost', array(1), false), new Fake_Attribute('Sizes', array('S'), false, true), new Fake_Attribute('Vendor', array('Other')), new Fake_Attribute('EAN', array('4006-381 333931')))",
            {
                "color": ("Blue", "Red"),
                "size": ("S",),
                "brand": "Acme & Co",
                "gtin": "4006381333931",
                "attributes": (("Fit wide", ("Slim", "Wide")),),
            },
        ),
    ],
)
def test_a_product_is_pushed_with_its_attributes_and_list_price(
    service: Service, facts: str, expected: dict[str, object]
) -> None:
    merchant = service.register()
    script = f"""
        $terms = array('product_brand' => array('Acme &amp; Co'), 'pa_colour' => array('Blue', 'Red'));
        product(1, array({facts})); do_action('woocommerce_update_product', 1);
        end_request(); run_jobs(); $told = count(calls('POST', '/v1/items'));"""

    assert in_shop(script, address(service), merchant) == 1

    item = stored.item(service, merchant, "1")
    assert {name: getattr(item, name) for name in expected} == expected


def test_a_product_edited_five_times_is_pushed_once(service: Service) -> None:
    merchant = service.register()
    script = """
        product(1, array('price' => '12.5', 'category_ids' => array(3)));
        for ($i = 0; $i < 5; $i++) { do_action('woocommerce_update_product', 1); }
        end_request(); $in_hook = count($calls); $waiting = count($jobs);
        do_action('woocommerce_update_product', 1); end_request(); $again = count($jobs);
        run_jobs();
        $told = array($in_hook, $waiting, $again, count(calls('POST', '/v1/items')));"""

    assert in_shop(script, address(service), merchant) == [0, 1, 1, 1]
    assert merchant.search("Tent").status == 200


@pytest.mark.parametrize(
    "change",
    [
        "do_action('wp_trash_post', 1); $objects[1]->facts['status'] = 'trash';",
        "do_action('before_delete_post', 1); unset($posts[1], $objects[1]);",
        "do_action('transition_post_status', 'private', 'publish', (object) array('ID' => 1)); $objects[1]->facts['status'] = 'private';",
        "$objects[1]->facts['catalog_visibility'] = 'hidden'; do_action('woocommerce_product_set_visibility', 1);",
    ],
    ids=["trash", "delete", "private", "hidden"],
)
def test_a_product_that_shoppers_cannot_see_is_deleted(
    service: Service, change: str
) -> None:
    merchant = service.register()
    script = f"""product(1); product(2); do_action('woocommerce_update_product', 1); end_request();
        run_jobs(); {change} end_request(); run_jobs();
        $told = array(count(calls('DELETE', '/v1/items/1')), count($jobs));"""

    assert in_shop(script, address(service), merchant) == [1, 0]
    assert merchant.delete("1").status == 404


def test_a_deleted_variation_pushes_its_parent(service: Service) -> None:
    script = """product(1); $posts[9] = array('type' => 'product_variation', 'parent' => 1, 'status' => 'publish');
        do_action('before_delete_post', 9); unset($posts[9]); do_action('woocommerce_delete_product_variation', 9);
        end_request(); $told = array_values($jobs)[0][1];"""

    assert in_shop(script, address(service)) == [[1]]


@pytest.mark.parametrize("kind", CHECKOUTS)
def test_an_order_is_sent_once_after_payment(service: Service, kind: str) -> None:
    merchant = service.register()
    script = f"""$_COOKIE['pr_sid'] = 's_abc123';
        $order = order(7, array(line(1, 2, 20.0), line(2)), array('status' => 'pending'));
        {CHECKOUTS[kind]} {PAID} run_jobs(); $unpaid = count($calls);
        $_COOKIE = array(); $order->facts['status'] = 'processing'; {PAID} {PAID}
        $in_hooks = count($calls); run_jobs(); {PAID} run_jobs();
        $sent = calls('POST', '/v1/orders');
        $told = array($unpaid, $in_hooks, count($sent), json_decode($sent[0][2], true));"""

    unpaid, in_hooks, sent, body = in_shop(script, address(service), merchant)

    assert (unpaid, in_hooks, sent) == (0, 0, 1)
    assert body["session_id"] == "s_abc123"
    assert body["items"][0] == {"item_id": "1", "quantity": 2, "price": 10, "total": 20}
    assert merchant.order("7", "1").json["duplicate"] is True


def test_a_sale_after_a_click_in_a_widget_is_credited(service: Service) -> None:
    merchant = service.register()
    merchant.push({"id": "1"})
    click = {"event": "rec-click", "item_id": "1", "session_id": "s_abc123"}
    assert merchant.track(click).status == 200
    script = f"$_COOKIE['pr_sid'] = 's_abc123'; order(7, array(line(1))); {CHECKOUTS['classic']} {PAID} run_jobs();"

    in_shop(f"{script} $told = 1;", address(service), merchant)

    domain = merchant.account.domain
    told = json.loads(service.run("report", domain, "credited-sales", "--json"))
    assert [row["order_id"] for row in told["rows"]] == ["7"]


@pytest.mark.parametrize("kind", CHECKOUTS)
def test_an_error_in_a_checkout_hook_never_reaches_the_checkout(kind: str) -> None:
    script = f"""$_COOKIE['pr_sid'] = 's_abc123'; order(7, array(line(1)), array('broken' => true));
        {CHECKOUTS[kind]} $told = $options['product_recs_errors'][0]['why'];"""

    assert "a broken plugin" in in_shop(script, nowhere())


@pytest.mark.parametrize("reply", ["down", "nonsense"])
def test_an_order_is_delivered_after_an_outage(service: Service, reply: str) -> None:
    merchant = service.register()
    # A page that is no reply of the service, as a proxy in between sends.
    broken = f"{address(service)}/llms.txt?" if reply == "nonsense" else nowhere()
    script = f"""order(7, array(line(1))); {PAID} run_jobs(); $waiting = count($jobs);
        ProductRecs\\Settings::change(array('url' => '{address(service)}')); later(); run_jobs();
        $told = array($waiting, count($jobs), ProductRecs\\Outbox::count());"""

    assert in_shop(script, broken, merchant) == [1, 0, 0]
    assert merchant.order("7", "1").json["duplicate"] is True


def test_of_a_long_order_the_hundred_largest_lines_are_sent(service: Service) -> None:
    merchant = service.register()
    script = f"""$lines = array(); for ($i = 1; $i <= 120; $i++) {{ $lines[] = line($i, 1, $i); }}
        order(7, $lines); {PAID} run_jobs();
        $sent = json_decode(calls('POST', '/v1/orders')[0][2], true)['items'];
        $told = array(count($sent), min(array_column($sent, 'total')));"""

    assert in_shop(script, address(service), merchant) == [100, 21]


@pytest.mark.parametrize(
    ("before", "settings", "expected"),
    [
        ("$user = 5;", "array()", ["s_abc123", True]),
        (
            "$user = 5; do_action('woocommerce_created_customer', 5);",
            "array()",
            ["s_abc123", None],
        ),
        ("$user = 5; $_COOKIE = array();", "array()", [None, True]),
        ("$user = 5; $_COOKIE = array();", "array('consent' => 1)", [None, None]),
        ("$_COOKIE['pr_sid'] = 's_x; evil';", "array()", [None, None]),
    ],
    ids=["customer", "account made here", "no cookie", "no consent", "forged cookie"],
)
def test_the_order_carries_the_identity_of_the_widgets(
    before: str, settings: str, expected: list[str | bool | None]
) -> None:
    script = f"""$_COOKIE['pr_sid'] = 's_abc123'; {before}
        $order = order(7, array(line(1)), array('customer_id' => 5)); {CHECKOUTS["classic"]}
        $body = ProductRecs\\Orders::body($order); $told = array($body['session_id'], isset($body['user_id']) ? $body['user_id'] === customer_of_page(5) : null);"""

    assert in_shop(script, nowhere(), settings=settings) == expected


def test_without_action_scheduler_jobs_go_to_wp_cron(service: Service) -> None:
    merchant = service.register()
    script = f"""order(7, array(line(1))); {PAID} {PAID} $waiting = count($jobs); run_jobs();
        $told = array($waiting, count(calls('POST', '/v1/orders')));"""

    told = in_shop(script, address(service), merchant, before="$without_scheduler = true;")

    assert told == [1, 1]


def test_anonymous_pages_are_identical_and_customers_are_named() -> None:
    script = """product(1); $page = 1; $places = array();
        $_COOKIE['pr_sid'] = 's_one'; $one = drawn('woocommerce_after_single_product_summary');
        $told = array($one, ProductRecs\\Placements::shortcode(array()), drawn('woocommerce_after_single_product_summary'));
        $_COOKIE['pr_sid'] = 's_two'; $told[] = ProductRecs\\Placements::shortcode(array());
        $user = 5; $told[] = ProductRecs\\Placements::shortcode(array());"""

    placed, first, twice, second, customer = in_shop(script, nowhere())

    assert placed == '<product-recs data-key="pk_x" data-item-id="1"></product-recs>'
    assert twice == ""
    assert first == second
    assert "s_" not in first
    assert 'data-customer-id="c_' in customer


@pytest.mark.parametrize(("chosen", "priority"), [("above", 5), ("below", 15), ("end", 25)])
def test_a_place_has_a_position(chosen: str, priority: int) -> None:
    script = "$told = array_keys($hooks['woocommerce_after_single_product_summary']);"
    settings = f"array('positions' => array('product' => '{chosen}'))"

    assert in_shop(script, nowhere(), settings=settings) == [priority]


@pytest.mark.parametrize(
    ("chosen", "without_hooks", "at"),
    [("above", 0, 0), ("below", 0, 0), ("end", 0, 2), ("above", 1, 0), ("end", 1, 0)],
)
def test_a_block_theme_has_the_products_widgets_once_at_their_position(
    chosen: str, without_hooks: int, at: int
) -> None:
    script = f"""$block_theme = true; product(1); $page = 1;
        add_filter('woocommerce_disable_compatibility_layer', fn() => {without_hooks} > 0);
        $told = array(apply_filters('render_block_woocommerce/product-details', '<p></p>'),
            drawn('woocommerce_after_single_product_summary'), drawn('woocommerce_after_single_product'));"""
    settings = f"array('positions' => array('product' => '{chosen}'))"

    found = in_shop(script, nowhere(), settings=settings)

    assert [one.count("<product-recs") for one in found] == [int(i == at) for i in range(3)]
    assert found[0].endswith("<p></p>") or chosen != "above"
    assert found[0].startswith("<p></p>") or chosen == "above"


def test_a_theme_without_the_hook_of_the_description_has_the_widgets_at_the_end() -> None:
    script = "product(1); $page = 1; $told = drawn('woocommerce_after_single_product');"

    assert in_shop(script, nowhere()).count("<product-recs") == 1


def test_a_placed_widget_is_wide_in_block_themes_and_a_shortcode_as_its_text() -> None:
    script = """$block_theme = true; product(1); $page = 1;
        $told = array(drawn('woocommerce_after_single_product_summary'), ProductRecs\\Placements::shortcode(array()));"""

    placed, written = in_shop(script, nowhere())

    assert placed.startswith('<product-recs class="alignwide" ')
    assert "class" not in written


def test_a_filter_names_the_price_list_of_an_element() -> None:
    script = """add_filter('product_recs_widget_attributes', fn($all) => $all + array('price-list' => 'U"SD')); product(1); $page = 1;
        $told = ProductRecs\\Placements::shortcode(array('type' => 'trending'));"""

    told = in_shop(script, nowhere())

    assert ' price-list="U&quot;SD"' in told
    assert ' data-type="trending"' in told


@pytest.mark.parametrize("theme", ["block", "classic"])
def test_a_front_page_of_posts_has_one_widget_around_its_list(theme: str) -> None:
    script = f"""$posts_page = true; $block_theme = {"true" if theme == "block" else "false"};
        class Loop {{ public function is_main_query() {{ return true; }} }}
        $list = apply_filters('render_block_core/query', '<ul></ul>', array('attrs' => array('query' => array('inherit' => true))));
        $told = ($block_theme ? $list : '<ul></ul>') . (function () {{ ob_start(); do_action('loop_end', new Loop()); return ob_get_clean(); }})();"""
    if theme == "classic":
        script = script.replace("$list = apply", "$list = ''; false && apply")

    told = in_shop(script, nowhere(), settings="array('places' => array('home'))")

    assert told.startswith("<ul></ul><product-recs ")
    assert told.count("<product-recs ") == 1


@pytest.mark.parametrize("may", [True, False])
def test_a_consent_plugin_decides_what_is_remembered(may: bool) -> None:  # noqa: FBT001
    script = f"""function wp_has_consent() {{ return {"true" if may else "false"}; }}
        $_COOKIE['pr_sid'] = 's_abc123'; $user = 5; $order = order(7, array(line(1)), array('customer_id' => 5));
        {CHECKOUTS["classic"]} $body = ProductRecs\\Orders::body($order);
        product(1); ob_start(); do_action('woocommerce_add_to_cart', 'line', 1, 1, 0);
        $added = (new ReflectionClass('ProductRecs\\Shopper'))->getStaticPropertyValue('added'); ob_end_clean();
        $tag = apply_filters('script_loader_tag', '<script src="x"></script>', 'product-recs-recs');
        $told = array($body['session_id'], isset($body['user_id']) ? $body['user_id'] === customer_of_page(5) : null, (bool) $added, strpos($tag, 'data-consent="required"') > 0);"""

    told = in_shop(script, nowhere())

    assert told == (["s_abc123", True, True, True] if may else [None, None, False, True])


@pytest.mark.parametrize(
    ("kind", "variation", "is_added"),
    [("variable", 0, False), ("variable", 9, True), ("simple", 0, True)],
)
def test_a_widgets_button_adds_no_product_without_its_variation(
    kind: str, variation: int, *, is_added: bool
) -> None:
    script = f"""product(1, array('type' => '{kind}'));
        $others = apply_filters('woocommerce_add_to_cart_validation', true, 1, 1, {variation});
        $_POST['product_recs'] = '1';
        $told = array($others, apply_filters('woocommerce_add_to_cart_validation', true, 1, 1, {variation}));"""

    assert in_shop(script, nowhere()) == [True, is_added]


def test_an_add_to_cart_names_the_parent_and_its_value() -> None:
    script = """product(1); product(9, array('price' => '12.5')); $posts[9] = array('type' => 'product_variation', 'parent' => 1);
        ob_start(); do_action('woocommerce_add_to_cart', 'line', 1, 2, 9); do_action('woocommerce_add_to_cart', 'line', 1, 1, 0);
        $told = (new ReflectionClass('ProductRecs\\Shopper'))->getStaticPropertyValue('added'); ob_end_clean();"""

    assert in_shop(script, nowhere()) == [["1", 2, 25.0, "EUR"], ["1", 1, 10.0, "EUR"]]


def test_scripts_are_loaded_without_blocking() -> None:
    script = """$user = 5; $tag = '<script src="x" id="product-recs-recs-js"></script>';
        $told = apply_filters('script_loader_tag', $tag, 'product-recs-recs');"""

    tag = in_shop(script, nowhere(), settings="array('consent' => 1)")

    assert tag.startswith('<script async data-customer-id="c_')
    assert ' data-consent="required" src="x"' in tag


def test_the_id_of_a_customer_is_signed_and_says_nothing_of_their_number(
    service: Service,
) -> None:
    merchant = service.register()
    merchant.push({"id": "1"}, {"id": "2"})
    script = f"""$user = 5; order(7, array(line(1)), array('customer_id' => 5)); {CHECKOUTS["classic"]} {PAID} run_jobs();
        $tags = array_map(fn($one) => apply_filters('script_loader_tag', '<script src="x">', 'product-recs-' . $one), array('recs', 'search', 'bridge'));
        $sent = json_decode(calls('POST', '/v1/orders')[0][2], true);
        $told = array($tags, $sent['user_id'], page_of(5), page_of(6), page_of(0));"""

    tags, buyer, own, other, guest = in_shop(script, address(service), merchant)

    assert all(
        f'data-customer-id="{own[0]}" data-identity="{own[1]}"' in one for one in tags
    )
    assert own[0] == buyer != other[0] != ""
    assert re.fullmatch("c_[0-9a-f]{32}", buyer)
    assert guest == ["", ""]
    for identity, warned in ((own[1], False), (other[1], True)):
        event = {"event": "detail-page-view", "item_id": "1", "user_id": buyer}
        reply = merchant.track(event | {"identity": identity})
        assert ("warnings" in reply.json) is warned


def test_an_update_links_the_numbers_of_customers_to_their_ids_once(
    service: Service,
) -> None:
    merchant = service.register()
    merchant.push({"id": "1"}, {"id": "2"})
    assert merchant.order("old", "1", user_id="5").status == 200
    script = """$users = array_merge(range(1, 600), array(99999)); ProductRecs\\Settings::change(array('version' => ''));
        do_action('init'); run_jobs(); do_action('init'); run_jobs();
        $told = array(count(calls('POST', '/integration/customer-ids')), count($jobs), page_of(5)[0]);"""

    calls, left, new_id = in_shop(script, address(service), merchant)

    assert (calls, left) == (2, 0)
    domain = merchant.account.domain
    told = service.run("shopper", "export", domain, "-", "--user", new_id)
    assert '"order_id":"old"' in told


def test_a_new_connection_links_no_numbers(service: Service) -> None:
    merchant = service.register()
    script = "$users = array(5); do_action('init'); run_jobs(); $told = count($calls);"

    assert in_shop(script, address(service), merchant) == 0


def test_uninstalling_leaves_nothing(service: Service) -> None:
    merchant = service.register()
    script = """product(1); ProductRecs\\Sync::begin(); run_jobs(); ProductRecs\\Queue::schedule_nightly();
        $order = order(7, array(line(1)), array('status' => 'pending')); ProductRecs\\Orders::remember($order);
        ProductRecs\\Settings::change(array('meta' => 1)); $remembered = count($order->meta);
        ProductRecs\\Sync::begin(); ProductRecs\\record_error('a', 'b'); set_transient('product_recs_said_1', 1);
        ProductRecs\\Customers::id(5); $before = array(count($options) > 3, count($jobs) > 0, count($meta) > 0);
        do_action('deactivate'); $stopped = count($jobs);
        define('WP_UNINSTALL_PLUGIN', 1); require $plugin . '/uninstall.php';
        $told = array($before, $stopped, count($options), count($meta) + count($wpdb->outbox), $remembered, count($order->meta));"""

    told = in_shop(script, address(service), merchant)

    assert told == [[True, True, True], 0, 0, 0, 1, 0]


def test_the_fake_shop_sees_errors() -> None:
    with pytest.raises(AssertionError):
        run_php("undefined_function();")


def test_texts_are_cut_between_characters_without_mbstring() -> None:
    script = """
        $cut = new ReflectionMethod('ProductRecs\\Items', 'cut'); $cut->setAccessible(true);
        $told = array(
            $cut->invoke(null, str_repeat('ß', 300), 255), $cut->invoke(null, "a\nß", 9),
            strlen($cut->invoke(null, "\\xff" . str_repeat('a', 300), 255))
        );
    """

    assert in_shop(script, nowhere()) == ["ß" * 255, "a\nß", 255]
