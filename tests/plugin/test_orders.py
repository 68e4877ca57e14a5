"""Is each paid order sent once, with the identity of the widgets, whatever happens?"""

import json
import re

import pytest

from tests.api import stored
from tests.plugin.shop import address, in_shop, nowhere
from tests.support.service import Merchant, Service, eventually

CHECKOUTS = {
    "classic": "do_action('woocommerce_checkout_order_processed', 7, array(), wc_get_order(7));",
    "store api": "do_action('woocommerce_store_api_checkout_order_processed', wc_get_order(7));",
}
PAID = "do_action('woocommerce_order_status_processing', 7); end_request();"


@pytest.mark.parametrize("kind", CHECKOUTS)
def test_an_order_is_sent_once_after_payment(service: Service, kind: str) -> None:
    merchant = service.register()
    script = f"""$_COOKIE['pr_sid'] = 's_abc123';
        $order = order(7, array(line(1, 2, 20.0), line(2)), array('status' => 'pending'));
        {CHECKOUTS[kind]} {PAID} run_jobs(); $unpaid = count($calls);
        $_COOKIE = array(); $order->facts['status'] = 'processing'; {PAID} {PAID}
        $in_hooks = count($calls); run_jobs(); {PAID} run_jobs();
        $sent = calls('POST', '/v1/orders');
        $result = array($unpaid, $in_hooks, count($sent), json_decode($sent[0][2], true));"""

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

    in_shop(f"{script} $result = 1;", address(service), merchant)

    domain = merchant.account.domain
    report = json.loads(service.run("report", domain, "credited-sales", "--json"))
    assert [row["order_id"] for row in report["rows"]] == ["7"]


@pytest.mark.parametrize("kind", CHECKOUTS)
def test_an_error_in_a_checkout_hook_never_reaches_the_checkout(kind: str) -> None:
    script = f"""$_COOKIE['pr_sid'] = 's_abc123'; order(7, array(line(1)), array('broken' => true));
        {CHECKOUTS[kind]} $result = $options['product_recs_errors'][0]['why'];"""

    assert "a broken plugin" in in_shop(script, nowhere())


@pytest.mark.parametrize("reply", ["down", "nonsense"])
def test_an_order_is_delivered_after_an_outage(service: Service, reply: str) -> None:
    merchant = service.register()
    # A page that is no reply of the service, as a proxy in between sends.
    broken = f"{address(service)}/llms.txt?" if reply == "nonsense" else nowhere()
    script = f"""order(7, array(line(1))); {PAID} run_jobs(); $waiting = count($jobs);
        ProductRecs\\Settings::change(array('url' => '{address(service)}')); later(); run_jobs();
        $result = array($waiting, count($jobs), ProductRecs\\Outbox::count());"""

    assert in_shop(script, broken, merchant) == [1, 0, 0]
    assert merchant.order("7", "1").json["duplicate"] is True


def test_of_a_long_order_the_hundred_largest_lines_are_sent(service: Service) -> None:
    merchant = service.register()
    script = f"""$lines = array(); for ($i = 1; $i <= 120; $i++) {{ $lines[] = line($i, 1, $i); }}
        order(7, $lines); {PAID} run_jobs();
        $sent = json_decode(calls('POST', '/v1/orders')[0][2], true)['items'];
        $result = array(count($sent), min(array_column($sent, 'total')));"""

    assert in_shop(script, address(service), merchant) == [100, 21]


REFUND = "refund(8, 7, 10.0, array(line(1, -1, -10.0, 'line-a', -1.9))); work();"
OLD = "order(7, $lines, array('currency' => 'USD', 'created' => time() - 60 * 86400)); ProductRecs\\History::begin(); work();"
LIVE = f"order(7, $lines, array('currency' => 'USD')); {PAID} work();"


@pytest.mark.parametrize(
    "happens",
    [LIVE, LIVE + REFUND, OLD, OLD + REFUND],
    ids=["live", "refund", "past", "both"],
)
def test_each_line_has_the_currency_of_its_order(service: Service, happens: str) -> None:
    merchant = service.register(currency="EUR")
    script = f"$lines = array('line-a' => line(1, 2, 20.0), 'line-b' => line(2)); {happens} $result = ProductRecs\\Outbox::count();"

    assert in_shop(script, address(service), merchant) == 0

    units = 1 if REFUND in happens else 2
    wanted = {("1", units, "USD"), ("2", 1, "USD")}
    eventually(lambda: _rows(service, merchant, "currency") == wanted)


def _rows(service: Service, merchant: Merchant, *columns: str) -> set[tuple[object, ...]]:
    rows = stored.line_rows(service, merchant)
    return {tuple(row[name] for name in ("item", "quantity", *columns)) for row in rows}


