<?php
/**
 * Load: what the archives of OpenCart and PrestaShop share. Their own file defines PRODUCT_RECS_SHOP first.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || exit;

const VERSION = '1.0.0';

/**
 * Return a text for the merchant: these archives have English only.
 *
 * @param string $text The text.
 * @return string
 */
function __( $text ) {
	return $text;
}

foreach ( array( 'reply', 'client', 'identity', 'order-lines', 'shop', 'http', 'settings', 'work-list', 'order-sender', 'catalog-sync', 'worker', 'connection', 'page', 'screen' ) as $product_recs_part ) {
	require_once __DIR__ . '/' . $product_recs_part . '.php';
}
unset( $product_recs_part );
