<?php
/**
 * Guard: an error of this plugin never reaches the shop.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/**
 * Return a callback that calls $callback and logs whatever it throws.
 *
 * A filter gets its first argument back when the callback throws. Only Throwable will do: an
 * Error in a checkout hook is HTTP 500, an Exception refuses the order.
 *
 * @param callable $callback What to call.
 * @return callable
 */
function guarded( $callback ) {
	return function ( ...$arguments ) use ( $callback ) {
		try {
			return $callback( ...$arguments );
		} catch ( \Throwable $error ) {
			record_error( 'plugin', $error->getMessage() . ' (' . basename( $error->getFile() ) . ':' . $error->getLine() . ')' );
			return isset( $arguments[0] ) ? $arguments[0] : null;
		}
	};
}

/**
 * Store one of the last 20 errors, and write it to WooCommerce's log.
 *
 * @param string $what What was done.
 * @param string $why  What went wrong, for the merchant.
 */
function record_error( $what, $why ) {
	try {
		$errors = get_option( 'product_recs_errors', array() );
		$errors = is_array( $errors ) ? $errors : array();
		foreach ( $errors as $place => $error ) { // The list holds different ones.
			if ( array( $error['what'], $error['why'] ) === array( $what, substr( $why, 0, 500 ) ) ) {
				unset( $errors[ $place ] );
			}
		}
		array_unshift(
			$errors,
			array(
				'time' => time(),
				'what' => $what,
				'why'  => substr( $why, 0, 500 ),
			)
		);
		update_option( 'product_recs_errors', array_slice( $errors, 0, 20 ), false );
		if ( function_exists( 'wc_get_logger' ) ) {
			wc_get_logger()->warning( $what . ': ' . $why, array( 'source' => 'service-recommender' ) );
		}
	} catch ( \Throwable $error ) {
		return; // A log that cannot be written must not break the shop.
	}
}
