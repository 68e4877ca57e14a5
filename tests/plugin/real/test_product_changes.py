"""Does the service learn at once what a real shop's own pages show, and not only at night?"""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.plugin.real.shop import StoredCopy, drain, in_real_shop
from tests.plugin.real.visitor import Visitor
from tests.plugin.shop import php_value

SETUP: Final = """
    $made = array(); $left = array('terms' => array(), 'options' => array(), 'rates' => array(), 'posts' => &$made);
    function product($class, $price, $more = array()) {
        $p = new $class(); $p->set_name('Probe ' . uniqid()); $p->set_status('publish'); $p->set_virtual(true);
        if ($price !== null) { $p->set_regular_price($price); }
        foreach ($more as $name => $value) { $p->{"set_$name"}($value); }
        return $GLOBALS['made'][] = $p->save();
    }
    function category($parent = 0) {
        return $GLOBALS['left']['terms'][] = wp_insert_term('Probe ' . uniqid(), 'product_cat', array('parent' => $parent))['term_id'];
    }
    function picture() {
        return $GLOBALS['made'][] = wp_insert_attachment(array('post_mime_type' => 'image/png', 'post_title' => 'x',
            'post_status' => 'inherit', 'guid' => home_url('/x.png')), 'x.png');
    }
    function option($name, $value) {
        $GLOBALS['left']['options'] += array($name => get_option($name)); update_option($name, $value);
    }
    function grouped($prices, $more = array()) {
        $children = array(); foreach ($prices as $at => $price) { $children[] = product('WC_Product_Simple', $price, $more[$at] ?? array()); }
        return product('WC_Product_Grouped', null, array('children' => $children));
    }
    function taxed($display, &$left) {
        option('woocommerce_calc_taxes', 'yes'); option('woocommerce_prices_include_tax', 'no'); option('woocommerce_tax_display_shop', $display);
        WC_Tax::create_tax_class('Probe');
        $left['rates'][] = WC_Tax::_insert_tax_rate(array('tax_rate_country' => WC()->countries->get_base_country(), 'tax_rate' => '19', 'tax_rate_name' => 'Probe', 'tax_rate_class' => 'probe'));
        return product('WC_Product_Simple', 10, array('tax_class' => 'probe'));
    }
    function variable($prices) {
        $a = new WC_Product_Attribute(); $a->set_name('Size'); $a->set_options(array_keys($prices)); $a->set_visible(true); $a->set_variation(true);
        $id = product('WC_Product_Variable', null, array('attributes' => array($a)));
        foreach ($prices as $name => $price) { product('WC_Product_Variation', $price[0], array('parent_id' => $id, 'attributes' => array('size' => $name), 'sale_price' => $price[1])); }
        return $id;
    }"""
