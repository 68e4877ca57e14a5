"""Does the service's database have each order of the real shop once, and what is left of it?"""

import secrets
from typing import Final

import pytest

from tests.plugin.real.checkout import CHECKOUTS, Checkout
from tests.plugin.real.shop import DRAIN, StoredCopy, customer_id, drain, in_real_shop
from tests.plugin.real.visitor import Visitor
from tests.plugin.shop import php_value
from tests.support.service import eventually


@pytest.mark.parametrize("checkout", CHECKOUTS.values(), ids=CHECKOUTS)
@pytest.mark.parametrize("who", ["guest", "customer"])
@pytest.mark.parametrize("method", ["cod", "bacs", "test_declined"])
def test_an_order_is_stored_once_and_only_after_payment(
    copy: StoredCopy,
    checkout_page: str,
    customer: int,
    password: str,
    probe: int,
    checkout: Checkout,
    who: str,
    method: str,
) -> None:
    session = "s_" + secrets.token_hex(12)
    login = (f"probe-{customer}", password) if who == "customer" else ("", "")
    visitor = Visitor(*login, session=session)

    order = checkout.buy(visitor, checkout_page, probe, method)

    drain()
    line = (str(probe), customer_id(customer) if who == "customer" else "", 2, 9.0)
    if method == "test_declined":
        assert order is None
        assert copy.orders_of(probe) == []
        return
    assert order is not None
    if method == "bacs":
        assert copy.lines(order) == []
        in_real_shop(f"wc_get_order({order})->payment_complete();")
        drain()
    assert copy.lines(order) == [line]
    body, duplicate = in_real_shop(
        f"""$body = ProductRecs\\Orders::body(wc_get_order({order}));
        $reply = ProductRecs\\Api::call('POST', '/v1/orders', $body);
        $result = array($body, $reply->json['duplicate']);"""
    )
    assert duplicate is True
    assert body["session_id"] == session
    assert body["items"] == [
        {"item_id": str(probe), "quantity": 2, "price": 9, "total": 18}
    ]


@pytest.mark.parametrize("who", ["guest", "customer"])
def test_a_sale_after_a_click_is_credited(
    copy: StoredCopy, checkout_page: str, customer: int, password: str, probe: int, who: str
) -> None:
    session = "s_" + secrets.token_hex(12)
    click = {"event": "rec-click", "item_id": str(probe), "session_id": session}
    click |= {"user_id": customer_id(customer)} if who == "customer" else {}
    login = (f"probe-{customer}", password) if who == "customer" else ("", "")
    visitor = Visitor(*login, session=session)
    in_real_shop(
        rf"""$result = wp_remote_post(ProductRecs\Settings::get('url') . '/v1/events?key=' . ProductRecs\Settings::get('key'),
            array('body' => json_encode(array({php_value(click)}))))['response']['code'];"""
    )

    order = CHECKOUTS["classic"].buy(visitor, checkout_page, probe, "cod")
    drain()

    assert order is not None
    assert copy.is_credited(order)


REFUND: Final = """wc_create_refund(array('order_id' => $o->get_id(), 'amount' => %s, 'line_items' => %s));"""
UNIT: Final = REFUND % ("9", "array($line => array('qty' => 1, 'refund_total' => 9))")
ORDER_CHANGES: Final = {
    "a unit refunded": (UNIT, (2, 18.0), (1, 30.0)),
    "an amount of a line": (
        REFUND % ("9", "array($line => array('qty' => 0, 'refund_total' => 9))"),
        (3, 18.0),
        (1, 30.0),
    ),
    "half the amount, of no line": (REFUND % ("28.5", "array()"), (3, 13.5), (1, 15.0)),
    "refund deleted": (
        UNIT + "again(); $o->get_refunds()[0]->delete(true);",
        (3, 27.0),
        (1, 30.0),
    ),
    "refunded by its status": ("$o->update_status('refunded');", None, None),
    "refunded, then cancelled": (
        UNIT + "again(); $o->update_status('cancelled');",
        None,
        None,
    ),
    "cancelled and reinstated": (
        "$o->update_status('cancelled'); again(); $o->update_status('processing');",
        (3, 27.0),
        (1, 30.0),
    ),
    "trashed": ("$o->delete(false);", None, None),
    "deleted": ("$o->delete(true);", None, None),
}


