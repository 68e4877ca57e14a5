<?php
/**
 * Start: loads the module within OpenCart.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'DIR_EXTENSION' ) || exit;

if ( ! defined( 'PRODUCT_RECS_SHOP' ) ) {
	define( 'PRODUCT_RECS_SHOP', 'opencart' );
	require_once __DIR__ . '/load.php';
	require_once __DIR__ . '/opencart-shop.php';
}
