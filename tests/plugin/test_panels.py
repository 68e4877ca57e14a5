"""Do the screens of wp-admin load without waiting for the service, and then show what it says?"""

import pytest

from tests.plugin.shop import address, in_shop, nowhere
from tests.support.service import Service

ANSWER = """try { ProductRecs\\Panels::answer(); $result = 'nothing'; } catch (Sent $sent) { ob_get_level() && ob_end_clean(); $result = $sent->getMessage(); }"""
IN_ADMIN = "$in_admin = true; define('WC_VERSION', '11');"


def test_a_page_of_wp_admin_asks_the_service_nothing() -> None:
    script = """do_action('rest_api_init'); $tests = apply_filters('site_status_tests', array('direct' => array(), 'async' => array()));
        ob_start(); ProductRecs\\Panels::draw(); ProductRecs\\Panels::preview((object) array('ID' => 1)); $html = ob_get_clean();
        $result = array($tests['direct'], $tests['async']['product_recs']['test'], array_keys($routes), substr_count($html, 'pr-panel'), count($calls));"""

    result = in_shop(script, nowhere(), before=IN_ADMIN)

    assert result == [
        [],
        "/wp-json/product-recs/v1/site-health",
        ["product-recs/v1/site-health"],
        2,
        0,
    ]


def test_a_panel_shows_what_the_service_says(service: Service) -> None:
    merchant = service.register()
    script = f"$_POST = array('_ajax_nonce' => 'nonce of product_recs_panel', 'product' => '1'); {ANSWER}"

    assert "Nothing yet." in in_shop(script, address(service), merchant, before=IN_ADMIN)


@pytest.mark.parametrize(
    ("posted", "forbidden", "said"),
    [
        ("'product' => '1'", "", "nonce"),
        ("'_ajax_nonce' => 'nonce of product_recs_panel'", "manage_woocommerce", "refused"),
        ("'_ajax_nonce' => 'nonce of product_recs_panel', 'product' => '1'", "edit_post", "refused"),
    ],
    ids=["nonce", "health", "product"],
)  # fmt: skip
def test_a_panel_is_for_those_who_may_see_it(
    posted: str, forbidden: str, said: str
) -> None:
    script = f"$_POST = array({posted}); $forbidden = array('{forbidden}'); {ANSWER} $result = array($result, count($calls));"

    assert in_shop(script, nowhere(), before=IN_ADMIN) == [said, 0]


def test_site_health_waits_a_second_at_most_and_only_for_who_may_see_it() -> None:
    script = """do_action('rest_api_init'); $route = $routes['product-recs/v1/site-health']; $forbidden = array('view_site_health_checks');
        $may = $route['permission_callback'](); $status = call_user_func($route['callback'])['status'];
        $result = array($may, $status, array_column($waits, null));"""

    assert in_shop(script, nowhere(), before=IN_ADMIN) == [False, "recommended", [1]]
