<?php
/**
 * Items: what the service is told of a product.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** Reads products through WooCommerce's own classes. */
class Items {

	const HASH = '_product_recs_hash';

	/**
	 * Return what the service is told of a product; null when shoppers cannot see it.
	 *
	 * @param int $id A product's id, never a variation's.
	 * @return array|null
	 */
	public static function of( $id ) {
		$product = wc_get_product( $id );
		if ( ! $product || $product->is_type( 'variation' ) || 'publish' !== $product->get_status() || 'hidden' === $product->get_catalog_visibility() ) {
			return null;
		}
		if ( '' !== (string) get_post_field( 'post_password', $id ) ) {
			return null;
		}
		$description = $product->get_description();
		$text        = wp_strip_all_tags( strip_shortcodes( '' !== $description ? $description : $product->get_short_description() ) );
		$image       = $product->get_image_id() ? wp_get_attachment_image_url( $product->get_image_id(), 'woocommerce_single' ) : '';
		$sku         = (string) $product->get_sku();
		$item        = array(
			'id'           => (string) $id,
			'sku'          => '' === $sku ? null : $sku,
			'title'        => self::cut( html_entity_decode( wp_strip_all_tags( $product->get_name() ), ENT_QUOTES, 'UTF-8' ), 1000 ),
			'product_url'  => (string) $product->get_permalink(),
			'image_url'    => $image ? (string) $image : null,
			'price'        => self::price( $product ),
			'availability' => self::availability( $product ),
			'stock_qty'    => self::stock( $product ),
			'categories'   => array(),
			'category_ids' => array(),
			'description'  => self::cut( html_entity_decode( $text, ENT_QUOTES, 'UTF-8' ), 20000 ),
		);
		foreach ( array_slice( $product->get_category_ids(), 0, 100 ) as $term_id ) {
			$path = array();
			foreach ( array_reverse( array_merge( array( $term_id ), get_ancestors( $term_id, 'product_cat', 'taxonomy' ) ) ) as $level ) {
				$term = get_term( $level, 'product_cat' );
				if ( $term && ! is_wp_error( $term ) ) {
					$path[]                 = html_entity_decode( $term->name, ENT_QUOTES, 'UTF-8' );
					$item['categories'][]   = implode( ' > ', $path );
					$item['category_ids'][] = (string) $level;
				}
			}
		}
		$item['categories']   = array_slice( array_values( array_unique( $item['categories'] ) ), 0, 200 );
		$item['category_ids'] = array_slice( array_values( array_unique( $item['category_ids'] ) ), 0, 200 );
		/**
		 * Filters what the service is told of a product; null keeps the product out.
		 *
		 * @param array       $item    The item.
		 * @param \WC_Product $product The product.
		 */
		$item = apply_filters( 'product_recs_item', $item, $product );
		return is_array( $item ) ? $item : null;
	}

	/**
	 * Return what identifies this content of an item.
	 *
	 * @param array $item The item.
	 * @return string
	 */
	public static function hash( array $item ) {
		return md5( (string) wp_json_encode( $item ) );
	}

	/**
	 * Return the price that the shop shows now: the lowest of a product with several.
	 *
	 * @param \WC_Product $product The product.
	 * @return float|null
	 */
	private static function price( $product ) {
		if ( $product->is_type( 'variable' ) ) {
			$price = $product->get_variation_price( 'min', true );
		} elseif ( $product->is_type( 'grouped' ) ) {
			$prices = array();
			foreach ( $product->get_children() as $id ) {
				$child = wc_get_product( $id );
				if ( $child && '' !== (string) $child->get_price() ) {
					$prices[] = (float) wc_get_price_to_display( $child );
				}
			}
			$price = $prices ? min( $prices ) : '';
		} else {
			$price = '' === (string) $product->get_price() ? '' : wc_get_price_to_display( $product );
		}
		return is_numeric( $price ) ? round( (float) $price, 4 ) : null;
	}

	/**
	 * Return the availability by the service's names.
	 *
	 * @param \WC_Product $product The product.
	 * @return string
	 */
	private static function availability( $product ) {
		$status = $product->get_stock_status();
		if ( 'onbackorder' === $status ) {
			return 'backorder';
		}
		return 'outofstock' === $status ? 'out_of_stock' : 'in_stock';
	}

	/**
	 * Return the units in stock; null where the shop does not count them.
	 *
	 * @param \WC_Product $product The product.
	 * @return int|null
	 */
	private static function stock( $product ) {
		if ( $product->managing_stock() ) {
			return max( 0, (int) $product->get_stock_quantity() );
		}
		if ( ! $product->is_type( 'variable' ) ) {
			return null;
		}
		$sum = null;
		foreach ( $product->get_children() as $id ) {
			$variation = wc_get_product( $id );
			if ( ! $variation || true !== $variation->get_manage_stock() ) {
				return null;
			}
			$sum = (int) $sum + max( 0, (int) $variation->get_stock_quantity() );
		}
		return $sum;
	}

	/**
	 * Return the beginning of a text, cut between characters.
	 *
	 * @param string $text   The text.
	 * @param int    $length Characters.
	 * @return string
	 */
	private static function cut( $text, $length ) {
		$text = str_replace( "\0", '', $text );
		return function_exists( 'mb_substr' ) ? mb_substr( $text, 0, $length ) : substr( $text, 0, $length );
	}
}
