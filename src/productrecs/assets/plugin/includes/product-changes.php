<?php
/**
 * Product changes: every way in which a shop changes its products.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** Collects the products that change in a request; jobs push them. */
class Product_Changes {

	const BATCH = 500; // products of one job.

	/**
	 * Products that changed in this request.
	 *
	 * @var array
	 */
	private static $changed = array();

	/**
	 * Whether this request changed what every product is told with.
	 *
	 * @var bool
	 */
	private static $is_everything = false;

	/** Listen to all changes. */
	public static function hooks() {
		$changed = guarded( array( __CLASS__, 'changed' ) );
		foreach ( array( 'new_product', 'update_product', 'new_product_variation', 'update_product_variation', 'delete_product', 'trash_product', 'delete_product_variation', 'trash_product_variation', 'product_set_stock_status', 'variation_set_stock_status', 'product_set_visibility', 'product_set_stock', 'variation_set_stock', 'save_product_variation' ) as $hook ) {
			add_action( 'woocommerce_' . $hook, $changed );
		}
		// Trash, delete and untrash in wp-admin fire no hook of WooCommerce.
		foreach ( array( 'wp_trash_post', 'trashed_post', 'before_delete_post', 'untrashed_post', 'save_post_product' ) as $hook ) {
			add_action( $hook, $changed );
		}
		add_action( 'transition_post_status', guarded( array( __CLASS__, 'status_changed' ) ), 10, 3 );
		foreach ( array( 'added_post_meta', 'updated_post_meta', 'deleted_post_meta' ) as $hook ) {
			add_action( $hook, guarded( array( __CLASS__, 'meta_changed' ) ), 10, 3 );
		}
		add_action( 'delete_attachment', guarded( array( __CLASS__, 'picture_deleted' ) ) );
		add_action( 'set_object_terms', guarded( array( __CLASS__, 'terms_set' ) ), 10, 4 );
		add_action( 'deleted_term_relationships', guarded( array( __CLASS__, 'terms_removed' ) ), 10, 3 );
		add_action( 'edited_term', guarded( array( __CLASS__, 'term_changed' ) ), 10, 3 );
		add_action( 'pre_delete_term', guarded( array( __CLASS__, 'term_deleted' ) ), 10, 2 );
		foreach ( array( 'calc_taxes', 'prices_include_tax', 'tax_display_shop', 'default_country', 'price_num_decimals' ) as $option ) {
			add_action( 'update_option_woocommerce_' . $option, guarded( array( __CLASS__, 'taxes_changed' ) ), 10, 0 );
		}
		foreach ( array( 'added', 'updated', 'deleted' ) as $what ) {
			add_action( 'woocommerce_tax_rate_' . $what, guarded( array( __CLASS__, 'taxes_changed' ) ), 10, 0 );
		}
		add_action( 'shutdown', guarded( array( __CLASS__, 'flush' ) ), 5 );
	}

	/**
	 * Note that a product changed; of a variation, its parent.
	 *
	 * The parent is looked up now: when a variation is deleted its row is gone by the time of
	 * WooCommerce's own hook.
	 *
	 * @param mixed $product A product or its id; posts of other types are ignored.
	 */
	public static function changed( $product ) {
		$id   = is_object( $product ) ? ( method_exists( $product, 'get_id' ) ? $product->get_id() : 0 ) : (int) $product;
		$type = $id ? get_post_type( $id ) : '';
		if ( 'product_variation' === $type ) {
			$id = (int) wp_get_post_parent_id( $id );
		}
		if ( $id && ( 'product' === $type || 'product_variation' === $type ) ) {
			self::$changed[ $id ] = true;
		}
	}

	/**
	 * Note a product that was published, or no longer is.
	 *
	 * @param string   $now    Its status.
	 * @param string   $before Its status before.
	 * @param \WP_Post $post   The post.
	 */
	public static function status_changed( $now, $before, $post ) {
		if ( $now !== $before ) {
			self::changed( $post->ID );
		}
	}

