<?php
/**
 * Order history: orders from before the connection, uploaded as CSV.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** Uploads past orders, page by page. */
class History {

	const STATE = 'product_recs_history';
	const PAGE  = 250; // orders of one upload.

	/** Listen to the job. */
	public static function hooks() {
		add_action( 'product_recs_history', guarded( array( __CLASS__, 'job' ) ), 10, 2 );
	}

	/** Begin from the first order; what the service has already counts once. */
	public static function begin() {
		$found = self::orders( 1, 1, true );
		update_option(
			self::STATE,
			array(
				'state' => 'running',
				'page'  => 1,
				'done'  => 0,
				'total' => (int) $found->total,
				'until' => time(),
			),
			false
		);
		Queue::add( 'product_recs_history', array( 1 ) );
	}

	/**
	 * Job: upload a page of orders, then the next.
	 *
	 * @param int $page    Which page.
	 * @param int $attempt Attempts made so far.
	 */
	public static function job( $page, $attempt = 0 ) {
		$state = self::state();
		if ( 'running' !== $state['state'] || (int) $page !== $state['page'] ) {
			return;
		}
		self::step();
		$now = self::state();
		if ( 'running' !== $now['state'] ) {
			return;
		}
		if ( $now['page'] === $state['page'] ) {
			Queue::retry( 'product_recs_history', array( (int) $page ), (int) $attempt );
		} else {
			Queue::add( 'product_recs_history', array( $now['page'] ) );
		}
	}

	/** Upload the next page. The job and the open settings screen both call it. */
	public static function step() {
		$state = self::state();
		if ( 'running' !== $state['state'] ) {
			return;
		}
		$orders = self::orders( $state['page'], self::PAGE );
		$csv    = '';
		foreach ( $orders as $order ) {
			$csv .= self::rows_of( $order, '' === $csv );
		}
		if ( '' !== $csv ) {
			$reply = Api::upload( $csv );
			if ( ! $reply->ok() || ! $reply->json ) {
				record_error( 'order history', $reply->remedy() );
				if ( ! $reply->retryable() ) {
					$state['state'] = 'failed';
					update_option( self::STATE, $state, false );
				}
				return;
			}
		}
		foreach ( $orders as $order ) {
			if ( ! $order->get_meta( Orders::SYNCED ) ) {
				$order->update_meta_data( Orders::SYNCED, (string) time() );
				$order->save_meta_data();
			}
		}
		$state['done'] += count( $orders );
		$state['page'] += 1;
		if ( count( $orders ) < self::PAGE ) {
			$state['state'] = 'done';
		}
		update_option( self::STATE, $state, false );
	}

	/**
	 * Return where the upload is.
	 *
	 * @return array
	 */
	public static function state() {
		$state = get_option( self::STATE, array() );
		return array_merge(
			array(
				'state' => 'none',
				'page'  => 1,
				'done'  => 0,
				'total' => 0,
				'until' => 0,
			),
			is_array( $state ) ? $state : array()
		);
	}

	/**
	 * Return rows of one order as CSV.
	 *
	 * @param string      $order_id  The order.
	 * @param string|null $customer  The customer's id.
	 * @param int         $time      When it was placed.
	 * @param array       $rows      Of item, quantity and price.
	 * @param bool        $is_first  Whether the header comes first.
	 * @return string
	 */
	public static function csv( $order_id, $customer, $time, array $rows, $is_first ) {
		$csv = $is_first ? "order_id,item_id,customer_id,timestamp,quantity,price\n" : '';
		foreach ( $rows as $row ) {
			$csv .= implode( ',', array( $order_id, $row[0], (string) $customer, gmdate( 'Y-m-d\TH:i:s\Z', $time ), $row[1], number_format( $row[2], 4, '.', '' ) ) ) . "\n";
		}
		return $csv;
	}

	/**
	 * Return the lines of a past order, one for each product, less what was refunded.
	 *
	 * @param \WC_Order $order    The order.
	 * @param bool      $is_first Whether the header comes first.
	 * @return string
	 */
	private static function rows_of( $order, $is_first ) {
		$sums = array();
		foreach ( $order->get_items() as $line_id => $line ) {
			$id       = (string) $line->get_product_id();
			$ordered  = (float) $line->get_quantity();
			$quantity = (int) round( $ordered - abs( (float) $order->get_qty_refunded_for_item( $line_id ) ) );
			if ( '0' === $id || $quantity <= 0 || $ordered <= 0 ) {
				continue;
			}
			$sums[ $id ]     = isset( $sums[ $id ] ) ? $sums[ $id ] : array( 0, 0.0 );
			$sums[ $id ][0] += $quantity;
			$sums[ $id ][1] += (float) $line->get_total() * $quantity / $ordered;
		}
		$rows = array();
		foreach ( $sums as $id => $sum ) {
			$rows[] = array( (string) $id, $sum[0], $sum[1] / $sum[0] );
		}
		$created = $order->get_date_created();
		return self::csv( (string) $order->get_id(), Orders::customer( $order ), $created ? $created->getTimestamp() : time(), $rows, $is_first );
	}

	/**
	 * Return a page of paid orders, oldest first.
	 *
	 * @param int  $page     Which page.
	 * @param int  $limit    Orders of a page.
	 * @param bool $paginate Whether to count all.
	 * @return mixed
	 */
	private static function orders( $page, $limit, $paginate = false ) {
		return wc_get_orders(
			array(
				'type'     => 'shop_order',
				'status'   => Orders::STATUSES,
				'limit'    => $limit,
				'page'     => $page,
				'orderby'  => 'ID',
				'order'    => 'ASC',
				'paginate' => $paginate,
			)
		);
	}
}
