"""Does the plugin come and go by the screens of wp-admin, and leave nothing behind?"""

from tests.plugin.real.checkout import CHECKOUTS
from tests.plugin.real.conftest import install_and_connect
from tests.plugin.real.shop import ITEM, StoredCopy, drain, in_real_shop, rows_of_plugin
from tests.plugin.real.visitor import Visitor


def test_a_plugin_deleted_by_the_screens_leaves_nothing_and_comes_back(
    copy: StoredCopy, admin: Visitor, checkout_page: str, probe: int
) -> None:
    buyer = Visitor(session="s_abc123")
    order = CHECKOUTS["classic"].buy(buyer, checkout_page, probe, "cod")
    assert order is not None
    drain()
    path = "/wp-admin/admin.php?page=product-recs"
    fields = admin.form(path, "product_recs_save")
    admin.post("/wp-admin/admin-post.php", fields | {"meta": "1"})
    before = rows_of_plugin()

    admin.remove_plugin()

    assert {"tables", "options", "postmeta"} <= before.keys()
    assert rows_of_plugin() == {}

    install_and_connect(admin, copy)

    assert copy.lines(order) == [(str(probe), "", 2, 9.0)]
    assert copy.items()[str(probe)] == drain(f"$result = {ITEM % probe};")


def test_a_wrong_key_is_refused_on_the_screen_and_the_connection_stays(
    copy: StoredCopy, admin: Visitor
) -> None:
    account = copy.merchant.account
    url = in_real_shop("$result = ProductRecs\\Settings::get('url');")

    page = admin.connect_plugin(url, account.publishable, "sk_wrong")

    assert "does not know this key" in page
    assert f"Connected to the store {account.domain}" in page
