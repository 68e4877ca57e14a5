"""Does what runs in the background end with the service knowing what the shop has?

Each test compares the service's own replies with the shop's products and orders.
"""

from typing import Any

import pytest

from productrecs.core.timestamps import parse_timestamp
from tests.plugin.shop import address, in_shop, nowhere
from tests.support.service import Merchant, Service, eventually

LINES = "'line-a' => line(1, 3, 30.0), 'line-b' => line(2, 1, 50.0)"
PAID = f"order(7, array({LINES})); do_action('woocommerce_order_status_processing', 7); end_request(); work();"


def known_order(merchant: Merchant, order_id: str = "7") -> dict[str, tuple[int, float]]:
    """Return units and total of each product, as the service knows them."""
    reply = merchant.client.ask("GET", f"/v1/orders/{order_id}", None, merchant.server)
    sums: dict[str, tuple[int, float]] = {}
    for line in reply.json.get("items", []):
        units, total = sums.get(line["item_id"], (0, 0.0))
        total = round(total + line["total"], 2)
        sums[line["item_id"]] = (units + line["quantity"], total)
    return sums


def known_ids(merchant: Merchant, what: str) -> list[str]:
    """Return the ids of all items or orders of the service."""
    path = f"/v1/{what}?fields=id&limit=1000"
    page: dict[str, Any] = merchant.client.ask("GET", path, None, merchant.server).json
    return sorted(page["items"], key=int)


@pytest.mark.parametrize("shopper", ["nobody", "abroad", "exempt", "wholesale"])
@pytest.mark.parametrize(
    ("is_in_price", "display", "expected"),
    [("true", "incl", 7.0), ("false", "incl", 8.33), ("false", "excl", 7.0)],
)
def test_prices_are_those_of_a_shopper_at_the_shops_own_place(
    service: Service, shopper: str, is_in_price: str, display: str, expected: float
) -> None:
    merchant = service.register()
    script = f"""$tax = array('rate' => 0.19, 'is_in_price' => {is_in_price}, 'display' => '{display}');
        add_filter('woocommerce_product_get_price', fn($price) => $user === 9 ? 3 : $price);
        $user = '{shopper}' === 'wholesale' ? 9 : 0;
        if ('{shopper}' !== 'nobody') {{ $woocommerce->customer = new WC_Customer(); $woocommerce->customer->country = '{shopper}' === 'abroad' ? 'US' : 'DE'; }}
        if ('{shopper}' === 'exempt') {{ $woocommerce->customer->is_exempt = true; }}
        $before = $woocommerce->customer; product(1, array('price' => '7'));
        do_action('woocommerce_update_product', 1); end_request(); work();
        $result = array($user, $before === $woocommerce->customer);"""
    script = script.replace("fn($price) => $user", "fn($price) => $GLOBALS['user']")

    user, is_restored = in_shop(script, address(service), merchant)

    item = merchant.client.ask("GET", "/v1/items/1", None, merchant.server).json
    assert item["price"] == expected
    assert (user, is_restored) == (9 if shopper == "wholesale" else 0, True)


