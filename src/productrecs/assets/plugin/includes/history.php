<?php
/**
 * Order history: puts the orders from before the connection at the end of the outbox.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** Lists past orders; the delivery sends them after all others. */
class History {

	const STATE   = 'product_recs_history';
	const PAGE    = 1000; // orders of one step.
	const OVERLAP = 20;   // orders that may leave the list between two steps.

	/** Listen to the job. */
	public static function hooks() {
		add_action( 'product_recs_history', guarded( array( __CLASS__, 'job' ) ) );
		// Prices of orders are then other ones, with or without tax.
		add_action(
			'update_option_' . Settings::OPTION,
			guarded(
				function ( $before, $after ) {
					if ( ! empty( $before['connected'] ) && ! empty( $before['order_tax'] ) !== ! empty( $after['order_tax'] ) ) {
						self::begin();
					}
				}
			),
			10,
			2
		);
		add_action(
			'update_option_woocommerce_tax_display_shop',
			guarded(
				function () {
					if ( Settings::connected() && Settings::get( 'order_tax' ) ) {
						self::begin();
					}
				}
			)
		);
	}

	/** Begin from the first order; what the service has already counts once. */
	public static function begin() {
		update_option(
			self::STATE,
			array(
				'listed' => 0,
				'total'  => 0,
			),
			false
		);
		Queue::wake( 'product_recs_history' );
	}

	/** Job: list the next orders, then go on. */
	public static function job() {
		if ( ! self::is_listing() || ! Queue::lock( 'product_recs_history' ) ) {
			return;
		}
		try {
			$state = (array) get_option( self::STATE, array() );
			$ids   = wc_get_orders(
				array(
					'type'    => 'shop_order',
					'status'  => Orders::STATUSES,
					'limit'   => self::PAGE,
					'offset'  => max( 0, $state['listed'] - self::OVERLAP ),
					'orderby' => 'ID',
					'order'   => 'ASC',
					'return'  => 'ids',
				)
			);
			Outbox::add( array_map( 'intval', $ids ), Outbox::HISTORY );
			$state['listed'] = max( 0, $state['listed'] - self::OVERLAP ) + count( $ids );
			$state['total']  = $state['listed'];
			if ( count( $ids ) < self::PAGE ) {
				unset( $state['listed'] );
			}
			update_option( self::STATE, $state, false );
			Queue::wake( isset( $state['listed'] ) ? 'product_recs_history' : 'product_recs_orders' );
		} finally {
			Queue::unlock( 'product_recs_history' );
		}
	}

	/**
	 * Return whether past orders still have to be listed.
	 *
	 * @return bool
	 */
	public static function is_listing() {
		return array_key_exists( 'listed', (array) get_option( self::STATE, array() ) );
	}

	/**
	 * Return how far the past orders are.
	 *
	 * @return array
	 */
	public static function state() {
		$stored = get_option( self::STATE );
		if ( ! is_array( $stored ) ) {
			$stored = array( 'total' => 0 );
		}
		$left = Outbox::count( true );
		return array(
			'state' => $left || self::is_listing() ? 'running' : 'done',
			'done'  => max( 0, $stored['total'] - $left ),
			'total' => $stored['total'],
		);
	}
}
