"""A real shop whose plugin was installed and connected by the screens, and what tests need in it."""

import secrets
from collections.abc import Iterator
from typing import Final

import pytest

from tests.plugin.real.shop import (
    FOLDER,
    URL,
    StoredCopy,
    delete_user,
    drain,
    in_real_shop,
    make_user,
)
from tests.plugin.real.visitor import WITHOUT_PLUGIN, Visitor
from tests.plugin.shop import address, php_value
from tests.support.service import Service

PASSWORD: Final = secrets.token_urlsafe(16)
_PRODUCTS: Final[list[int]] = []  # of the tests
PROBE: Final = """$term = wp_insert_term('Probe ' . uniqid(), 'product_cat');
    $p = new WC_Product_Simple(); $p->set_name('Probe'); $p->set_regular_price(9);
    $p->set_manage_stock(true); $p->set_stock_quantity(999); $p->set_virtual(true);
    $p->set_category_ids(array($term['term_id'])); $p->set_status('publish');
    $result = $p->save();"""
VARIABLE: Final = """$p = new WC_Product_Variable(); $p->set_name('Probe'); $p->set_status('publish');
    $size = new WC_Product_Attribute(); $size->set_name('Size'); $size->set_options(array('S', 'M'));
    $size->set_variation(true); $p->set_attributes(array($size)); $result = $p->save();
    foreach (array('S' => 20, 'M' => 30) as $name => $price) {
        $v = new WC_Product_Variation(); $v->set_parent_id($result); $v->set_virtual(true);
        $v->set_attributes(array('size' => $name)); $v->set_regular_price($price); $v->save();
    }"""
# A card that is always declined; no mail; and a cookie with which the plugin is not there.
MUST_USE: Final = f"""<?php // Written by the tests of a plugin.
add_filter('pre_wp_mail', '__return_false');
add_filter('option_active_plugins', fn($all) => empty($_COOKIE['{WITHOUT_PLUGIN}']) ? $all
    : array_values(array_filter($all, fn($one) => 0 !== strpos($one, 'service-recommender/'))));
add_action('plugins_loaded', function () {{
    if (!class_exists('WC_Payment_Gateway')) {{ return; }}
    class Test_Declined_Card extends WC_Payment_Gateway {{
        public function __construct() {{ $this->id = 'test_declined'; $this->title = 'Card'; $this->enabled = 'yes'; }}
        public function is_available() {{ return true; }}
        public function process_payment($id) {{ throw new Exception('Your card was declined.'); }}
    }}
    add_filter('woocommerce_payment_gateways', fn($all) => array_merge($all, array('Test_Declined_Card')));
}}, 20);
"""


@pytest.fixture(scope="package", autouse=True)
def _real_shop() -> Iterator[None]:
    """Switch on what the tests pay with; put the shop's settings back afterwards."""
    if not (URL and FOLDER):
        pytest.skip("set WOO_SHOP_URL and WOO_SHOP_DIR to a shop that you made for tests")
    before = in_real_shop(
        f"""wp_mkdir_p(WPMU_PLUGIN_DIR); $result = array();
        file_put_contents(WPMU_PLUGIN_DIR . '/test-plugin.php', {php_value(MUST_USE)});
        foreach (array('woocommerce_cod_settings', 'woocommerce_bacs_settings') as $name) {{
            $result[$name] = get_option($name, array());
            update_option($name, array_merge((array) $result[$name], array('enabled' => 'yes', 'enable_for_virtual' => 'yes', 'enable_for_methods' => array())));
        }}"""
    )
    yield
    in_real_shop(
        f"""unlink(WPMU_PLUGIN_DIR . '/test-plugin.php');
        foreach ({php_value(before)} as $name => $value) {{ update_option($name, $value); }}
        foreach ({php_value(_PRODUCTS)} as $id) {{
            foreach (get_children(array('post_parent' => $id, 'post_type' => 'product_variation')) as $one) {{ wp_delete_post($one->ID, true); }}
            wp_delete_post($id, true); }}
        foreach (get_terms(array('taxonomy' => 'product_cat', 'hide_empty' => false)) as $term) {{
            if (!$term->count && preg_match('/^(Probe|Top|New name|Below)/', $term->name)) {{ wp_delete_term($term->term_id, 'product_cat'); }} }}"""
    )


@pytest.fixture(scope="package")
def admin(_real_shop: None) -> Iterator[Visitor]:
    user = make_user("administrator", PASSWORD)
    yield Visitor(f"probe-{user}", PASSWORD)
    delete_user(user)


@pytest.fixture(scope="package")
def copy(service: Service, admin: Visitor) -> StoredCopy:
    """Install and connect the plugin by the screens; wait for the first sync."""
    merchant = service.register()
    admin.remove_plugin()
    install_and_connect(admin, StoredCopy(service, merchant))
    return StoredCopy(service, merchant)


def install_and_connect(admin: Visitor, copy: StoredCopy) -> None:
    """Upload the service's archive in wp-admin, activate it, fill in the form, and wait."""
    archive = copy.merchant.client.ask("GET", "/plugin/service-recommender.zip").body
    admin.install_plugin(archive)
    account = copy.merchant.account
    page = admin.connect_plugin(address(copy.service), account.publishable, account.secret)
    assert "Connected to the store" in page
    assert account.domain in page
    drain()


@pytest.fixture(scope="package")
def customer(_real_shop: None) -> Iterator[int]:
    user = make_user("customer", PASSWORD)
    yield user
    delete_user(user)


@pytest.fixture(scope="package")
def password() -> str:
    return PASSWORD


@pytest.fixture
def probe(copy: StoredCopy) -> int:  # noqa: ARG001 -- of a connected shop.
    return add_product(PROBE)


@pytest.fixture
def variable(copy: StoredCopy) -> int:  # noqa: ARG001 -- of a connected shop.
    return add_product(VARIABLE)


def add_product(script: str) -> int:
    """Create a product, and wait until it was sent."""
    product: int = in_real_shop(script)
    _PRODUCTS.append(product)
    assert drain(f"$result = get_post_meta({product}, ProductRecs\\Items::HASH, true);")
    return product


@pytest.fixture(scope="package")
def checkout_page(_real_shop: None) -> Iterator[str]:
    page = in_real_shop(
        "$result = wp_insert_post(array('post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Test checkout', 'post_content' => '[woocommerce_checkout]'));"
    )
    yield f"/?page_id={page}"
    in_real_shop(f"wp_delete_post({page}, true);")


@pytest.fixture
def taxes() -> Iterator[None]:
    """Prices are entered without tax; of the class `probe` they are shown with 19 %."""
    before = in_real_shop(
        """$result = array(); foreach (array('calc_taxes' => 'yes', 'prices_include_tax' => 'no', 'tax_display_shop' => 'incl',
            'tax_based_on' => 'shipping', 'default_customer_address' => 'base') as $name => $value) {
            $result[$name] = get_option("woocommerce_$name"); update_option("woocommerce_$name", $value); }
        WC_Tax::create_tax_class('Probe');
        $result['rate'] = WC_Tax::_insert_tax_rate(array('tax_rate_country' => WC()->countries->get_base_country(),
            'tax_rate' => '19', 'tax_rate_name' => 'Probe', 'tax_rate_priority' => 1, 'tax_rate_class' => 'probe'));"""
    )
    yield
    in_real_shop(
        f"""$before = {php_value(before)}; WC_Tax::delete_tax_class_by('slug', 'probe'); WC_Tax::_delete_tax_rate($before['rate']); unset($before['rate']);
        foreach ($before as $name => $value) {{ update_option("woocommerce_$name", $value); }}"""
    )
