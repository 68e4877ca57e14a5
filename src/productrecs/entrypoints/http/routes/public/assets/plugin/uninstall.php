<?php
/**
 * Uninstall: removes every option, schedule and mark of the plugin.
 *
 * @package ProductRecs
 */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

$product_recs_settings = get_option( 'product_recs_settings', array() );
$product_recs_jobs     = array( 'push', 'send_order', 'refund', 'full', 'history', 'nightly', 'currency', 'customers' );

foreach ( $product_recs_jobs as $product_recs_job ) {
	if ( function_exists( 'as_unschedule_all_actions' ) ) {
		as_unschedule_all_actions( 'product_recs_' . $product_recs_job );
	}
	wp_unschedule_hook( 'product_recs_' . $product_recs_job );
}
delete_post_meta_by_key( '_product_recs_hash' );

// Orders go through WooCommerce only: they may be stored in tables of their own.
if ( ! empty( $product_recs_settings['meta'] ) && function_exists( 'wc_get_orders' ) ) {
	foreach ( array( '_pr_synced', '_pr_shopper' ) as $product_recs_key ) { // Unpaid orders have the second alone.
		do {
			$product_recs_orders = wc_get_orders(
				array(
					'type'         => 'shop_order',
					'limit'        => 200,
					'status'       => array_merge( array_keys( wc_get_order_statuses() ), array( 'checkout-draft', 'trash' ) ),
					'meta_key'     => $product_recs_key, // phpcs:ignore WordPress.DB.SlowDBQuery -- once, when the plugin goes.
					'meta_compare' => 'EXISTS',
				)
			);
			foreach ( $product_recs_orders as $product_recs_order ) {
				foreach ( array_merge( array( $product_recs_order ), $product_recs_order->get_refunds() ) as $product_recs_part ) {
					foreach ( array( '_pr_sid', '_pr_shopper', '_pr_synced', '_pr_returned' ) as $product_recs_meta ) {
						$product_recs_part->delete_meta_data( $product_recs_meta );
					}
					$product_recs_part->save_meta_data();
				}
			}
		} while ( $product_recs_orders );
	}
}
foreach ( array( 'settings', 'secret', 'errors', 'sync', 'history', 'known', 'run', 'lock', 'last_push', 'customers' ) as $product_recs_option ) {
	delete_option( 'product_recs_' . $product_recs_option );
}
