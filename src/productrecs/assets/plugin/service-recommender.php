<?php
/**
 * Plugin Name:          ProductRecs for WooCommerce
 * Description:          Recommendations, search and looks from your own ProductRecs service: products, orders and widgets connect in one step.
 * Version:              1.1.0
 * Requires at least:    6.2
 * Tested up to:         7.1
 * Requires PHP:         7.4
 * Requires Plugins:     woocommerce
 * WC requires at least: 7.9
 * WC tested up to:      11.0
 * Author:               ProductRecs
 * License:              GPL-2.0-or-later
 * License URI:          https://www.gnu.org/licenses/gpl-2.0.html
 * Text Domain:          service-recommender
 * Domain Path:          /languages
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

const VERSION = '1.1.0';
const FILE    = __FILE__;

require_once __DIR__ . '/includes/guard.php';
spl_autoload_register( // A shopper's page reads only the files that it needs.
	function ( $name ) {
		if ( 0 !== strpos( $name, __NAMESPACE__ . '\\' ) ) {
			return;
		}
		$file = strtolower( str_replace( '_', '-', substr( $name, strlen( __NAMESPACE__ ) + 1 ) ) ) . '.php';
		foreach ( array( '/includes/', '/core/' ) as $folder ) {
			if ( is_readable( __DIR__ . $folder . $file ) ) {
				require_once __DIR__ . $folder . $file;
				return;
			}
		}
	}
);

add_action(
	'before_woocommerce_init',
	function () {
		if ( class_exists( '\Automattic\WooCommerce\Utilities\FeaturesUtil' ) ) {
			\Automattic\WooCommerce\Utilities\FeaturesUtil::declare_compatibility( 'custom_order_tables', FILE, true );
			\Automattic\WooCommerce\Utilities\FeaturesUtil::declare_compatibility( 'cart_checkout_blocks', FILE, true );
		}
	}
);

add_action( 'plugins_loaded', guarded( 'ProductRecs\start' ) );
register_activation_hook( __FILE__, 'ProductRecs\resume' );
register_deactivation_hook( __FILE__, 'ProductRecs\stop' );

/** Add every hook, once WooCommerce is there. */
function start() {
	if ( ! class_exists( 'WooCommerce' ) ) {
		return;
	}
	add_action(
		'init',
		function () {
			load_plugin_textdomain( 'service-recommender', false, dirname( plugin_basename( FILE ) ) . '/languages' );
		}
	);
	add_action( 'init', guarded( array( '\\ProductRecs\\Settings', 'upgrade' ) ) );
	if ( wp_doing_cron() || ( is_admin() && ! wp_doing_ajax() ) ) {
		add_action( 'init', guarded( array( 'ProductRecs\\Queue', 'watch' ) ), 20 );
	}
	Product_Changes::hooks();
	Sync::hooks();
	Orders::hooks();
	History::hooks();
	Customers::hooks();
	Shopper::hooks();
	Placements::hooks();
	if ( isset( $_SERVER['REQUEST_URI'] ) && '/.well-known/ucp' === strtok( sanitize_text_field( wp_unslash( $_SERVER['REQUEST_URI'] ) ), '?' ) ) {
		Assistants::hooks();
	}
	if ( is_admin() ) {
		Admin::hooks();
		Panels::hooks();
	}
	Health::hooks();
}

/** Activation: what changed meanwhile is looked for, once the plugin runs. */
function resume() {
	update_option( 'product_recs_resume', 1, false );
}

/** Deactivation: nothing stays scheduled. What is stored stays, for the next activation. */
function stop() {
	Queue::clear();
}