	/**
	 * Note a product whose stored values another plugin or an import wrote.
	 *
	 * @param mixed  $meta_id Of the value.
	 * @param int    $id      The post.
	 * @param string $key     Which value.
	 */
	public static function meta_changed( $meta_id, $id, $key ) {
		if ( in_array( $key, array( '_thumbnail_id', '_price', '_regular_price', '_sale_price', '_stock', '_stock_status', '_sku', '_global_unique_id', '_product_attributes' ), true ) ) {
			self::changed( $id );
		}
	}

	/**
	 * Note every product of a picture that is being deleted; WordPress then names no product.
	 *
	 * @param int $picture The picture.
	 */
	public static function picture_deleted( $picture ) {
		global $wpdb;
		$ids = $wpdb->get_col( $wpdb->prepare( "SELECT post_id FROM {$wpdb->postmeta} WHERE meta_key = '_thumbnail_id' AND meta_value = %s", (string) $picture ) ); // phpcs:ignore WordPress.DB.DirectDatabaseQuery -- products of any status.
		array_map( array( __CLASS__, 'changed' ), array_map( 'intval', $ids ) );
	}

	/**
	 * Note a product that got other terms.
	 *
	 * @param int    $id       The product.
	 * @param array  $terms    Terms.
	 * @param array  $term_ids Rows of terms.
	 * @param string $taxonomy Their taxonomy.
	 */
	public static function terms_set( $id, $terms, $term_ids, $taxonomy ) {
		self::terms_removed( $id, $term_ids, $taxonomy );
	}

	/**
	 * Note a product that lost terms.
	 *
	 * @param int    $id       The product.
	 * @param array  $term_ids Rows of terms.
	 * @param string $taxonomy Their taxonomy.
	 */
	public static function terms_removed( $id, $term_ids, $taxonomy ) {
		if ( 'product_visibility' === $taxonomy || self::is_told( $taxonomy ) ) {
			self::changed( $id );
		}
	}

	/**
	 * Note every product of a category, brand or attribute value whose name or parent changed.
	 *
	 * @param int    $term_id  The term.
	 * @param int    $row      Its row in the taxonomy.
	 * @param string $taxonomy The taxonomy's name.
	 */
	public static function term_changed( $term_id, $row, $taxonomy ) {
		if ( ! self::is_told( $taxonomy ) ) {
			return;
		}
		$ids = get_objects_in_term( array_merge( array( $term_id ), (array) get_term_children( $term_id, $taxonomy ) ), $taxonomy );
		if ( is_array( $ids ) ) {
			array_map( array( __CLASS__, 'changed' ), $ids );
		}
	}

	/**
	 * Note every product of a term that is being deleted, and of those below it.
	 *
	 * @param int    $term_id  The term.
	 * @param string $taxonomy The taxonomy's name.
	 */
	public static function term_deleted( $term_id, $taxonomy ) {
		self::term_changed( $term_id, 0, $taxonomy );
	}

	/** Note that all prices may have changed: a tax setting, a rate, or the shop's own place did. */
	public static function taxes_changed() {
		self::$is_everything = true;
	}

	/** Put what changed in this request into the queue, each product once. */
	public static function flush() {
		$ids                 = array_keys( self::$changed );
		$is_everything       = self::$is_everything;
		self::$changed       = array();
		self::$is_everything = false;
		if ( ! Settings::connected() ) {
			return;
		}
		if ( $is_everything ) {
			Sync::begin();
		}
		sort( $ids );
		foreach ( array_chunk( $ids, self::BATCH ) as $chunk ) {
			Queue::add( 'product_recs_push', array( $chunk ) );
		}
	}

	/**
	 * Return whether the service is told the terms of a taxonomy: categories, brands, attributes.
	 *
	 * @param string $taxonomy Its name.
	 * @return bool
	 */
	private static function is_told( $taxonomy ) {
		return in_array( $taxonomy, array( 'product_cat', 'product_brand' ), true ) || 0 === strpos( (string) $taxonomy, 'pa_' );
	}
}
