"""Does the service know each product as shoppers see it?"""

import pytest

from tests.api import stored
from tests.plugin.shop import address, in_shop, nowhere, php_value
from tests.support.service import Service


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
            "'price' => '20', 'regular_price' => '20', 'sale_price' => '15', 'date_on_sale_from' => new DateTime('2090-01-01T00:00:00Z'), 'date_on_sale_to' => new DateTime('2090-01-08T23:59:59Z')",
            {
                "price": 20.0,
                "planned_price": 15.0,
                "planned_price_from": "2090-01-01T00:00:00+00:00",
                "planned_price_until": "2090-01-08T23:59:59+00:00",
            },
        ),
        (
            "'price' => '15', 'regular_price' => '20', 'sale_price' => '15', 'is_on_sale' => true, 'date_on_sale_from' => new DateTime('2020-01-01T00:00:00Z')",
            {"price": 15.0, "list_price": 20.0, "planned_price": 15.0},
        ),
        (
            "'price' => '20', 'regular_price' => '20', 'sale_price' => '15', 'date_on_sale_from' => new DateTime('2020-01-01T00:00:00Z'), 'date_on_sale_to' => new DateTime('2020-01-08T00:00:00Z')",
            {"price": 20.0, "planned_price": None},
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
        end_request(); run_jobs(); $result = count(calls('POST', '/v1/items'));"""

    assert in_shop(script, address(service), merchant) == 1

    item = stored.item(service, merchant, "1")
    assert {name: getattr(item, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("I <3 Cats", "I <3 Cats"),
        ("I &lt;3 Cats &amp; dogs", "I <3 Cats & dogs"),
        ("Fits 2 < 3 > 1 people", "Fits 2 < 3 > 1 people"),
        ("A <em>light</em> t<b>ent", "A light tent"),
        ("<p>Dolor sit amet.</p><p>Lorem</p>", "Dolor sit amet. Lorem"),
        ("Wool<br/>Cotton<ul><li>Red</li><li>Blue</li></ul>", "Wool Cotton Red Blue"),
        ("Sizes:\n\n  S<script>alert('M')</script><!-- L -->", "Sizes: S"),
        ('<img alt="a > b">Tent', "Tent"),
    ],
)
def test_a_text_is_sent_as_shoppers_read_it(service: Service, html: str, text: str) -> None:
    merchant = service.register()
    script = f"""$html = {php_value(html)};
        product(1, array('name' => $html, 'description' => $html, 'attributes' => array(new Fake_Attribute('Fit', array($html)))));
        do_action('woocommerce_update_product', 1); end_request(); run_jobs(); $result = 1;"""

    in_shop(script, address(service), merchant)

    item = merchant.client.ask("GET", "/v1/items/1", None, merchant.server).json
    assert item["title"] == text
    assert " ".join(item["description"].split()) == text
    assert item["attributes"] == {"Fit": [text]}


def test_a_product_edited_five_times_is_pushed_once(service: Service) -> None:
    merchant = service.register()
    script = """
        product(1, array('price' => '12.5', 'category_ids' => array(3)));
        for ($i = 0; $i < 5; $i++) { do_action('woocommerce_update_product', 1); }
        end_request(); $in_hook = count($calls); $waiting = count($jobs);
        do_action('woocommerce_update_product', 1); end_request(); $again = count($jobs);
        run_jobs();
        $result = array($in_hook, $waiting, $again, count(calls('POST', '/v1/items')));"""

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
        $result = array(count(calls('DELETE', '/v1/items/1')), count($jobs));"""

    assert in_shop(script, address(service), merchant) == [1, 0]
    assert merchant.delete("1").status == 404


@pytest.mark.parametrize(
    ("change", "pushed"),
    [
        ("do_action('delete_attachment', 70);", [1]),
        ("do_action('pre_delete_term', 5, 'product_cat');", [1, 2, 9]),
        ("do_action('pre_delete_term', 5, 'post_tag');", []),
        ("do_action('deleted_term_relationships', 2, array(6), 'product_cat');", [2, 9]),
        ("do_action('woocommerce_update_product', 2);", [2, 9]),
        ("do_action('update_option_woocommerce_tax_display_shop');", [1, 2, 9]),
        ("do_action('woocommerce_tax_rate_updated', 1);", [1, 2, 9]),
    ],
    ids=["picture", "category above", "tag", "term removed", "of a group", "taxes", "rate"],
)
def test_a_change_that_names_no_product_is_sent_at_once(
    service: Service, change: str, pushed: list[int]
) -> None:
    merchant = service.register()
    script = f"""$below = array(5 => array(6)); product(1, array('category_ids' => array(5), 'image_id' => 70));
        product(2, array('category_ids' => array(6))); product(9, array('type' => 'grouped', 'children' => array(2)));
        {change} end_request(); run_jobs(); $result = array();
        foreach (calls('POST', '/v1/items') as $call) {{ foreach (json_decode($call[2], true)['items'] as $item) {{ $result[] = (int) $item['id']; }} }}"""

    assert in_shop(script, address(service), merchant) == pushed


@pytest.mark.parametrize(
    ("children", "price", "availability"),
    [
        ("product(2, array('price' => '5', 'status' => 'draft'));", 8.0, "in_stock"),
        ("product(2, array('price' => '5', 'stock_status' => 'outofstock'));", 5.0, "in_stock"),
        ("product(2, array('price' => ''));", 8.0, "in_stock"),
        ("product(3, array('price' => '8', 'stock_status' => 'outofstock')); product(2, array('price' => ''));", 8.0, "out_of_stock"),
        ("$objects[3]->facts['price'] = ''; product(2, array('price' => ''));", None, "out_of_stock"),
    ],
    ids=["draft", "one sold out", "one without a price", "all sold out", "no prices"],
)  # fmt: skip
def test_a_group_has_the_price_of_its_page_and_is_there_while_a_part_is(
    service: Service, children: str, price: float | None, availability: str
) -> None:
    merchant = service.register()
    script = f"""product(3, array('price' => '8')); {children} product(9, array('type' => 'grouped', 'children' => array(2, 3), 'price' => ''));
        do_action('woocommerce_update_product', 9); end_request(); run_jobs(); $result = 1;"""

    in_shop(script, address(service), merchant)

    item = stored.item(service, merchant, "9")
    assert (item.price, item.availability) == (price, availability)


def test_a_deleted_variation_pushes_its_parent(service: Service) -> None:
    script = """product(1); $posts[9] = array('type' => 'product_variation', 'parent' => 1, 'status' => 'publish');
        do_action('before_delete_post', 9); unset($posts[9]); do_action('woocommerce_delete_product_variation', 9);
        end_request(); $result = array_values($jobs)[0][1];"""

    assert in_shop(script, address(service)) == [[1]]


def test_texts_are_cut_between_characters_without_mbstring() -> None:
    script = """
        $cut = new ReflectionMethod('ProductRecs\\Items', 'cut'); $cut->setAccessible(true);
        $result = array(
            $cut->invoke(null, str_repeat('ß', 300), 255), $cut->invoke(null, "a\nß", 9),
            strlen($cut->invoke(null, "\\xff" . str_repeat('a', 300), 255))
        );
    """

    assert in_shop(script, nowhere()) == ["ß" * 255, "a\nß", 255]
