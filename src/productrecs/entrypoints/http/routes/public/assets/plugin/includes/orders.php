<?php
/**
 * Orders: each is sent once, in a job, after it was paid.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** Remembers the shopper with an order, and sends orders and refunds. */
class Orders {

	const SESSION  = '_pr_sid';
	const SHOPPER  = '_pr_shopper';
	const SYNCED   = '_pr_synced';
	const RETURNED = '_pr_returned';
	const MOST     = 100; // lines of an order.
	const STATUSES = array( 'processing', 'completed' );

	/**
	 * Whether this request created the customer's account.
	 *
	 * @var bool
	 */
	private static $is_new_customer = false;

	/** Listen to checkouts and to the states of orders. */
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
			add_action( 'woocommerce_order_status_' . $status, guarded( array( __CLASS__, 'enqueue' ) ) );
		}
		foreach ( array( 'cancelled', 'refunded' ) as $status ) {
			add_action( 'woocommerce_order_status_' . $status, guarded( array( __CLASS__, 'cancelled' ) ) );
		}
		add_action(
			'woocommerce_order_refunded',
			guarded(
				function ( $order_id, $refund_id ) {
					if ( Settings::connected() ) {
						Queue::add( 'product_recs_refund', array( (int) $refund_id ) );
					}
				}
			),
			10,
			2
		);
		add_action( 'product_recs_send_order', guarded( array( __CLASS__, 'job' ) ), 10, 2 );
		add_action( 'product_recs_refund', guarded( array( __CLASS__, 'refund_job' ) ), 10, 2 );
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
	 * Put an order into the queue.
	 *
	 * @param int $id The order.
	 */
	public static function enqueue( $id ) {
		if ( ! Settings::connected() ) {
			return;
		}
		$order = wc_get_order( $id );
		if ( $order && ! self::is_sellable( $order ) ) {
			return;
		}
		if ( $order && ! $order->get_meta( self::SYNCED ) ) {
			Queue::add( 'product_recs_send_order', array( (int) $id ) );
		}
	}

	/**
	 * Job: send an order. Its lines are read now: with some plugins they come after the status.
	 *
	 * @param int $id      The order.
	 * @param int $attempt Attempts made so far.
	 */
	public static function job( $id, $attempt = 0 ) {
		$order = wc_get_order( $id );
		if ( ! $order || $order->get_meta( self::SYNCED ) || ! self::is_sellable( $order ) ) {
			return;
		}
		$body = self::body( $order );
		if ( ! $body['items'] ) {
			if ( $attempt < 2 ) {
				Queue::retry( 'product_recs_send_order', array( (int) $id ), (int) $attempt );
			}
			return;
		}
		$reply = Api::call( 'POST', '/v1/orders', $body );
		if ( $reply->ok() && ! empty( $reply->json['ok'] ) ) {
			$order->update_meta_data( self::SYNCED, (string) time() );
			$order->save_meta_data();
			foreach ( $order->get_refunds() as $refund ) { // Made while the order waited.
				Queue::add( 'product_recs_refund', array( (int) $refund->get_id() ) );
			}
			return;
		}
		record_error( 'order ' . $id, $reply->remedy() );
		if ( $reply->retryable() && ! Queue::retry( 'product_recs_send_order', array( (int) $id ), (int) $attempt ) ) {
			record_error( 'order ' . $id, 'gave up after a month' );
		}
	}

	/**
	 * Return what the service is told of an order.
	 *
	 * @param \WC_Order $order The order.
	 * @return array
	 */
	public static function body( $order ) {
		$lines = array();
		foreach ( $order->get_items() as $line ) {
			$id       = (string) $line->get_product_id(); // The parent's, for a variation.
			$quantity = (float) $line->get_quantity();
			if ( '' === $id || '0' === $id || $quantity <= 0 ) {
				continue;
			}
			$total   = round( (float) $line->get_total(), 4 );
			$lines[] = array(
				'item_id'  => $id,
				'quantity' => max( 1, (int) round( $quantity ) ),
				'price'    => round( $total / $quantity, 4 ),
				'total'    => $total,
			);
		}
		if ( count( $lines ) > self::MOST ) {
			record_error( 'order ' . $order->get_id(), sprintf( 'has %d lines; the %d largest are sent', count( $lines ), self::MOST ) );
			usort(
				$lines,
				function ( $one, $other ) {
					return $other['total'] <=> $one['total'];
				}
			);
			$lines = array_slice( $lines, 0, self::MOST );
		}
		$session = (string) $order->get_meta( self::SESSION );
		$body    = array(
			'order_id'   => (string) $order->get_id(),
			'user_id'    => self::customer( $order ),
			'session_id' => preg_match( '/^s_[A-Za-z0-9]{1,253}$/', $session ) ? $session : null,
			'currency'   => (string) $order->get_currency(),
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
	 * Return the customer's id as the widgets know it; null for a guest.
	 *
	 * @param \WC_Order $order The order.
	 * @return string|null
	 */
	public static function customer( $order ) {
		$told = $order->get_meta( self::SHOPPER );
		$id   = '' !== (string) $told ? (int) $told : ( Settings::get( 'consent' ) ? 0 : (int) $order->get_customer_id() );
		return $id > 0 ? Customers::id( $id ) : null;
	}

	/**
	 * Tell the service that a sent order was cancelled, or refunded without a refund's lines.
	 *
	 * @param int $id The order.
	 */
	public static function cancelled( $id ) {
		$order = wc_get_order( $id );
		if ( $order && $order->get_meta( self::SYNCED ) && ! $order->get_refunds() ) {
			Queue::add( 'product_recs_refund', array( (int) $id ) );
		}
	}

	/**
	 * Job: tell the service what came back, as negative quantities of an order of its own.
	 *
	 * @param int $id      A refund, or a cancelled order.
	 * @param int $attempt Attempts made so far.
	 */
	public static function refund_job( $id, $attempt = 0 ) {
		$back  = wc_get_order( $id );
		$order = $back && 'shop_order_refund' === $back->get_type() ? wc_get_order( $back->get_parent_id() ) : $back;
		if ( ! $order || ! $order->get_meta( self::SYNCED ) || $back->get_meta( self::RETURNED ) ) {
			return; // An order that waits queues its refunds once it is sent.
		}
		$rows = array();
		foreach ( $back->get_items() as $line ) {
			$quantity = abs( (int) $line->get_quantity() );
			if ( $quantity && $line->get_product_id() ) {
				$rows[] = array( (string) $line->get_product_id(), -$quantity, round( abs( (float) $line->get_total() ) / $quantity, 4 ) );
			}
		}
		if ( ! $rows ) {
			return; // An amount without products: there is nothing to take back from a product.
		}
		$created = $back === $order ? null : $back->get_date_created();
		$reply   = Api::upload( History::csv( $order->get_id() . '-back-' . $id, self::customer( $order ), $created ? $created->getTimestamp() : time(), $rows, true ) );
		if ( $reply->ok() && $reply->json ) {
			$back->update_meta_data( self::RETURNED, (string) time() );
			$back->save_meta_data();
			return;
		}
		record_error( 'refund ' . $id, $reply->remedy() );
		if ( $reply->retryable() ) {
			Queue::retry( 'product_recs_refund', array( (int) $id ), (int) $attempt );
		}
	}

	/** Put orders of the last week that were never sent into the queue. */
	public static function enqueue_missing() {
		$since  = max( time() - WEEK_IN_SECONDS, (int) Settings::get( 'connected' ) );
		$orders = wc_get_orders(
			array(
				'limit'        => 500,
				'status'       => self::STATUSES,
				'date_created' => '>=' . $since,
				'return'       => 'ids',
			)
		);
		array_map( array( __CLASS__, 'enqueue' ), $orders );
	}

	/**
	 * Return whether the order's state is one to send.
	 *
	 * @param \WC_Order $order The order.
	 * @return bool
	 */
	private static function is_sellable( $order ) {
		return $order->has_status( self::STATUSES ) || ( Settings::get( 'on_hold' ) && $order->has_status( 'on-hold' ) );
	}
}
