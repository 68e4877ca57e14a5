<?php
/**
 * Start: loads the module within PrestaShop.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( '_PS_VERSION_' ) || exit;

if ( ! defined( 'PRODUCT_RECS_SHOP' ) ) {
	define( 'PRODUCT_RECS_SHOP', 'prestashop' );
	require_once __DIR__ . '/load.php';
	require_once __DIR__ . '/prestashop-shop.php';
}
