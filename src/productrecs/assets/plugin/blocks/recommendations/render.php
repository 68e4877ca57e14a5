<?php
/**
 * Block: drawn by the server as the same element as the shortcode.
 *
 * @package ProductRecs
 */

defined( 'ABSPATH' ) || exit;

$product_recs_attributes = isset( $attributes ) && is_array( $attributes ) ? $attributes : array();
if ( empty( $product_recs_attributes['num'] ) ) {
	unset( $product_recs_attributes['num'] );
}
echo '<div ' . get_block_wrapper_attributes() . '>'; // phpcs:ignore WordPress.Security.EscapeOutput -- escaped by WordPress.
echo ProductRecs\Placements::shortcode( $product_recs_attributes ); // phpcs:ignore WordPress.Security.EscapeOutput -- escaped where it is made.
echo '</div>';