@pytest.mark.parametrize("change", ORDER_CHANGES)
def test_the_service_knows_what_is_left_of_an_order(
    copy: StoredCopy, probe: int, variable: int, change: str
) -> None:
    script, *left = ORDER_CHANGES[change]
    order = in_real_shop(
        f"""$o = wc_create_order(); $o->add_product(wc_get_product({probe}), 3);
        $o->add_product(wc_get_product(wc_get_product({variable})->get_children()[1]), 1);
        $o->calculate_totals(); $o->payment_complete(); $result = $o->get_id();"""
    )
    drain()
    before = {str(probe): (3, 27.0), str(variable): (1, 30.0)}
    assert copy.sums(order) == before

    in_real_shop(
        f"""function again() {{ ProductRecs\\Orders::flush(); {DRAIN} $GLOBALS['o'] = wc_get_order({order}); }}
        $o = wc_get_order({order}); $line = array_keys($o->get_items())[0]; {script}"""
    )
    drain()

    ids = (str(probe), str(variable))
    wanted = {one: sums for one, sums in zip(ids, left, strict=True) if sums}
    eventually(lambda: copy.sums(order) == wanted)


@pytest.mark.parametrize("days", [0, 60], ids=["new", "past"])
def test_what_is_left_of_an_order_keeps_its_currency(
    copy: StoredCopy, probe: int, days: int
) -> None:
    order = in_real_shop(
        f"""$o = wc_create_order(); $o->set_currency('USD'); $o->add_product(wc_get_product({probe}), 3);
        $o->set_date_created(time() - {days} * DAY_IN_SECONDS); $o->calculate_totals(); $o->payment_complete(); $result = $o->get_id();"""
    )
    drain()

    in_real_shop(
        f"$o = wc_get_order({order}); $line = array_keys($o->get_items())[0]; {UNIT}"
    )
    drain()

    wanted = [(2, "USD")]
    eventually(
        lambda: [(row["quantity"], row["currency"]) for row in copy.rows(order)] == wanted
    )


@pytest.mark.usefixtures("taxes")
@pytest.mark.parametrize("is_chosen", [False, True], ids=["without", "as products"])
def test_order_prices_have_tax_like_products_where_the_merchant_wants_it(
    copy: StoredCopy,
    probe: int,
    is_chosen: bool,  # noqa: FBT001
) -> None:
    change = "ProductRecs\\Settings::change(array('order_tax' => %d));"
    order = in_real_shop(
        f"""$p = wc_get_product({probe}); $p->set_tax_class('probe'); $p->save(); {change % is_chosen}
        $o = wc_create_order(); $o->set_billing_country(WC()->countries->get_base_country()); $o->add_product($p, 3);
        $o->calculate_totals(); $o->payment_complete(); $result = $o->get_id();"""
    )
    try:
        drain()
        in_real_shop(
            f"""$o = wc_get_order({order}); $line = array_keys($o->get_items())[0]; $rate = array_keys($o->get_items()[$line]->get_taxes()['total'])[0];
            wc_create_refund(array('order_id' => $o->get_id(), 'amount' => 10.71, 'line_items' => array($line => array('qty' => 1, 'refund_total' => 9, 'refund_tax' => array($rate => 1.71)))));"""
        )
        drain()
        price = copy.items()[str(probe)]["price"]
        assert price == 10.71
        total = round(2 * (price if is_chosen else 9.0), 2)
        eventually(lambda: copy.sums(order) == {str(probe): (2, total)})
    finally:
        in_real_shop(change % 0)
