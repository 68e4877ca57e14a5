"""Does the service have every product as the real shop shows it, whoever changes it and how?"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from tests.plugin.real.conftest import add_product
from tests.plugin.real.shop import ITEM, StoredCopy, drain, in_real_shop
from tests.plugin.real.visitor import Visitor

# A global and local attributes, seen, chosen by or hidden; a brand and a GTIN where the shop
# has them (WooCommerce 9.6 and 9.2); a variation on sale.
ATTRIBUTED: Final = """$taxonomy = 'pa_probe_colour';
    wc_create_attribute(array('name' => 'Colour', 'slug' => 'probe_colour'));
    register_taxonomy($taxonomy, 'product');
    $terms = array(); foreach (array('Blue', 'Red & white') as $name) { $terms[] = wp_insert_term($name, $taxonomy)['term_id']; }
    function attribute($name, $options, $seen, $chosen, $id = 0) {
        $one = new WC_Product_Attribute(); $one->set_id($id); $one->set_name($name); $one->set_options($options);
        $one->set_visible($seen); $one->set_variation($chosen); return $one;
    }
    $p = new WC_Product_Variable(); $p->set_name('Probe'); $p->set_status('publish');
    $p->set_attributes(array(
        attribute($taxonomy, $terms, true, false, wc_attribute_taxonomy_id_by_name($taxonomy)),
        attribute('Size', array('S', 'M'), false, true), attribute('Material', array('Wool'), true, false),
        attribute('Fit: wide, or not', array('Slim &amp; long'), true, false), attribute('Supplier', array('X'), false, false)));
    if (method_exists($p, 'set_global_unique_id')) { $p->set_global_unique_id('4006-381333931'); }
    $result = $p->save();
    if (taxonomy_exists('product_brand')) { wp_set_object_terms($result, 'Probe & Co', 'product_brand'); }
    foreach (array('S' => array(20, 15), 'M' => array(30, '')) as $name => $price) {
        $v = new WC_Product_Variation(); $v->set_parent_id($result); $v->set_virtual(true); $v->set_attributes(array('size' => $name));
        $v->set_regular_price($price[0]); $v->set_sale_price($price[1]); $v->save();
    }"""
# A change by PHP, as WP-CLI, cron and other plugins make it; then what the service must store.
BY_CODE: Final[dict[str, tuple[str, dict[str, Any] | None]]] = {
    "save": ("$p->set_regular_price(77); $p->save(); $p->save();", {"price": 77.0}),
    "stock": ("wc_update_product_stock($p, 5);", {"stock_qty": 5}),
    "sold out": ("wc_update_product_stock($p, 0);", {"availability": "out_of_stock"}),
    "post update": (
        "wp_update_post(array('ID' => $id, 'post_title' => 'Renamed'));",
        {"title": "Renamed"},
    ),
    "sale begins": (
        """$p->set_sale_price(4); $p->set_date_on_sale_from(time() + 3600); $p->save();
        update_post_meta($id, '_sale_price_dates_from', time() - 60);
        wc_delete_product_transients($id); do_action('woocommerce_scheduled_sales');""",
        {"price": 4.0},
    ),
    "import": (
        """$file = sys_get_temp_dir() . '/probe' . $id . '.csv';
        file_put_contents($file, "ID,Name,Regular price\\n$id,Imported,55\\n");
        require_once WC_ABSPATH . 'includes/import/class-wc-product-csv-importer.php';
        (new WC_Product_CSV_Importer($file, array('parse' => true, 'update_existing' => true,
            'mapping' => array('ID' => 'id', 'Name' => 'name', 'Regular price' => 'regular_price'))))->import();
        unlink($file);""",
        {"title": "Imported", "price": 55.0},
    ),
    "category renamed": (
        "wp_update_term($p->get_category_ids()[0], 'product_cat', array('name' => 'New name'));",
        {"categories": ["New name"]},
    ),
    "category nested": (
        """$top = wp_insert_term('Top ' . $id, 'product_cat');
        wp_update_term($p->get_category_ids()[0], 'product_cat', array('parent' => $top['term_id'], 'name' => 'Below'));""",
        {"categories": lambda found: found[1] == f"{found[0]} > Below"},
    ),
    "picture": (
        """$picture = wp_insert_attachment(array('post_mime_type' => 'image/png', 'post_title' => 'x',
            'post_status' => 'inherit', 'guid' => home_url('/x.png')), 'x.png');
        set_post_thumbnail($id, $picture);""",
        {"image_url": lambda found: found.endswith("x.png")},
    ),
    "scheduled": (
        """wp_update_post(array('ID' => $id, 'post_status' => 'future', 'edit_date' => true,
            'post_date' => '2099-01-01 00:00:00', 'post_date_gmt' => '2099-01-01 00:00:00'));""",
        None,
    ),
    "published on schedule": (
        """wp_update_post(array('ID' => $id, 'post_status' => 'future', 'edit_date' => true,
            'post_date' => '2099-01-01 00:00:00', 'post_date_gmt' => '2099-01-01 00:00:00'));
        ProductRecs\\Product_Changes::flush(); wp_publish_post($id);""",
        {"price": 9.0},
    ),
    "private": ("wp_update_post(array('ID' => $id, 'post_status' => 'private'));", None),
    "hidden": ("$p->set_catalog_visibility('hidden'); $p->save();", None),
    "password": ("wp_update_post(array('ID' => $id, 'post_password' => 'x'));", None),
    "trash": ("wp_trash_post($id);", None),
    "untrash": (
        "wp_trash_post($id); ProductRecs\\Product_Changes::flush(); wp_untrash_post($id); wp_publish_post($id);",
        {"price": 9.0},
    ),
    "delete": ("wp_delete_post($id, true);", None),
    "product deleted": ("$p->delete(true);", None),
}


@pytest.fixture
def attributed(copy: StoredCopy) -> Iterator[int]:  # noqa: ARG001 -- of a connected shop.
    yield add_product(ATTRIBUTED)
    in_real_shop(
        """wc_delete_attribute(wc_attribute_taxonomy_id_by_name('pa_probe_colour'));
        foreach (get_terms(array('taxonomy' => 'product_brand', 'hide_empty' => false)) as $one) {
            if (0 === strpos($one->name ?? '', 'Probe')) { wp_delete_term($one->term_id, 'product_brand'); } }"""
    )


def test_every_product_is_stored_as_the_shop_has_it(copy: StoredCopy) -> None:
    shops = drain(
        f"""$result = array(); foreach (wc_get_products(array('limit' => -1, 'status' => 'publish', 'return' => 'ids')) as $id) {{
            $item = {ITEM.replace("%d", "$id")}; if ($item) {{ $result[$id] = $item; }} }}"""
    )

    assert len(shops) > 1
    assert copy.items() == shops


@pytest.mark.parametrize("name", BY_CODE)
def test_a_change_by_code_reaches_the_service(
    copy: StoredCopy, probe: int, name: str
) -> None:
    change, wanted = BY_CODE[name]

    in_real_shop(f"$id = {probe}; $p = wc_get_product($id); {change}")

    copy.agrees(probe, wanted)


@pytest.mark.parametrize(
    ("change", "price"),
    [
        ("$one->set_regular_price(5); $one->save();", 5.0),
        ("wp_delete_post($one->get_id(), true);", 30.0),
        ("$one->set_status('private'); $one->save();", 30.0),
    ],
    ids=["price", "delete", "disable"],
)
def test_a_change_of_a_variation_reaches_its_product(
    copy: StoredCopy, variable: int, change: str, price: float
) -> None:
    in_real_shop(
        f"$one = wc_get_product(wc_get_product({variable})->get_children()[0]); {change}"
    )

    copy.agrees(variable, {"price": price})


def test_attributes_are_stored_as_shoppers_see_them(
    copy: StoredCopy, attributed: int
) -> None:
    has_gtin, has_brand = in_real_shop(
        "$result = array(method_exists('WC_Product', 'get_global_unique_id'), taxonomy_exists('product_brand'));"
    )
    wanted = {
        "color": ["Blue", "Red & white"],
        "size": ["S", "M"],
        "material": ["Wool"],
        "attributes": {"Fit wide or not": ["Slim & long"]},
        "price": 15.0,
        "list_price": 20.0,
    }
    wanted |= {"gtin": "4006381333931"} if has_gtin else {}
    wanted |= {"brand": "Probe & Co"} if has_brand else {}

    copy.agrees(attributed, wanted)

    in_real_shop(
        """wp_update_term(get_term_by('name', 'Blue', 'pa_probe_colour')->term_id, 'pa_probe_colour', array('name' => 'Navy'));
        if (taxonomy_exists('product_brand')) { wp_update_term(get_term_by('name', 'Probe & Co', 'product_brand')->term_id, 'product_brand', array('name' => 'Probe Ltd')); }"""
    )
    copy.agrees(
        attributed,
        {"color": ["Navy", "Red & white"]} | ({"brand": "Probe Ltd"} if has_brand else {}),
    )

    in_real_shop(
        f"""wp_delete_term(get_term_by('name', 'Navy', 'pa_probe_colour')->term_id, 'pa_probe_colour');
        wp_set_object_terms({attributed}, array(), 'product_brand');"""
    )
    copy.agrees(attributed, {"color": ["Red & white"]})
    assert "brand" not in copy.items()[str(attributed)]


def _edit(admin: Visitor, product: int) -> None:
    path = f"/wp-admin/post.php?post={product}&action=edit"
    fields = admin.form(path, "post")
    changed = {"post_title": "Edited", "_regular_price": "66", "save": "Update"}
    admin.post("/wp-admin/post.php", fields | changed)


def _quick_edit(admin: Visitor, product: int) -> None:
    page = admin.get("/wp-admin/edit.php?post_type=product")
    nonces = {
        name: re.findall(rf'name="{name}" value="(\w+)"', page)[0]
        for name in ("_inline_edit", "woocommerce_quick_edit_nonce")
    }
    fields = {
        "action": "inline-save",
        "post_type": "product",
        "post_ID": str(product),
        "post_view": "list",
        "screen": "edit-product",
        "post_title": "Edited",
        "post_name": f"probe-{product}",
        "_status": "publish",
        "woocommerce_quick_edit": "1",
        "_regular_price": "66",
        "_visibility": "visible",
        "_stock_status": "instock",
    }
    admin.post("/wp-admin/admin-ajax.php", fields | nonces)


def _bulk_edit(admin: Visitor, product: int) -> None:
    fields = admin.form("/wp-admin/edit.php?post_type=product", "posts-filter")
    fields = {name: value for name, value in fields.items() if name in _BULK}
    fields |= {"action": "edit", "bulk_edit": "Update", "post[]": str(product)}
    fields |= {"woocommerce_bulk_edit": "1", "change_regular_price": "1"}
    fields |= {"_regular_price": "66", "post_type": "product", "_status": "-1"}
    page = admin.get("/wp-admin/edit.php?post_type=product")
    nonce = re.findall(r'name="woocommerce_quick_edit_nonce" value="(\w+)"', page)[0]
    fields["woocommerce_quick_edit_nonce"] = nonce
    admin.get("/wp-admin/edit.php?" + "&".join(f"{k}={v}" for k, v in fields.items()))


_BULK: Final = ("_wpnonce", "post_status")


def _rest(admin: Visitor, product: int) -> None:
    body = {"name": "Edited", "regular_price": "66"}
    admin.rest("PUT", f"/wc/v3/products/{product}", body)


def _rest_batch(admin: Visitor, product: int) -> None:
    body = {"update": [{"id": product, "regular_price": "66"}]}
    admin.rest("POST", "/wc/v3/products/batch", body)


@pytest.mark.parametrize(
    "edit",
    [_edit, _quick_edit, _bulk_edit, _rest, _rest_batch],
    ids=lambda one: one.__name__,
)
def test_an_edit_over_http_reaches_the_service(
    copy: StoredCopy, admin: Visitor, probe: int, edit: Callable[[Visitor, int], None]
) -> None:
    edit(admin, probe)

    copy.agrees(probe, {"price": 66.0})


def test_trash_restore_and_delete_in_wp_admin_reach_the_service(
    copy: StoredCopy, admin: Visitor, probe: int
) -> None:
    def follow(action: str, status: str) -> None:
        page = f"/wp-admin/edit.php?post_type=product&post_status={status}"
        admin.follow(page, rf"post\.php\?post={probe}&amp;action={action}")

    follow("trash", "publish")
    copy.agrees(probe, None)
    follow("untrash", "trash")
    in_real_shop(f"wp_publish_post({probe});")  # WordPress restores as a draft
    copy.agrees(probe, {"price": 9.0})
    follow("trash", "publish")
    follow("delete", "trash")
    copy.agrees(probe, None)


def test_a_deletion_by_rest_reaches_the_service(
    copy: StoredCopy, admin: Visitor, probe: int
) -> None:
    admin.rest("DELETE", f"/wc/v3/products/{probe}&force=true")

    copy.agrees(probe, None)


@pytest.mark.usefixtures("taxes")
@pytest.mark.parametrize("who", ["guest", "abroad", "exempt"])
def test_a_price_is_that_of_the_page_whoever_runs_the_queue(
    copy: StoredCopy, customer: int, probe: int, who: str
) -> None:
    page = in_real_shop(
        f"""if ('{who}' !== 'guest') {{ wp_set_current_user({customer}); WC()->customer = new WC_Customer({customer});
            WC()->customer->set_shipping_country('US'); WC()->customer->set_billing_country('US'); }}
        if ('{who}' === 'exempt') {{ WC()->customer->set_is_vat_exempt(true); }}
        $p = wc_get_product({probe}); $p->set_tax_class('probe'); $p->save(); ProductRecs\\Sync::push(array({probe})); $result = get_permalink({probe});"""
    )

    assert copy.items()[str(probe)]["price"] == 10.71
    assert re.search(r"\b10[.,]71\b", Visitor().get(page))
