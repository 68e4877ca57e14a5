<?php
/**
 * Order lines: what is left of each product of an order, and what the service must be told of it.
 *
 * Part of the core that the shop systems' archives share: nothing here is WordPress's own.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || defined( 'ABSPATH' ) || exit;

/** Units and total by product. */
class Order_Lines {

	/**
	 * Return units and total of each product of an order.
	 *
	 * @param array $body The order.
	 * @return array
	 */
	public static function sums( array $body ) {
		$sums = array();
		foreach ( isset( $body['items'] ) ? (array) $body['items'] : array() as $line ) {
			$id          = (string) $line['item_id'];
			$before      = isset( $sums[ $id ] ) ? $sums[ $id ] : array( 0, 0.0 );
			$sums[ $id ] = array( $before[0] + (int) $line['quantity'], round( $before[1] + (float) $line['total'], 4 ) );
		}
		return $sums;
	}

	/**
	 * Return what is left of the products of which something else was told.
	 *
	 * @param array $told   Units and totals that were told.
	 * @param array $left   Those that are left.
	 * @param bool  $is_all Whether to return those of which the same was told, too.
	 * @return array
	 */
	public static function changes( array $told, array $left, $is_all ) {
		$changes = array();
		foreach ( $left + $told as $id => $sum ) {
			$now    = isset( $left[ $id ] ) ? $left[ $id ] : array( 0, 0 );
			$before = isset( $told[ $id ] ) ? $told[ $id ] : array( 0, 0 );
			if ( ( $is_all && $now[0] ) || (int) $now[0] !== (int) $before[0] || abs( $now[1] - $before[1] ) > 0.01 ) {
				$changes[ $id ] = $now;
			}
		}
		return $changes;
	}

	/**
	 * Return the file of changed lines. A row takes the place of the line; no units remove it.
	 *
	 * @param array $rows Order, product, customer, time, units, unit price and currency each.
	 * @return string
	 */
	public static function csv( array $rows ) {
		$csv = "order_id,item_id,customer_id,timestamp,quantity,price,currency\n";
		foreach ( $rows as $row ) {
			$csv .= implode( ',', $row ) . "\n";
		}
		return $csv;
	}

	/**
	 * Return the rows of a file for the changed products of an order.
	 *
	 * @param array $body    What the service is told of the order.
	 * @param array $changes Units and totals by product.
	 * @return array
	 */
	public static function rows( array $body, array $changes ) {
		$rows = array();
		foreach ( $changes as $id => $sum ) {
			$price  = $sum[0] ? number_format( $sum[1] / $sum[0], 6, '.', '' ) : '';
			$rows[] = array( $body['order_id'], $id, isset( $body['user_id'] ) ? $body['user_id'] : '', isset( $body['ordered_at'] ) ? $body['ordered_at'] : '', $sum[0], $price, isset( $body['currency'] ) ? $body['currency'] : '' );
		}
		return $rows;
	}
}
