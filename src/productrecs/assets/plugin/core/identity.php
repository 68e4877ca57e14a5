<?php
/**
 * Identity: ids of customers that nobody can guess, and the signature that proves them.
 *
 * Part of the core that the shop systems' archives share: nothing here is WordPress's own.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || defined( 'ABSPATH' ) || exit;

/** What the service calls a customer. Shop systems number customers 1, 2, 3, so the number is not told. */
class Identity {

	const DAY = 86400;

	/**
	 * Return what the service calls a customer; empty for a visitor who is not signed in.
	 *
	 * @param int    $customer The customer's number in the shop.
	 * @param string $secret   The shop's own secret for ids. Another one would be other customers.
	 * @return string
	 */
	public static function id( $customer, $secret ) {
		return $customer > 0 ? 'c_' . substr( hash_hmac( 'sha256', 'customer:' . (int) $customer, $secret ), 0, 32 ) : '';
	}

	/**
	 * Return the signature of an id, as the service checks it; it is valid for one to two days.
	 *
	 * It changes once a day, so a page stays the same for its customer.
	 *
	 * @param string $id     What the service calls the customer.
	 * @param string $secret The secret key.
	 * @return string
	 */
	public static function sign( $id, $secret ) {
		if ( '' === $id || '' === $secret ) {
			return '';
		}
		$expires = ( (int) ( time() / self::DAY ) + 2 ) * self::DAY;
		return $expires . '.' . hash_hmac( 'sha256', "identity:$expires:$id", hash( 'sha256', $secret ) );
	}
}
