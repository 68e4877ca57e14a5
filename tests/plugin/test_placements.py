"""Do widgets stand where the merchant wants them, the same on every anonymous page?"""

import pytest

from tests.plugin.shop import in_shop, nowhere


def test_anonymous_pages_are_identical_and_customers_are_named() -> None:
    script = """product(1); $page = 1; $places = array();
        $_COOKIE['pr_sid'] = 's_one'; $one = drawn('woocommerce_after_single_product_summary');
        $result = array($one, ProductRecs\\Placements::shortcode(array()), drawn('woocommerce_after_single_product_summary'));
        $_COOKIE['pr_sid'] = 's_two'; $result[] = ProductRecs\\Placements::shortcode(array());
        $user = 5; $result[] = ProductRecs\\Placements::shortcode(array());"""

    placed, first, twice, second, customer = in_shop(script, nowhere())

    assert placed == '<product-recs data-key="pk_x" data-item-id="1"></product-recs>'
    assert twice == ""
    assert first == second
    assert "s_" not in first
    assert 'data-customer-id="c_' in customer


@pytest.mark.parametrize(("chosen", "priority"), [("above", 5), ("below", 15), ("end", 25)])
def test_a_place_has_a_position(chosen: str, priority: int) -> None:
    script = "$result = array_keys($hooks['woocommerce_after_single_product_summary']);"
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
        $result = array(apply_filters('render_block_woocommerce/product-details', '<p></p>'),
            drawn('woocommerce_after_single_product_summary'), drawn('woocommerce_after_single_product'));"""
    settings = f"array('positions' => array('product' => '{chosen}'))"

    result = in_shop(script, nowhere(), settings=settings)

    assert [one.count("<product-recs") for one in result] == [
        int(i == at) for i in range(3)
    ]
    assert result[0].endswith("<p></p>") or chosen != "above"
    assert result[0].startswith("<p></p>") or chosen == "above"


def test_a_theme_without_the_hook_of_the_description_has_the_widgets_at_the_end() -> None:
    script = "product(1); $page = 1; $result = drawn('woocommerce_after_single_product');"

    assert in_shop(script, nowhere()).count("<product-recs") == 1


def test_a_placed_widget_is_wide_in_block_themes_and_a_shortcode_as_its_text() -> None:
    script = """$block_theme = true; product(1); $page = 1;
        $result = array(drawn('woocommerce_after_single_product_summary'), ProductRecs\\Placements::shortcode(array()));"""

    placed, written = in_shop(script, nowhere())

    assert placed.startswith('<product-recs class="alignwide" ')
    assert "class" not in written


def test_a_filter_names_the_price_list_of_an_element() -> None:
    script = """add_filter('product_recs_widget_attributes', fn($all) => $all + array('price-list' => 'U"SD')); product(1); $page = 1;
        $result = ProductRecs\\Placements::shortcode(array('type' => 'trending'));"""

    html = in_shop(script, nowhere())

    assert ' price-list="U&quot;SD"' in html
    assert ' data-type="trending"' in html


@pytest.mark.parametrize("theme", ["block", "classic"])
def test_a_front_page_of_posts_has_one_widget_around_its_list(theme: str) -> None:
    script = f"""$posts_page = true; $block_theme = {"true" if theme == "block" else "false"};
        class Loop {{ public function is_main_query() {{ return true; }} }}
        $list = apply_filters('render_block_core/query', '<ul></ul>', array('attrs' => array('query' => array('inherit' => true))));
        $result = ($block_theme ? $list : '<ul></ul>') . (function () {{ ob_start(); do_action('loop_end', new Loop()); return ob_get_clean(); }})();"""
    if theme == "classic":
        script = script.replace("$list = apply", "$list = ''; false && apply")

    html = in_shop(script, nowhere(), settings="array('places' => array('home'))")

    assert html.startswith("<ul></ul><product-recs ")
    assert html.count("<product-recs ") == 1


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
        $result = array($others, apply_filters('woocommerce_add_to_cart_validation', true, 1, 1, {variation}));"""

    assert in_shop(script, nowhere()) == [True, is_added]


def test_an_add_to_cart_names_the_parent_and_its_value() -> None:
    script = """product(1); product(9, array('price' => '12.5')); $posts[9] = array('type' => 'product_variation', 'parent' => 1);
        ob_start(); do_action('woocommerce_add_to_cart', 'line', 1, 2, 9); do_action('woocommerce_add_to_cart', 'line', 1, 1, 0);
        $result = (new ReflectionClass('ProductRecs\\Shopper'))->getStaticPropertyValue('added'); ob_end_clean();"""

    assert in_shop(script, nowhere()) == [["1", 2, 25.0, "EUR"], ["1", 1, 10.0, "EUR"]]


def test_scripts_are_loaded_without_blocking() -> None:
    script = """$user = 5; $tag = '<script src="x" id="product-recs-recs-js"></script>';
        $result = apply_filters('script_loader_tag', $tag, 'product-recs-recs');"""

    tag = in_shop(script, nowhere(), settings="array('consent' => 1)")

    assert tag.startswith('<script async data-customer-id="c_')
    assert ' data-consent="required" src="x"' in tag