@pytest.mark.parametrize(
    ("chosen", "pages", "happens", "expected"),
    [
        (0, "incl", "", {("1", 2, 20.0)}),
        (1, "excl", "", {("1", 2, 20.0)}),
        (1, "incl", "", {("1", 2, 23.8)}),
        (1, "incl", REFUND, {("1", 1, 11.9)}),
        (
            0,
            "incl",
            "ProductRecs\\Settings::change(array('order_tax' => 1)); work();",
            {("1", 2, 23.8)},
        ),
        (
            1,
            "incl",
            "update_option('woocommerce_tax_display_shop', 'excl'); work();",
            {("1", 2, 20.0)},
        ),
    ],
    ids=[
        "without",
        "as pages: without",
        "as pages: with",
        "refund",
        "chosen later",
        "pages",
    ],
)
def test_order_prices_have_tax_where_the_merchant_wants_it_and_pages_show_it(
    service: Service,
    chosen: int,
    pages: str,
    happens: str,
    expected: set[tuple[object, ...]],
) -> None:
    merchant = service.register()
    script = f"""update_option('woocommerce_tax_display_shop', '{pages}'); ProductRecs\\Settings::change(array('order_tax' => {chosen}));
        order(7, array('line-a' => line(1, 2, 20.0, 0, 3.8))); {PAID} work(); {happens} $result = ProductRecs\\Outbox::count();"""

    assert in_shop(script, address(service), merchant) == 0

    eventually(lambda: _rows(service, merchant, "total") == expected)


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
        $body = ProductRecs\\Orders::body($order); $result = array($body['session_id'], isset($body['user_id']) ? $body['user_id'] === customer_of_page(5) : null);"""

    assert in_shop(script, nowhere(), settings=settings) == expected


def test_without_action_scheduler_jobs_go_to_wp_cron(service: Service) -> None:
    merchant = service.register()
    script = f"""order(7, array(line(1))); {PAID} {PAID} $waiting = count($jobs); run_jobs();
        $result = array($waiting, count(calls('POST', '/v1/orders')));"""

    result = in_shop(
        script, address(service), merchant, before="$without_scheduler = true;"
    )

    assert result == [1, 1]


@pytest.mark.parametrize("may", [True, False])
def test_a_consent_plugin_decides_what_is_remembered(may: bool) -> None:  # noqa: FBT001
    script = f"""function wp_has_consent() {{ return {"true" if may else "false"}; }}
        $_COOKIE['pr_sid'] = 's_abc123'; $user = 5; $order = order(7, array(line(1)), array('customer_id' => 5));
        {CHECKOUTS["classic"]} $body = ProductRecs\\Orders::body($order);
        product(1); ob_start(); do_action('woocommerce_add_to_cart', 'line', 1, 1, 0);
        $added = (new ReflectionClass('ProductRecs\\Shopper'))->getStaticPropertyValue('added'); ob_end_clean();
        $tag = apply_filters('script_loader_tag', '<script src="x"></script>', 'product-recs-recs');
        $result = array($body['session_id'], isset($body['user_id']) ? $body['user_id'] === customer_of_page(5) : null, (bool) $added, strpos($tag, 'data-consent="required"') > 0);"""

    result = in_shop(script, nowhere())

    assert result == (["s_abc123", True, True, True] if may else [None, None, False, True])


@pytest.mark.parametrize(
    ("consent", "names"),
    [("", True), ("function wp_has_consent() { return true; }", False)],
    ids=["no consent plugin", "a consent plugin"],
)
def test_an_order_without_a_checkout_names_its_customer_only_where_consent_is_not_required(
    consent: str,
    names: bool,  # noqa: FBT001
) -> None:
    script = f"""{consent} $order = order(7, array(line(1)), array('customer_id' => 5));
        $result = null !== ProductRecs\\Orders::body($order)['user_id'];"""

    assert in_shop(script, nowhere()) is names


def test_the_id_of_a_customer_is_signed_and_says_nothing_of_their_number(
    service: Service,
) -> None:
    merchant = service.register()
    merchant.push({"id": "1"}, {"id": "2"})
    script = f"""$user = 5; order(7, array(line(1)), array('customer_id' => 5)); {CHECKOUTS["classic"]} {PAID} run_jobs();
        $tags = array_map(fn($one) => apply_filters('script_loader_tag', '<script src="x">', 'product-recs-' . $one), array('recs', 'search', 'bridge'));
        $sent = json_decode(calls('POST', '/v1/orders')[0][2], true);
        $result = array($tags, $sent['user_id'], page_of(5), page_of(6), page_of(0));"""

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
        $result = array(count(calls('POST', '/integration/customer-ids')), count($jobs), page_of(5)[0]);"""

    calls, left, new_id = in_shop(script, address(service), merchant)

    assert (calls, left) == (2, 0)
    domain = merchant.account.domain
    exported = service.run("shopper", "export", domain, "-", "--user", new_id)
    assert '"order_id":"old"' in exported


def test_a_new_connection_links_no_numbers(service: Service) -> None:
    merchant = service.register()
    script = "$users = array(5); do_action('init'); run_jobs(); $result = count($calls);"

    assert in_shop(script, address(service), merchant) == 0
