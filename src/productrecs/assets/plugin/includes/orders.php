<?php
/**
 * Orders: the service is told once of each paid order, and of what is left of it after a change.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** Remembers the shopper with an order, and notes orders that are paid or change in the outbox. */
class Orders {

	const SESSION  = '_pr_sid';
	const SHOPPER  = '_pr_shopper';
	const STATUSES = array( 'processing', 'completed' );
	const GONE     = array( 'cancelled', 'refunded', 'failed', 'trash' ); // nothing is left of these.
	const SCAN     = 'product_recs_scan';
	const SCANNED  = 'product_recs_scanned';
	const PAGE     = 200; // orders of one step of a scan.

	/**
	 * Whether this request created the customer's account.
	 *
	 * @var bool
	 */
	private static $is_new_customer = false;

	/**
	 * Orders that this request paid, and others that it changed, as keys.
	 *
	 * @var array
	 */
	private static $paid = array();

	/**
	 * Orders that this request changed; they matter if the service knows them.
	 *
	 * @var array
	 */
	private static $changed = array();

	/** Listen to checkouts and to every change of an order. */
	public static function hooks() {
		add_action(
			'woocommerce_created_customer',
			guarded(
				function () {
					self::$is_new_customer = true;
				}
			)
		);
		add_action(
			'woocommerce_checkout_order_processed',
			guarded(
				function ( $id, $posted = array(), $order = null ) {
					self::remember( $order ? $order : wc_get_order( $id ) );
				}
			),
			10,
			3
		);
		add_action( 'woocommerce_store_api_checkout_order_processed', guarded( array( __CLASS__, 'remember' ) ) );
		foreach ( array_merge( self::STATUSES, array( 'on-hold' ) ) as $status ) {
			add_action( 'woocommerce_order_status_' . $status, guarded( array( __CLASS__, 'paid' ) ) );
		}
		add_action(
			'woocommerce_new_order',
			guarded(
				function ( $id, $order = null ) {
					if ( is_object( $order ) && self::is_sellable( $order ) ) { // Born paid: no status changes.
						self::paid( $id );
					}
				}
			),
			10,
			2
		);
		// Trash and delete in wp-admin fire no hook of WooCommerce where orders are posts.
		foreach ( array( 'woocommerce_update_order', 'woocommerce_order_refunded', 'woocommerce_trash_order', 'woocommerce_untrash_order', 'woocommerce_delete_order', 'trashed_post', 'untrashed_post', 'before_delete_post' ) as $hook ) {
			add_action( $hook, guarded( array( __CLASS__, 'changed' ) ) );
		}
		add_action(
			'woocommerce_refund_deleted',
			guarded(
				function ( $refund, $order_id ) {
					self::changed( $order_id );
				}
			),
			10,
			2
		);
		add_filter(
			'woocommerce_pre_delete_order_refund',
			guarded(
				function ( $check, $refund ) {
					self::changed( $refund->get_parent_id() );
					return $check;
				}
			),
			10,
			2
		);
		add_action( 'shutdown', guarded( array( __CLASS__, 'flush' ) ), 5 );
		add_action( 'product_recs_orders', guarded( array( 'ProductRecs\Order_Delivery', 'job' ) ) );
		add_action( 'product_recs_scan', guarded( array( __CLASS__, 'scan_job' ) ) );
	}

	/**
	 * Store the shopper's session and id with the order: later hooks run without the cookie.
	 *
	 * @param \WC_Order $order The order, perhaps unpaid.
	 */
	public static function remember( $order ) {
		if ( ! $order || ! Settings::connected() ) {
			return;
		}
		$session = Shopper::session();
		$user    = get_current_user_id();
		// An account made in this checkout was not the identity of any widget before it.
		$may = Shopper::has_consent();
		if ( self::$is_new_customer || ! $may ) {
			$user = 0;
		}
		if ( '' !== $session && $may ) {
			$order->update_meta_data( self::SESSION, $session );
		}
		$order->update_meta_data( self::SHOPPER, (string) $user );
		$order->save_meta_data();
	}