REFUND = "refund(8, 7, 10.0, array(line(1, -1, -10.0, 'line-a'))); work();"
CANCEL = "changed_order(7, array('status' => 'cancelled')); work(); work();"
CHANGES = {
    "partial refund": (
        "refund(8, 7, 10.0, array(line(1, -1, -10.0, 'line-a')));",
        {"1": (2, 20.0), "2": (1, 50.0)},
    ),
    "a whole line refunded": (
        "refund(8, 7, 30.0, array(line(1, -3, -30.0, 'line-a')));",
        {"2": (1, 50.0)},
    ),
    "an amount of a line": (
        "refund(8, 7, 6.0, array(line(1, 0, -6.0, 'line-a')));",
        {"1": (3, 24.0), "2": (1, 50.0)},
    ),
    "an amount of no line": ("refund(8, 7, 40.0);", {"1": (3, 15.0), "2": (1, 25.0)}),
    "refund deleted": (
        REFUND
        + "unset($objects[8]); do_action('woocommerce_refund_deleted', 8, 7); end_request();",
        {"1": (3, 30.0), "2": (1, 50.0)},
    ),
    "status refunded": ("changed_order(7, array('status' => 'refunded'));", {}),
    "partial refund, then cancelled": (
        REFUND + "changed_order(7, array('status' => 'cancelled'));",
        {},
    ),
    "cancelled and reinstated": (
        CANCEL + "changed_order(7, array('status' => 'processing'));",
        {"1": (3, 30.0), "2": (1, 50.0)},
    ),
    "trashed": (
        "$objects[7]->facts['status'] = 'trash'; do_action('trashed_post', 7); end_request();",
        {},
    ),
    "deleted": (
        "unset($objects[7]); do_action('woocommerce_delete_order', 7); end_request();",
        {},
    ),
    "edited": (
        "$objects[7]->facts['items']['line-a']->facts['quantity'] = 1; changed_order(7);",
        {"1": (1, 30.0), "2": (1, 50.0)},
    ),
    "completed": (
        "changed_order(7, array('status' => 'completed'));",
        {"1": (3, 30.0), "2": (1, 50.0)},
    ),
    "changed by SQL": (
        "$objects[7]->facts['status'] = 'cancelled'; do_action('product_recs_nightly');",
        {},
    ),
    "deleted by SQL": (
        "order(6, array(line(1))); unset($objects[7]); order(9, array(line(1))); do_action('product_recs_nightly');",
        {},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_order_is_sent_once_with_what_is_left_of_it(
    service: Service, change: str
) -> None:
    merchant = service.register()
    script, left = CHANGES[change]
    in_order = f"""{PAID} {script} work(); $calls = array();
        changed_order(7); work(); $again = count($calls); $result = array($again, errors(), count(ProductRecs\\Outbox::next(9)));"""

    again, errors, waiting = in_shop(in_order, address(service), merchant)

    eventually(lambda: known_order(merchant) == left)
    assert (again, errors, waiting) == (0, [], 0)


def test_an_order_that_was_refunded_before_it_was_sent_has_what_is_left(
    service: Service,
) -> None:
    merchant = service.register()
    script = f"""order(7, array({LINES})); do_action('woocommerce_order_status_processing', 7); end_request();
        refund(8, 7, 10.0, array(line(1, -1, -10.0, 'line-a'))); work(); $result = array_column($calls, 1);"""

    assert in_shop(script, address(service), merchant) == ["/v1/orders"]
    assert known_order(merchant) == {"1": (2, 20.0), "2": (1, 50.0)}


def test_of_a_long_order_every_line_arrives(service: Service) -> None:
    merchant = service.register()
    script = """$lines = array(); for ($i = 1; $i <= 120; $i++) { $lines["line-$i"] = line($i, 1, $i); }
        order(7, $lines); do_action('woocommerce_order_status_processing', 7); end_request(); work();
        $result = array_column($calls, 1);"""

    assert in_shop(script, address(service), merchant) == ["/v1/orders", "/orders/upload"]
    eventually(lambda: len(known_order(merchant)) == 120)


def test_orders_of_an_outage_arrive_in_order_with_their_time_and_none_is_missing(
    service: Service,
) -> None:
    merchant = service.register()
    script = f"""for ($i = 1; $i <= 40; $i++) {{
            order($i, array('line-a' => line(1)), array('created' => time() - 86400 + $i, 'modified' => time() - 86400 + $i));
            if ($i <= 20) {{ do_action('woocommerce_order_status_processing', $i); end_request(); }}
            if (5 === $i) {{ work(); }}
            if (20 === $i) {{ do_action('deactivate'); $left = count($jobs); }}
        }}
        do_action('activate'); ProductRecs\\Settings::change(array('url' => '{address(service)}'));
        ProductRecs\\Queue::watch(); later(); work(); later(); work();
        $sent = array_map(fn($call) => (int) json_decode($call[2], true)['order_id'], calls('POST', '/v1/orders'));
        $result = array($left, array_slice($sent, -40), count(ProductRecs\\Outbox::next(9)));"""

    left, sent, waiting = in_shop(script, nowhere(), merchant)

    assert (left, waiting) == (0, 0)
    assert sent == list(range(1, 41))
    path = "/v1/orders/1"
    order = merchant.client.ask("GET", path, None, merchant.server).json
    late = parse_timestamp(order["updated_at"]) - parse_timestamp(order["ordered_at"])
    assert late > 23 * 3_600_000
    assert len(known_ids(merchant, "orders")) == 40


def test_one_order_that_the_service_cannot_take_holds_up_no_other(service: Service) -> None:
    merchant = service.register()
    script = """add_filter('product_recs_order', fn($body, $order) => 6 === $order->get_id() ? array('user_id' => array()) + $body : $body, 10, 2);
        foreach (array(6, 7) as $id) { order($id, array('line-a' => line(1))); do_action('woocommerce_order_status_processing', $id); }
        end_request(); work(); $result = array(count($jobs), errors());"""

    left, errors = in_shop(script, address(service), merchant)

    assert left == 0
    assert "user_id" in errors[0]
    assert known_ids(merchant, "orders") == ["7"]


def test_a_shop_whose_clock_is_ahead_loses_no_order(service: Service) -> None:
    merchant = service.register()
    script = """add_filter('product_recs_order', fn($body) => array('ordered_at' => gmdate('c', time() + 3600)) + $body);
        order(7, array('line-a' => line(1)), array('created' => time() - 600)); do_action('woocommerce_order_status_processing', 7); end_request(); work();
        $result = errors();"""

    assert in_shop(script, address(service), merchant) == []
    assert known_order(merchant) == {"1": (1, 10.0)}


@pytest.mark.parametrize("days", [8, 40])
def test_an_order_that_an_earlier_version_sent_counts_once(
    service: Service, days: int
) -> None:
    merchant = service.register()
    assert merchant.order("7", {"item_id": "1", "quantity": 1, "price": 10}).status == 200
    script = f"""$order = order(7, array('line-a' => line(1)), array('created' => time() - {days} * 86400)); $order->meta['_pr_synced'] = '1';
        ProductRecs\\Orders::begin_scan(); work(); $result = array_column($calls, 0);"""

    assert in_shop(script, address(service), merchant) == ["GET"]
    assert known_order(merchant) == {"1": (1, 10.0)}


def test_a_return_that_an_earlier_version_sent_counts_once(service: Service) -> None:
    merchant = service.register()
    assert merchant.order("7", {"item_id": "1", "quantity": 3, "price": 10}).status == 200
    script = f"""$order = order(7, array({LINES})); $order->meta['_pr_synced'] = '1';
        ProductRecs\\Api::upload("order_id,item_id,quantity\\n7-back-8,1,-1\\n");
        refund(8, 7, 10.0, array(line(1, -1, -10.0, 'line-a'))); $objects[8]->meta['_pr_returned'] = '1';
        ProductRecs\\Orders::begin_scan(); work(); $result = errors();"""

    assert in_shop(script, address(service), merchant) == []
    eventually(lambda: known_order(merchant) == {"1": (2, 20.0), "2": (1, 50.0)})
    eventually(lambda: known_order(merchant, "7-back-8") == {})


def test_the_nightly_looks_at_more_orders_than_one_page(service: Service) -> None:
    merchant = service.register()
    script = """for ($i = 1; $i <= 505; $i++) { order($i, array('line-a' => line(1))); }
        order(600, array(line(1, -1, -10.0, 'line-a')), array('type' => 'shop_order_refund', 'parent_id' => 5, 'amount' => 10));
        do_action('product_recs_nightly'); for ($i = 0; $i < 9; $i++) { work(); } $result = errors();"""

    assert in_shop(script, address(service), merchant) == []
    left = [str(one) for one in range(1, 506) if one != 5]
    eventually(lambda: known_ids(merchant, "orders") == left)


def test_the_nightly_compares_with_the_list_of_the_service(service: Service) -> None:
    merchant = service.register()
    merchant.push(
        {"id": "77", "title": "Gone"}, {"id": "mine", "title": "Of another system"}
    )
    script = """product(1); product(2); product(3); ProductRecs\\Sync::begin(); work();
        $objects[1]->facts['price'] = '99'; unset($posts[2], $objects[2]); product(4);
        product(5); do_action('woocommerce_update_product', 5); end_request(); work(); unset($posts[5], $objects[5]);
        do_action('product_recs_nightly'); work();
        $state = ProductRecs\\Sync::state();
        $result = array($state['state'], $state['told']['unnoticed'], $state['told']['created'], $state['gone'], count($jobs));"""

    result = in_shop(script, address(service), merchant)

    assert result == ["done", 1, 1, 2, 0]
    path = "/v1/items?fields=id"
    known = merchant.client.ask("GET", path, None, merchant.server).json["items"]
    assert set(known) == {"1", "3", "4", "mine"}


def test_the_list_of_errors_holds_different_ones() -> None:
    script = """foreach (array('a', 'b', 'a', 'a') as $why) { ProductRecs\\record_error('orders', $why); }
        $result = errors();"""

    assert in_shop(script, nowhere()) == ["a", "b"]


@pytest.mark.parametrize("before", ["", "$without_scheduler = true;"])
def test_jobs_that_vanished_are_started_again_and_shown(
    service: Service, before: str
) -> None:
    # Action Scheduler's run began before the activation: it takes the jobs and runs none.
    merchant = service.register()
    script = """for ($i = 1; $i <= 450; $i++) { product($i); }
        order(1001, array('line-a' => line(1))); ProductRecs\\Sync::begin(); ProductRecs\\History::begin(); $jobs = array();
        ProductRecs\\Queue::watch(); $found = count($jobs); $errors = count(errors());
        ProductRecs\\Queue::watch(); $twice = count($jobs); work(); work();
        $result = array($found, $errors, $twice - $found, ProductRecs\\Sync::state()['state'], ProductRecs\\History::state());"""

    found, errors, twice, state, history = in_shop(
        script, address(service), merchant, before=before
    )

    assert (found, errors, twice, state) == (3, 2, 0, "done")
    assert history == {"state": "done", "done": 1, "total": 1}
    assert len(known_ids(merchant, "items")) == 450
    eventually(lambda: known_ids(merchant, "orders") == ["1001"])


def test_past_orders_go_on_when_the_screen_that_helped_is_closed(service: Service) -> None:
    merchant = service.register()
    script = """for ($i = 1; $i <= 600; $i++) { order($i, array('line-a' => line(1)), array('created' => 1700000000 + $i)); }
        ProductRecs\\History::begin(); ProductRecs\\History::job(); ProductRecs\\Order_Delivery::deliver();
        work(); $result = ProductRecs\\History::state();"""

    result = in_shop(script, address(service), merchant)

    assert result == {"state": "done", "done": 600, "total": 600}
    eventually(lambda: len(known_ids(merchant, "orders")) == 600)
