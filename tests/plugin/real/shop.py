"""Real shop: the WooCommerce that the environment names, and what the service stored of it.

`WOO_SHOP_DIR` is the folder of a shop, `WOO_SHOP_URL` its address. The tests remove the plugin
from it, with its settings, and install it again: use a shop that you made for tests.
"""

import json
import os
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from tests.api import stored
from tests.plugin.shop import run_php
from tests.support.service import Merchant, Service

URL: Final = os.environ.get("WOO_SHOP_URL", "").rstrip("/")
FOLDER: Final = os.environ.get("WOO_SHOP_DIR", "")
PAIRS: Final = int(os.environ.get("WOO_CHECKOUTS", "20"))
_HOST: Final = URL.partition("//")[2]
# Action Scheduler also runs in the shop's own requests: wait for what they have claimed.
DRAIN: Final = """
    for ($i = 0; $i < 60; $i++) {
        ActionScheduler_QueueRunner::instance()->run('test');
        $left = array_filter(as_get_scheduled_actions(array('group' => 'product-recs',
            'status' => array('pending', 'in-progress'), 'per_page' => 100)),
            fn($one) => $one->get_hook() !== 'product_recs_nightly'
                && (!$one->get_schedule()->get_date() || $one->get_schedule()->get_date()->getTimestamp() <= time()));
        if (!$left) { break; }
        usleep(200000);
    }"""


def in_real_shop(script: str) -> Any:
    """Run a script in the shop, as an administrator; return its `$result`. It sends no mail."""
    said = run_php(
        f"""ini_set('display_errors', '0'); $_SERVER['HTTP_HOST'] = '{_HOST}';
        require '{FOLDER}/wp-load.php'; $result = null; add_filter('pre_wp_mail', '__return_false');
        wp_set_current_user((int) get_users(array('role' => 'administrator', 'number' => 1, 'fields' => 'ID'))[0]);
        {script} echo '<<<' . json_encode($result) . '>>>';""",
        options=(),  # with php.ini: the shop needs the extension of its database
    )
    return json.loads(said.rpartition("<<<")[2].partition(">>>")[0])


def drain(script: str = "") -> Any:
    """Run the shop's queue until nothing that is due waits; then a script, for its `$result`."""
    left, result = in_real_shop(
        f"{DRAIN} $left = count($left); {script} $result = array($left, $result);"
    )
    assert left == 0
    return result


@dataclass(frozen=True)
class StoredCopy:
    """What the service's database has of the shop."""

    service: Service
    merchant: Merchant

    def items(self) -> dict[str, dict[str, Any]]:
        """Return each product, by id."""
        exported = self.service.run("export", self.merchant.account.domain, "items", "-")
        rows = [json.loads(line) for line in exported.splitlines()]
        return {row["id"]: row for row in rows}

    def rows(self, order_id: int) -> list[dict[str, Any]]:
        """Return the rows of an order's lines that count."""
        lines = stored.line_rows(self.service, self.merchant)
        return [row for row in lines if row["order_id"] == str(order_id)]

    def orders_of(self, product: int) -> list[str]:
        """Return the orders that hold a product."""
        lines = stored.line_rows(self.service, self.merchant)
        return [row["order_id"] for row in lines if row["item"] == str(product)]

    def lines(self, order_id: int) -> list[tuple[str, str, int, float]]:
        """Return item, customer, units and unit price of an order's lines, sorted."""
        return sorted(
            (row["item"], _customer_of(row), row["quantity"], row["price"])
            for row in self.rows(order_id)
        )

    def sums(self, order_id: int) -> dict[str, tuple[int, float]]:
        """Return units and revenue of each product of an order."""
        units, revenue = Counter[str](), Counter[str]()
        for row in self.rows(order_id):
            units[row["item"]] += row["quantity"]
            revenue[row["item"]] += row["total"]
        return {item: (units[item], round(revenue[item], 2)) for item in units}

    def is_credited(self, order_id: int) -> bool:
        """Return whether an order is credited to a recommendation."""
        domain = self.merchant.account.domain
        report = json.loads(self.service.run("report", domain, "credited-sales", "--json"))
        return str(order_id) in {row["order_id"] for row in report["rows"]}

    def agrees(self, product: int, wanted: dict[str, Any] | None) -> None:
        """Compare a stored product with the shop's, and with what a change must give."""
        item = drain(f"$result = {ITEM % product};")
        pushed = self.items().get(str(product))
        if wanted is None:
            assert pushed is None
            return
        assert pushed is not None
        assert pushed == item
        for name, value in wanted.items():
            assert value(pushed[name]) if callable(value) else pushed[name] == value


def _customer_of(row: dict[str, Any]) -> str:
    return "" if row["shopper"] == row["session"] else row["shopper"] or ""


# The export leaves out what is not there.
ITEM: Final = (
    "array_filter((array) current(ProductRecs\\Items::all(array(%d))), "
    "fn($value) => $value !== null && $value !== '' && (array) $value !== array())"
)


def customer_id(user: int) -> str:
    """Return what the page of a customer calls them."""
    return str(in_real_shop(f"$result = ProductRecs\\Customers::id({user});"))


def make_user(role: str, password: str) -> int:
    """Create a user named `probe-<id>`."""
    user: int = in_real_shop(
        f"""$name = uniqid('probe'); $result = wp_insert_user(array('user_login' => $name,
            'user_pass' => '{password}', 'user_email' => "$name@example.com", 'role' => '{role}'));
        global $wpdb; $wpdb->update($wpdb->users, array('user_login' => "probe-$result"), array('ID' => $result));"""
    )
    return user


def delete_user(user: int) -> None:
    """Delete a user of the tests."""
    in_real_shop(
        f"require_once ABSPATH . 'wp-admin/includes/user.php'; wp_delete_user({user});"
    )


def rows_of_plugin() -> dict[str, int]:
    """Return how many rows of the shop's database are the plugin's, where there are any."""
    counts: dict[str, int] = in_real_shop(_ROWS)
    return {table: count for table, count in counts.items() if count}


_ROWS: Final = r"""global $wpdb; $result = array('tables' => count($wpdb->get_col("SHOW TABLES LIKE '%product\_recs%'")));
    foreach (array('options' => 'option_name', 'postmeta' => 'meta_key', 'usermeta' => 'meta_key', 'wc_orders_meta' => 'meta_key',
        'actionscheduler_actions' => 'hook', 'actionscheduler_groups' => 'slug') as $table => $name) {
        if ($wpdb->get_var("SHOW TABLES LIKE '{$wpdb->prefix}$table'")) {
            $result[$table] = (int) $wpdb->get_var("SELECT COUNT(*) FROM {$wpdb->prefix}$table WHERE $name LIKE '%product\_recs%' OR $name LIKE '\_pr\_%' OR $name = 'product-recs'");
        }
    }"""
