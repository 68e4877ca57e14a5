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

	const HASH  = '_product_recs_hash';
	const NAMES = array( // of attributes that are fields of an item.
		'brand'        => 'brand',
		'vendor'       => 'brand',
		'manufacturer' => 'brand',
		'color'        => 'color',
		'colour'       => 'color',
		'colors'       => 'color',
		'colours'      => 'color',
		'size'         => 'size',
		'sizes'        => 'size',
		'material'     => 'material',
		'materials'    => 'material',
		'gtin'         => 'gtin',
		'ean'          => 'gtin',
		'upc'          => 'gtin',
		'isbn'         => 'gtin',
		'barcode'      => 'gtin',
	);

	/**
	 * Return what the service is told of products, as a shopper at the shop's own place sees them.
	 *
	 * Prices depend on who asks: on their country, their role and whether they pay tax. The job may
	 * run in the request of anybody.
	 *
	 * @param array $ids Ids of products, never of variations.
	 * @return array By id; null for those that shoppers cannot see.
	 */
	public static function all( array $ids ) {
		$user     = get_current_user_id();
		$customer = WC()->customer;
		$base     = function () {
			return 'base';
		};
		wp_set_current_user( 0 );
		WC()->customer = null; // As in WP-Cron: taxes are then those of the shop's place, if they are based on it.
		add_filter( 'pre_option_woocommerce_tax_based_on', $base );
		try {
			$items = array();
			foreach ( $ids as $id ) {
				$items[ $id ] = self::of( $id );
			}
			return $items;
		} finally {
			remove_filter( 'pre_option_woocommerce_tax_based_on', $base );
			WC()->customer = $customer;
			wp_set_current_user( $user );
		}
	}

	/**
	 * Return what the service is told of a product; null when shoppers cannot see it.
	 *
	 * @param int $id A product's id, never a variation's.
	 * @return array|null
	 */
	private static function of( $id ) {
		$product = wc_get_product( $id );
		if ( ! $product || $product->is_type( 'variation' ) || 'publish' !== $product->get_status() || 'hidden' === $product->get_catalog_visibility() ) {
			return null;
		}
		if ( '' !== (string) get_post_field( 'post_password', $id ) ) {
			return null;
		}
		$description = $product->get_description();
		$text        = Plain_Text::of( strip_shortcodes( '' !== $description ? $description : $product->get_short_description() ) );
		$image       = $product->get_image_id() ? wp_get_attachment_image_url( $product->get_image_id(), 'woocommerce_single' ) : '';
		$sku         = (string) $product->get_sku();
		$item        = array(
			'id'           => (string) $id,
			'sku'          => '' === $sku ? null : $sku,
			'title'        => self::cut( Plain_Text::line( $product->get_name() ), 1000 ),
			'product_url'  => (string) $product->get_permalink(),
			'image_url'    => $image ? (string) $image : null,
			'price'        => self::price( $product ),
			'list_price'   => self::list_price( $product ),
			'availability' => self::availability( $product ),
			'stock_qty'    => self::stock( $product ),
			'categories'   => array(),
			'category_ids' => array(),
			'description'  => self::cut( $text, 20000 ),
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
		$item                += self::planned_price( $product ) + self::attributes( $product );
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
		return VERSION . ' ' . md5( (string) wp_json_encode( $item ) ); // Another release may send more.
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
			foreach ( self::shown_children( $product ) as $child ) {
				if ( '' !== (string) $child->get_price() ) {
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
	 * Return the products that the page of a grouped product lists, or the variations of a variable one.
	 *
	 * @param \WC_Product $product The grouped or variable product.
	 * @return array
	 */
	private static function shown_children( $product ) {
		return array_filter(
			array_map( 'wc_get_product', $product->get_children() ),
			function ( $child ) {
				return $child && 'publish' === $child->get_status() && ! $child->is_type( 'grouped' );
			}
		);
	}

	/**
	 * Return the price before a reduction; null when the product is not on sale.
	 *
	 * @param \WC_Product $product The product.
	 * @return float|null
	 */
	private static function list_price( $product ) {
		if ( $product->is_type( 'grouped' ) || ! $product->is_on_sale() ) {
			return null;
		}
		if ( $product->is_type( 'variable' ) ) {
			$prices  = $product->get_variation_prices( true ); // Sorted by price: the first one's is shown.
			$regular = isset( $prices['regular_price'][ key( $prices['price'] ) ] ) ? $prices['regular_price'][ key( $prices['price'] ) ] : '';
		} else {
			$regular = $product->get_regular_price();
			$regular = '' === (string) $regular ? '' : wc_get_price_to_display( $product, array( 'price' => $regular ) );
		}
		$price = self::price( $product );
		return is_numeric( $regular ) && null !== $price && (float) $regular > $price ? round( (float) $regular, 4 ) : null;
	}

	/**
	 * Return the sale price that is the lowest on its days, which are ahead or last still, and these days.
	 *
	 * @param \WC_Product $product The product.
	 * @return array
	 */
	private static function planned_price( $product ) {
		$none    = array_fill_keys( array( 'planned_price', 'planned_price_from', 'planned_price_until' ), null );
		$planned = $none;
		$lowest  = null;
		$sold    = $product->is_type( 'variable' ) ? self::shown_children( $product ) : array( $product );
		foreach ( $sold as $one ) {
			$first      = $one->get_date_on_sale_from();
			$last       = $one->get_date_on_sale_to();
			$is_planned = is_object( $first ) && is_numeric( $one->get_sale_price() ) && ( ! is_object( $last ) || $last->getTimestamp() >= time() );
			$amount     = $is_planned ? $one->get_sale_price() : $one->get_price();
			if ( ! is_numeric( $amount ) ) {
				continue;
			}
			$price = round( (float) wc_get_price_to_display( $one, array( 'price' => $amount ) ), 4 );
			if ( null === $lowest || $price < $lowest ) {
				$lowest  = $price;
				$planned = ! $is_planned ? $none : array(
					'planned_price'       => $price,
					'planned_price_from'  => gmdate( 'Y-m-d\TH:i:s\Z', $first->getTimestamp() ),
					'planned_price_until' => is_object( $last ) ? gmdate( 'Y-m-d\TH:i:s\Z', $last->getTimestamp() ) : null,
				);
			}
		}
		return $planned;
	}

	/**
	 * Return brand, gtin, color, size, material and the other attributes that shoppers see.
	 *
	 * @param \WC_Product $product The product.
	 * @return array
	 */
	private static function attributes( $product ) {
		$gtin   = method_exists( $product, 'get_global_unique_id' ) ? (string) $product->get_global_unique_id() : '';
		$brands = taxonomy_exists( 'product_brand' ) ? wc_get_product_terms( $product->get_id(), 'product_brand', array( 'fields' => 'names' ) ) : array();
		$found  = array(
			'brand'      => $brands ? self::cut( html_entity_decode( (string) reset( $brands ), ENT_QUOTES, 'UTF-8' ), 255 ) : null,
			'gtin'       => self::gtin( $gtin ),
			'color'      => array(),
			'size'       => array(),
			'material'   => array(),
			'attributes' => array(),
		);
		foreach ( array_slice( (array) $product->get_attributes(), 0, 50 ) as $attribute ) {
			// Shoppers also see those that they choose a variation by.
			if ( ! is_object( $attribute ) || ! ( $attribute->get_visible() || $attribute->get_variation() ) ) {
				continue;
			}
			$values = $attribute->is_taxonomy() ? wc_get_product_terms( $product->get_id(), $attribute->get_name(), array( 'fields' => 'names' ) ) : $attribute->get_options();
			$texts  = array();
			foreach ( array_slice( (array) $values, 0, 100 ) as $value ) {
				$texts[] = self::cut( Plain_Text::line( (string) $value ), 255 );
			}
			$name = trim( preg_replace( '/[\s:,]+/', ' ', wc_attribute_label( $attribute->get_name(), $product ) ) );
			$slug = strtolower( preg_replace( '/^pa_/', '', $attribute->get_name() ) );
			$slug = isset( self::NAMES[ $slug ] ) ? $slug : strtolower( $name );
			if ( ! isset( self::NAMES[ $slug ] ) ) {
				if ( '' !== $name && $texts ) {
					$found['attributes'] += array( self::cut( $name, 100 ) => $texts );
				}
				continue;
			}
			$field = self::NAMES[ $slug ];
			if ( ! $found[ $field ] && $texts ) {
				$found[ $field ] = 'gtin' === $field ? self::gtin( $texts[0] ) : ( 'brand' === $field ? $texts[0] : $texts );
			}
		}
		$found['attributes'] = (object) $found['attributes']; // PHP would send an empty list.
		return $found;
	}

	/**
	 * Return the digits of a barcode; null when the text is none.
	 *
	 * @param string $text The text.
	 * @return string|null
	 */
	private static function gtin( $text ) {
		$bare = strtoupper( preg_replace( '/[\s-]+/', '', $text ) );
		return preg_match( '/^(?:\d{8,14}|\d{9}X)$/', $bare ) ? $bare : null;
	}

	/**
	 * Return the availability by the service's names. Nobody can buy a product without a price.
	 *
	 * @param \WC_Product $product The product.
	 * @return string
	 */
	private static function availability( $product ) {
		if ( null === self::price( $product ) ) {
			return 'out_of_stock';
		}
		$status = $product->get_stock_status();
		if ( $product->is_type( 'grouped' ) ) { // Its own status says nothing of what is in it.
			$found = array_unique( array_map( array( __CLASS__, 'availability' ), self::shown_children( $product ) ) );
			$found = array_values( array_intersect( array( 'in_stock', 'backorder' ), $found ) );
			return $found ? $found[0] : 'out_of_stock';
		}
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
		// By a pattern: the extension mbstring may be missing, and a byte is no character.
		return preg_match( '/^.{0,' . $length . '}/us', $text, $found ) ? $found[0] : substr( $text, 0, $length );
	}
}