# What makes a product, what changes it, and what the shop's page and the service then say of it.
CASES: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "a picture deleted in the media library": (
        "$id = product('WC_Product_Simple', 9, array('image_id' => picture()));",
        "wp_delete_attachment(get_post_thumbnail_id($id), true);",
        {"price": 9.0, "image_url": None},
    ),
    "a parent category deleted": (
        "$top = category(); $id = product('WC_Product_Simple', 9, array('category_ids' => array(category($top))));",
        "wp_delete_term(get_term(wc_get_product($id)->get_category_ids()[0])->parent, 'product_cat');",
        {"price": 9.0, "categories": 1},
    ),
    "terms removed": (
        "$id = product('WC_Product_Simple', 9, array('category_ids' => array(category(), category())));",
        "wp_remove_object_terms($id, wc_get_product($id)->get_category_ids()[0], 'product_cat');",
        {"price": 9.0, "categories": 1},
    ),
    "the price of a product of a group": (
        "$id = grouped(array(5, 8));",
        "$p = wc_get_product(wc_get_product($id)->get_children()[0]); $p->set_regular_price(6); $p->save();",
        {"price": 6.0},
    ),
    "a product of a group becomes a draft": (
        "$id = grouped(array(5, 8));",
        "wp_update_post(array('ID' => wc_get_product($id)->get_children()[0], 'post_status' => 'draft'));",
        {"price": 8.0},
    ),
    "a product of a group is deleted": (
        "$id = grouped(array(5, 8));",
        "wp_delete_post(wc_get_product($id)->get_children()[0], true);",
        {"price": 8.0},
    ),
    "everything of a group is sold out": (
        "$id = grouped(array(5, 8), array(array('stock_status' => 'outofstock')));",
        "$p = wc_get_product(wc_get_product($id)->get_children()[1]); $p->set_stock_status('outofstock'); $p->save();",
        {"price": 5.0, "availability": "out_of_stock"},
    ),
    "a variation is reduced that is not the cheapest by its usual price": (
        "$id = variable(array('S' => array(20, ''), 'M' => array(30, '')));",
        "$p = wc_get_product(wc_get_product($id)->get_children()[1]); $p->set_sale_price(15); $p->save();",
        {"price": 15.0, "list_price": 30.0},
    ),
    "a variation is reduced and stays dearer": (
        "$id = variable(array('S' => array(20, ''), 'M' => array(50, '')));",
        "$p = wc_get_product(wc_get_product($id)->get_children()[1]); $p->set_sale_price(40); $p->save();",
        {"price": 20.0, "list_price": None},
    ),
    "a price removed": (
        "$id = product('WC_Product_Simple', 9);",
        "$p = wc_get_product($id); $p->set_regular_price(''); $p->save();",
        {"price": None, "availability": "out_of_stock"},
    ),
}
TAXES: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "taxes shown": (
        "$id = taxed('excl', $left);",
        "update_option('woocommerce_tax_display_shop', 'incl');",
        {"price": 11.9},
    ),
    "a tax rate changed": (
        "$id = taxed('incl', $left);",
        "WC_Tax::_update_tax_rate($left['rates'][0], array('tax_rate' => '7'));",
        {"price": 10.7},
    ),
}
FORGET: Final = """foreach ($left['posts'] as $one) { wp_delete_post($one, true); } foreach ($left['terms'] as $one) { wp_delete_term($one, 'product_cat'); }
    foreach ($left['rates'] as $one) { WC_Tax::_delete_tax_rate($one); } WC_Tax::delete_tax_class_by('slug', 'probe');
    foreach ($left['options'] as $name => $value) { update_option($name, $value); }"""


def changed(
    copy: StoredCopy, cases: dict[str, Any]
) -> Iterator[dict[str, tuple[str, dict[str, Any]]]]:
    """Make products, change them, and yield the page and the stored item of each."""
    makes = " ".join(f"{case[0]} $ids[] = $id;" for case in cases.values())
    left = in_real_shop(f"{SETUP} {makes} $left['ids'] = $ids; $result = $left;")
    drain()
    try:
        known = f"$left = {php_value(left)};"
        for id_, case in zip(left["ids"], cases.values(), strict=True):
            known += f"$id = {id_}; {case[1]}"
        in_real_shop(known)
        links = drain(f"$result = array_map('get_permalink', {php_value(left['ids'])});")
        items = copy.items()
        yield {
            name: (Visitor().get(link), items.get(str(id_), {}))
            for name, link, id_ in zip(cases, links, left["ids"], strict=True)
        }
    finally:
        in_real_shop(f"$left = {php_value(left)}; {FORGET}")
        drain()


@pytest.fixture(scope="module")
def products(copy: StoredCopy) -> Iterator[dict[str, tuple[str, dict[str, Any]]]]:
    yield from changed(copy, CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_service_gets_what_a_page_shows_at_once(
    products: dict[str, tuple[str, dict[str, Any]]], name: str
) -> None:
    agree(*products[name], CASES[name][2])


@pytest.mark.parametrize("name", TAXES)
def test_a_change_of_taxes_is_sent_at_once(copy: StoredCopy, name: str) -> None:
    for found in changed(copy, {name: TAXES[name]}):
        agree(*found[name], TAXES[name][2])


def agree(page: str, stored: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Compare a stored product with its page, and both with what the change must give."""
    for field, value in wanted.items():
        found = stored.get(field)
        assert (len(found or ()) if field == "categories" else found) == value, field
    assert stored.get("price") == shown_price(page)


def shown_price(page: str) -> float | None:
    """Return the lowest price that a product's page shows beside its title."""
    body = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    body = body[body.index("<h1") :]
    body = re.split(r"<form|<table|related|You may also like", body)[0]
    body = re.sub(
        r"<del\b.*?</del>|<span class=.screen-reader-text.*?</span>",
        "",
        body,
        flags=re.DOTALL,
    )
    prices = re.findall(r"Price-amount.*?</bdi>", body, re.DOTALL)
    amounts = [
        re.search(r"\d+[.,]\d+", re.sub(r"<[^>]*>|&#?\w+;", "", one)) for one in prices
    ]
    return min((float(one[0].replace(",", ".")) for one in amounts if one), default=None)
