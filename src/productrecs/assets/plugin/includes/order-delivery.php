<?php
/**
 * Order delivery: sends what the outbox holds, in its order.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** The job of the outbox. An order is sent once; later changes send what is left of its lines. */
class Order_Delivery {

	const SYNCED   = '_pr_synced';   // Version 1.0 marked orders and refunds that it had sent.
	const RETURNED = '_pr_returned';
	const MOST     = 100; // lines of one call.
	const BATCH    = 250; // orders of one file.
	const SECONDS  = 20;  // of one job.

	/**
	 * Job: deliver what is due. When the service does not answer, all wait: none overtakes another.
	 *
	 * @param int $attempt Attempts made so far.
	 */
	public static function job( $attempt = 0 ) {
		$is_done = self::deliver();
		if ( false === $is_done ) {
			Queue::retry( 'product_recs_orders', array(), min( 2, (int) $attempt ) ); // At most 15 minutes, for ever.
		} elseif ( $is_done && Outbox::next( 1 ) ) {
			Queue::wake( 'product_recs_orders' );
		}
	}

	/**
	 * Deliver for some seconds. The job and the open settings screen both call it.
	 *
	 * @return bool|null False when an order has to come again; null when another process delivers.
	 */
	public static function deliver() {
		if ( ! Queue::lock( 'product_recs_orders' ) ) {
			return null;
		}
		try {
			$until = microtime( true ) + self::SECONDS;
			do {
				$rows    = Outbox::next( self::BATCH );
				$is_past = $rows && (int) $rows[0]->due >= Outbox::HISTORY;
				$is_done = self::tell( $rows, $is_past, $until );
			} while ( $is_done && $rows && microtime( true ) < $until );
			return $is_done;
		} finally {
			Queue::unlock( 'product_recs_orders' );
		}
	}

	/**
	 * Tell the service of orders: new ones by calls, changes and past orders in one file.
	 *
	 * @param array $rows    Of the outbox.
	 * @param bool  $is_past Whether they are past orders, which the service is told again.
	 * @param float $until   When to stop.
	 * @return bool
	 */
	private static function tell( array $rows, $is_past, $until ) {
		$lines  = array();
		$after  = array();
		$is_all = true;
		foreach ( $rows as $row ) {
			if ( microtime( true ) >= $until || ( ! $is_past && (int) $row->due >= Outbox::HISTORY ) ) {
				break;
			}
			$order = wc_get_order( (int) $row->order_id );
			$order = $order && 'shop_order' === $order->get_type() ? $order : null;
			$body  = $order ? Orders::body( $order ) : array();
			$left  = Order_Lines::sums( $body );
			$told  = Outbox::told( $row );
			if ( null === $told && $order && ! $is_past ) {
				$told = self::first( $order, $body, $left );
				if ( false === $told ) {
					$is_all = false;
					break;
				}
				Outbox::told_first( $row, $told );
			}
			if ( null === $told && ! ( $is_past && $order && Orders::is_sellable( $order ) ) ) {
				Outbox::done( $row, null ); // Not paid, or gone before it was told.
				continue;
			}
			$change = Order_Lines::changes( (array) $told, $left, $is_past );
			if ( ! $change ) {
				Outbox::done( $row, $told );
				continue;
			}
			$after[] = array( $row, $change + (array) $told );
			$lines   = array_merge( $lines, self::rows( $row, $order, $body, $change ) );
		}
		if ( $lines && ! self::upload( $lines ) ) {
			return false;
		}
		foreach ( $after as $one ) {
			Outbox::done( $one[0], $one[1] );
		}
		return $is_all;
	}

	/**
	 * Tell the service of an order for the first time.
	 *
	 * @param \WC_Order $order The order.
	 * @param array     $body  What to tell.
	 * @param array     $left  Its units and totals.
	 * @return array|null|false What the service knows now; null: nothing; false: it did not answer.
	 */
	private static function first( $order, array $body, array $left ) {
		$created = $order->get_date_created();
		$age     = $created ? time() - $created->getTimestamp() : 0;
		if ( $order->get_meta( self::SYNCED ) || $age > 6 * DAY_IN_SECONDS ) {
			$known = self::ask( (string) $order->get_id() ); // After seven days a repeat would count twice.
			if ( null !== $known ) {
				return $known;
			}
		}
		if ( ! Orders::is_sellable( $order ) || ! $left ) {
			return null;
		}
		if ( $age > 29 * DAY_IN_SECONDS ) {
			return array(); // A file takes older ones.
		}
		if ( $age < 300 ) {
			unset( $body['ordered_at'] ); // The service's own clock knows.
		}
		usort(
			$body['items'],
			function ( $one, $other ) {
				return $other['total'] <=> $one['total'];
			}
		);
		$body['items'] = array_slice( $body['items'], 0, self::MOST ); // The others follow in a file.
		$reply         = Api::call( 'POST', '/v1/orders', $body );
		if ( 422 === $reply->status && isset( $body['ordered_at'] ) && 'ordered_at' === $reply->problem_field() ) {
			unset( $body['ordered_at'] ); // The shop's clock is ahead.
			$reply = Api::call( 'POST', '/v1/orders', $body );
		}
		if ( $reply->ok() && ! empty( $reply->json['ok'] ) ) {
			$known = empty( $reply->json['duplicate'] ) ? null : self::ask( $body['order_id'] );
			return null === $known ? Order_Lines::sums( $body ) : $known;
		}
		record_error( 'order ' . $order->get_id(), $reply->remedy() );
		return in_array( $reply->status, array( 400, 413, 415, 422 ), true ) ? null : false;
	}

	/**
	 * Ask the service what it knows of an order.
	 *
	 * @param string $order_id The order.
	 * @return array|null|false Units and totals; null: it does not know it; false: no answer.
	 */
	public static function ask( $order_id ) {
		$reply = Api::call( 'GET', '/v1/orders/' . rawurlencode( $order_id ) );
		if ( $reply->ok() && isset( $reply->json['items'] ) ) {
			return Order_Lines::sums( $reply->json );
		}
		if ( 'order_unknown' === $reply->code() ) {
			return null;
		}
		record_error( 'order ' . $order_id, $reply->remedy() );
		return false;
	}

	/**
	 * Return rows of a file for an order.
	 *
	 * @param object         $row     Of the outbox.
	 * @param \WC_Order|null $order   The order; null when it was deleted.
	 * @param array          $body    What the service is told of it.
	 * @param array          $changes Units and totals by product.
	 * @return array
	 */
	private static function rows( $row, $order, array $body, array $changes ) {
		$time = isset( $body['ordered_at'] ) ? $body['ordered_at'] : '';
		$rows = Order_Lines::rows( array( 'order_id' => $row->order_id ) + $body, $changes );
		foreach ( $changes && $order ? array_merge( array( $order ), $order->get_refunds() ) : array() as $back ) {
			// Version 1.0 told returns as orders of their own: they would count twice.
			foreach ( $back->get_meta( self::RETURNED ) ? $back->get_items() : array() as $line ) {
				$rows[] = array( $row->order_id . '-back-' . $back->get_id(), $line->get_product_id(), '', $time, 0, '', '' );
			}
		}
		return $rows;
	}

	/**
	 * Send a file of order lines. A row takes the place of the line; no units remove it.
	 *
	 * @param array $rows The rows.
	 * @return bool
	 */
	private static function upload( array $rows ) {
		$reply = Api::upload( Order_Lines::csv( $rows ) );
		if ( $reply->ok() && $reply->json ) {
			return true;
		}
		record_error( 'orders', $reply->remedy() );
		return false;
	}
}