	/**
	 * Note that an order is paid.
	 *
	 * @param int $id The order.
	 */
	public static function paid( $id ) {
		self::$paid[ (int) $id ] = true;
	}

	/**
	 * Note that an order changed, or a post that may be one.
	 *
	 * @param int $id The order.
	 */
	public static function changed( $id ) {
		self::$changed[ (int) $id ] = true;
	}

	/** Put the orders of this request into the outbox, each once. */
	public static function flush() {
		$paid          = array_keys( self::$paid );
		$changed       = array_keys( array_diff_key( self::$changed, self::$paid ) );
		self::$paid    = array();
		self::$changed = array();
		if ( ! Settings::connected() || ! ( $paid || $changed ) ) {
			return;
		}
		Outbox::add( $paid );
		if ( Outbox::add_known( $changed ) + count( $paid ) > 0 ) {
			Queue::wake( 'product_recs_orders' );
		}
	}

	/**
	 * Look for orders that changed since the last look, or in the last 30 days: each night, and
	 * after the plugin was off. However many there are, the look goes through all of them.
	 */
	public static function begin_scan() {
		$last = (int) get_option( self::SCANNED, 0 );
		update_option(
			self::SCAN,
			array(
				'since' => $last ? max( (int) Settings::get( 'connected' ), min( $last - DAY_IN_SECONDS, time() - 30 * DAY_IN_SECONDS ) ) : (int) Settings::get( 'connected' ),
				'begun' => time(),
				'page'  => 1,
			),
			false
		);
		Queue::wake( 'product_recs_scan' );
	}

	/** Job: note the next page of orders that may have changed, then go on. */
	public static function scan_job() {
		$scan = get_option( self::SCAN );
		if ( ! is_array( $scan ) || ! Queue::lock( 'product_recs_scan' ) ) {
			return;
		}
		try {
			$orders = wc_get_orders(
				array(
					'type'          => 'shop_order',
					'status'        => array_merge( array_keys( wc_get_order_statuses() ), array( 'trash' ) ),
					'date_modified' => '>=' . $scan['since'],
					'limit'         => self::PAGE,
					'page'          => $scan['page'],
					'orderby'       => 'ID',
					'order'         => 'ASC',
				)
			);
			$ids    = array();
			foreach ( $orders as $order ) {
				$ids[ $order->get_id() ] = self::is_sellable( $order );
			}
			if ( $ids ) {
				Outbox::add( array_keys( array_filter( $ids ) ) );
				Outbox::add_range( min( array_keys( $ids ) ), max( array_keys( $ids ) ) ); // Deleted ones are in no list.
			}
			++$scan['page'];
			if ( count( $orders ) < self::PAGE ) {
				delete_option( self::SCAN );
				update_option( self::SCANNED, $scan['begun'], false );
			} else {
				update_option( self::SCAN, $scan, false );
				Queue::add( 'product_recs_scan' );
			}
			Queue::wake( 'product_recs_orders' );
		} finally {
			Queue::unlock( 'product_recs_scan' );
		}
	}

	/**
	 * Return what the service is told of an order: what is left of it.
	 *
	 * @param \WC_Order $order The order.
	 * @return array
	 */
	public static function body( $order ) {
		$lines = array();
		foreach ( self::left( $order ) as $id => $left ) {
			$lines[] = array(
				'item_id'  => (string) $id,
				'quantity' => $left[0],
				'price'    => round( $left[1] / $left[0], 4 ),
				'total'    => $left[1],
			);
		}
		$session = (string) $order->get_meta( self::SESSION );
		$created = $order->get_date_created();
		$body    = array(
			'order_id'   => (string) $order->get_id(),
			'user_id'    => self::customer( $order ),
			'session_id' => preg_match( '/^s_[A-Za-z0-9]{1,253}$/', $session ) ? $session : null,
			'currency'   => (string) $order->get_currency(),
			'ordered_at' => gmdate( 'Y-m-d\TH:i:s\Z', $created ? $created->getTimestamp() : time() ),
			'items'      => $lines,
		);
		/**
		 * Filters what the service is told of an order.
		 *
		 * @param array     $body  The order.
		 * @param \WC_Order $order WooCommerce's order.
		 */
		return (array) apply_filters( 'product_recs_order', $body, $order );
	}

