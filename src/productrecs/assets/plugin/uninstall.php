<?php
/**
 * Uninstall: removes every option, table, job and mark of the plugin, on every site of a network.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

// phpcs:disable WordPress.DB -- it removes rows by the beginning of their names, once.

/** Remove what this plugin stored on the current site. */
function uninstall_site() {
	global $wpdb;
	$settings = get_option( 'product_recs_settings', array() );
	if ( ! empty( $settings['meta'] ) && function_exists( 'wc_get_orders' ) ) {
		uninstall_orders();
	}
	foreach ( array( 'push', 'orders', 'scan', 'full', 'history', 'currency', 'customers', 'nightly', 'send_order', 'refund' ) as $job ) { // The last two are of version 1.0.
		wp_unschedule_hook( 'product_recs_' . $job );
	}
	delete_post_meta_by_key( '_product_recs_hash' );
	foreach ( array( 'product_recs_', '_transient_product_recs_', '_transient_timeout_product_recs_' ) as $beginning ) {
		foreach ( $wpdb->get_col( $wpdb->prepare( "SELECT option_name FROM {$wpdb->options} WHERE option_name LIKE %s", $wpdb->esc_like( $beginning ) . '%' ) ) as $name ) {
			delete_option( $name );
		}
	}
	$wpdb->query( "DROP TABLE IF EXISTS {$wpdb->prefix}product_recs_orders" );
	// Action Scheduler cancels jobs and keeps their rows.
	$actions = $wpdb->prefix . 'actionscheduler_actions';
	if ( $wpdb->get_var( $wpdb->prepare( 'SHOW TABLES LIKE %s', $wpdb->esc_like( $actions ) ) ) === $actions ) {
		$wpdb->query( "DELETE FROM {$wpdb->prefix}actionscheduler_logs WHERE action_id IN (SELECT action_id FROM $actions WHERE hook LIKE 'product\\_recs\\_%')" );
		$wpdb->query( "DELETE FROM $actions WHERE hook LIKE 'product\\_recs\\_%'" );
		$wpdb->query( "DELETE FROM {$wpdb->prefix}actionscheduler_groups WHERE slug = 'product-recs'" );
	}
}

/** Remove the marks of orders, through WooCommerce only: orders may be stored in tables of their own. */
function uninstall_orders() {
	foreach ( array( '_pr_synced', '_pr_shopper' ) as $key ) { // Unpaid orders have the second alone.
		do {
			$orders = wc_get_orders(
				array(
					'type'         => 'shop_order',
					'limit'        => 200,
					'status'       => array_merge( array_keys( wc_get_order_statuses() ), array( 'checkout-draft', 'trash' ) ),
					'meta_key'     => $key, // phpcs:ignore WordPress.DB.SlowDBQuery -- once, when the plugin goes.
					'meta_compare' => 'EXISTS',
				)
			);
			foreach ( $orders as $order ) {
				foreach ( array_merge( array( $order ), $order->get_refunds() ) as $part ) {
					foreach ( array( '_pr_sid', '_pr_shopper', '_pr_synced', '_pr_returned' ) as $meta ) {
						$part->delete_meta_data( $meta );
					}
					$part->save_meta_data();
				}
			}
		} while ( $orders );
	}
}

if ( is_multisite() ) {
	$product_recs_sites = get_sites(
		array(
			'fields' => 'ids',
			'number' => 0,
		)
	);
	foreach ( $product_recs_sites as $product_recs_site ) {
		switch_to_blog( $product_recs_site );
		uninstall_site();
		restore_current_blog();
	}
} else {
	uninstall_site();
}
if ( function_exists( 'wc_get_logger' ) && method_exists( wc_get_logger(), 'clear' ) ) {
	wc_get_logger()->clear( 'service-recommender' );
}