	/**
	 * Return the customer's id as the widgets know it; null for a guest, and without a known consent:
	 * orders made in wp-admin, renewals and past orders have none where consent is asked for.
	 *
	 * @param \WC_Order $order The order.
	 * @return string|null
	 */
	public static function customer( $order ) {
		$told = $order->get_meta( self::SHOPPER );
		$id   = '' !== (string) $told ? (int) $told : ( Shopper::needs_consent() ? 0 : (int) $order->get_customer_id() );
		return $id > 0 ? Customers::id( $id ) : null;
	}

	/**
	 * Return whether the order's state is one to send.
	 *
	 * @param \WC_Order $order The order.
	 * @return bool
	 */
	public static function is_sellable( $order ) {
		return $order->has_status( self::STATUSES ) || ( Settings::get( 'on_hold' ) && $order->has_status( 'on-hold' ) );
	}

	/**
	 * Return units and total that are left of each product of an order; of a variation, the parent.
	 *
	 * @param \WC_Order $order The order.
	 * @return array
	 */
	private static function left( $order ) {
		$left  = array();
		$share = 1 - self::share_without_lines( $order );
		foreach ( $order->has_status( self::GONE ) ? array() : $order->get_items() as $line_id => $line ) {
			$id    = (string) $line->get_product_id();
			$units = (float) $line->get_quantity() - abs( (float) $order->get_qty_refunded_for_item( $line_id ) );
			if ( '' === $id || '0' === $id || $units <= 0 ) {
				continue;
			}
			$total       = max( 0.0, (float) $line->get_total() - abs( (float) $order->get_total_refunded_for_item( $line_id ) ) + self::tax( $order, $line_id, $line ) );
			$before      = isset( $left[ $id ] ) ? $left[ $id ] : array( 0, 0.0 );
			$left[ $id ] = array( $before[0] + max( 1, (int) round( $units ) ), round( $before[1] + $total * $share, 4 ) );
		}
		return $left;
	}

	/**
	 * Return the tax that is left of a line; nothing where order prices are sent without.
	 *
	 * @param \WC_Order              $order   The order.
	 * @param int                    $line_id The line's id.
	 * @param \WC_Order_Item_Product $line    The line.
	 * @return float
	 */
	private static function tax( $order, $line_id, $line ) {
		if ( ! Settings::get( 'order_tax' ) || 'incl' !== get_option( 'woocommerce_tax_display_shop' ) ) {
			return 0.0;
		}
		$tax   = (float) $line->get_total_tax();
		$taxes = (array) $line->get_taxes();
		foreach ( array_keys( isset( $taxes['total'] ) ? (array) $taxes['total'] : array() ) as $rate ) {
			$tax -= abs( (float) $order->get_tax_refunded_for_item( $line_id, $rate ) );
		}
		return $tax;
	}

	/**
	 * Return the share of an order that was refunded as a mere amount, of no line.
	 *
	 * @param \WC_Order $order The order.
	 * @return float From 0 to 1.
	 */
	private static function share_without_lines( $order ) {
		$amount = 0.0;
		foreach ( $order->get_refunds() as $refund ) {
			$amount += abs( (float) $refund->get_amount() );
			foreach ( $refund->get_items( array( 'line_item', 'shipping', 'fee' ) ) as $line ) {
				$amount -= abs( (float) $line->get_total() + (float) $line->get_total_tax() );
			}
		}
		$total = (float) $order->get_total();
		return $amount < 0.01 || $total <= 0 ? 0.0 : min( 1.0, $amount / $total );
	}
}
