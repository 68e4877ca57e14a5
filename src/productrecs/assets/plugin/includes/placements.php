<?php
/**
 * Placements: where widgets stand, by switches, shortcode and block.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** Draws the elements of the widgets; the browser fills them. */
class Placements {

	/**
	 * Places that have their widget already.
	 *
	 * @var array
	 */
	private static $drawn = array();

	/** Listen to the templates' hooks. */
	public static function hooks() {
		add_shortcode( 'product_recs', guarded( array( __CLASS__, 'shortcode' ) ) );
		add_action( 'init', guarded( array( __CLASS__, 'register_block' ) ) );
		if ( ! Settings::connected() ) {
			return;
		}
		$places = self::places();
		if ( isset( $places['product'] ) || isset( $places['together'] ) || Settings::get( 'look' ) ) {
			$priority = array(
				'above' => 5, // WooCommerce's tabs come at 10, its related products at 20.
				'below' => 15,
				'end'   => 25,
			);
			$priority = (int) apply_filters( 'product_recs_product_priority', $priority[ self::position( 'product' ) ] );
			add_action( 'woocommerce_after_single_product_summary', guarded( array( __CLASS__, 'product' ) ), $priority );
			add_action( 'woocommerce_after_single_product', guarded( array( __CLASS__, 'product_end' ) ) );
			// Block themes run these hooks at one place, whatever the priority, or not at all.
			add_filter( 'render_block_woocommerce/product-details', guarded( array( __CLASS__, 'product_block' ) ) );
		}
		if ( isset( $places['cart'] ) ) {
			add_action( self::is_above( 'cart' ) ? 'woocommerce_before_cart' : 'woocommerce_after_cart', guarded( array( __CLASS__, 'cart' ) ), 5 );
			// Cart blocks fire no classic hook; Block Hooks after them fail on WordPress 6.4.
			add_filter(
				'render_block_woocommerce/cart',
				guarded(
					function ( $html ) {
						return self::is_above( 'cart' ) ? self::cart_html() . $html : $html . self::cart_html();
					}
				)
			);
		}
		if ( isset( $places['thanks'] ) ) {
			add_action( self::is_above( 'thanks' ) ? 'woocommerce_before_thankyou' : 'woocommerce_thankyou', guarded( array( __CLASS__, 'thanks' ) ) );
		}
		if ( isset( $places['shop'] ) ) {
			add_action( self::is_above( 'shop' ) ? 'woocommerce_before_shop_loop' : 'woocommerce_after_shop_loop', guarded( array( __CLASS__, 'shop' ) ), self::is_above( 'shop' ) ? 5 : 20 );
		}
		if ( isset( $places['home'] ) ) {
			add_filter( 'the_content', guarded( array( __CLASS__, 'home' ) ), 20 );
			// A front page of posts: around their list, not within the first of them.
			add_action( self::is_above( 'home' ) ? 'loop_start' : 'loop_end', guarded( array( __CLASS__, 'posts' ) ) );
			add_filter( 'render_block_core/query', guarded( array( __CLASS__, 'posts_block' ) ), 10, 2 );
		}
	}

	/**
	 * Return where on its page a place is: `above`, `below` or, for a product, `end`.
	 *
	 * @param string $place Which.
	 * @return string
	 */
	public static function position( $place ) {
		$chosen = (array) Settings::get( 'positions' );
		$chosen = isset( $chosen[ $place ] ) ? (string) $chosen[ $place ] : 'below';
		return in_array( $chosen, array( 'above', 'end' ), true ) ? $chosen : 'below';
	}

	/**
	 * Return whether a place is above what its page is about.
	 *
	 * @param string $place Which.
	 * @return bool
	 */
	private static function is_above( $place ) {
		return 'above' === self::position( $place );
	}

	/**
	 * Return the places that are switched on, as keys.
	 *
	 * @return array
	 */
	public static function places() {
		return array_flip( (array) Settings::get( 'places' ) );
	}

	/**
	 * Return whether a switched-on place is on this page.
	 *
	 * @return bool
	 */
	public static function is_on_page() {
		$places = self::places();
		return ( isset( $places['cart'] ) && is_cart() ) || ( isset( $places['home'] ) && is_front_page() )
			|| ( isset( $places['shop'] ) && ( is_shop() || is_product_taxonomy() ) )
			|| ( isset( $places['thanks'] ) && is_order_received_page() );
	}

	/**
	 * Return an element.
	 *
	 * @param array  $attributes Attributes without their `data-`.
	 * @param string $element    Its name.
	 * @param bool   $is_placed  Whether a switch put it there, and not the merchant's own block.
	 * @return string
	 */
	public static function element( array $attributes, $element = 'product-recs', $is_placed = true ) {
		$attributes = array_merge(
			array(
				'key'         => Settings::get( 'key' ),
				'customer-id' => Customers::id( get_current_user_id() ),
			),
			$attributes
		);
		/**
		 * Filters the attributes of a widget's element.
		 *
		 * @param array  $attributes Attributes without their `data-`; `placement`, `filter` and
		 *                           `price-list` have none.
		 * @param string $element    `product-recs` or `product-look`.
		 */
		$attributes = (array) apply_filters( 'product_recs_widget_attributes', $attributes, $element );
		// Block themes give what is not wide the width of a text.
		$html = '<' . $element . ( $is_placed && wp_is_block_theme() ? ' class="alignwide"' : '' );
		foreach ( $attributes as $name => $value ) {
			if ( '' !== (string) $value ) {
				$bare  = in_array( $name, array( 'placement', 'filter', 'price-list' ), true );
				$html .= ( $bare ? ' ' : ' data-' ) . esc_attr( $name ) . '="' . esc_attr( $value ) . '"';
			}
		}
		Shopper::need( 'product-look' === $element ? 'look' : 'recs' );
		return $html . '></' . $element . '>';
	}

	/** Draw the widgets of a product's page. */
	public static function product() {
		if ( ! wp_is_block_theme() || 'below' === self::position( 'product' ) ) {
			self::put( self::product_html() );
		}
	}

	/** Draw them at the page's end: there in block themes, and where a template lacks their hook. */
	public static function product_end() {
		self::put( self::product_html() );
	}

	/**
	 * Return a block theme's description with the widgets above or below it.
	 *
	 * @param string $html The block.
	 * @return string
	 */
	public static function product_block( $html ) {
		if ( ! wp_is_block_theme() ) {
			return $html;
		}
		if ( self::is_above( 'product' ) ) {
			return self::product_html() . $html;
		}
		$has_end = 'end' === self::position( 'product' ) && ! apply_filters( 'woocommerce_disable_compatibility_layer', false );
		return $has_end ? $html : $html . self::product_html();
	}

	/**
	 * Return the widgets of a product's page; nothing the second time.
	 *
	 * @return string
	 */
	private static function product_html() {
		$id = (string) get_the_ID();
		if ( 'product' !== get_post_type( (int) $id ) || ! self::once( 'product' ) ) {
			return '';
		}
		$places = self::places();
		$html   = Settings::get( 'look' ) ? self::element( array( 'item-id' => $id ), 'product-look' ) : '';
		if ( isset( $places['together'] ) ) {
			$html .= self::element(
				array(
					'type'    => 'fbt',
					'item-id' => $id,
				)
			);
		}
		return $html . ( isset( $places['product'] ) ? self::element( array( 'item-id' => $id ) ) : '' );
	}

	/** Draw the cart's widget. */
	public static function cart() {
		self::put( self::cart_html() );
	}

	/**
	 * Return the cart's widget, by the parents of what is in it.
	 *
	 * @return string
	 */
	private static function cart_html() {
		$cart = function_exists( 'WC' ) && WC()->cart ? WC()->cart->get_cart() : array();
		$ids  = array_slice( array_unique( array_map( 'strval', array_column( $cart, 'product_id' ) ) ), 0, 50 );
		if ( ! $ids || is_admin() || ! self::once( 'cart' ) ) {
			return '';
		}
		return self::element(
			array(
				'type'     => 'cart',
				'item-ids' => implode( ',', $ids ),
			)
		);
	}

	/**
	 * Draw the widget of the page that thanks for an order.
	 *
	 * @param int $order_id The order.
	 */
	public static function thanks( $order_id ) {
		$order = wc_get_order( $order_id );
		$ids   = array();
		foreach ( $order ? $order->get_items() : array() as $line ) {
			$ids[] = (string) $line->get_product_id();
		}
		$ids = array_slice( array_unique( array_filter( $ids ) ), 0, 50 );
		if ( $ids && self::once( 'thanks' ) ) {
			self::put(
				self::element(
					array(
						'type'     => 'thanks',
						'item-ids' => implode( ',', $ids ),
					)
				)
			);
		}
	}

	/** Draw the widget of the shop and of categories. */
	public static function shop() {
		if ( self::once( 'shop' ) ) {
			self::put( self::element( array( 'type' => 'trending' ) ) );
		}
	}

	/**
	 * Return the front page's content with its widget behind it, unless the merchant put one there.
	 *
	 * @param string $content The content.
	 * @return string
	 */
	public static function home( $content ) {
		if ( ! is_front_page() || is_home() || is_admin() || is_feed() || ! in_the_loop() || ! is_main_query() || false !== strpos( $content, '<product-recs' ) || ! self::once( 'home' ) ) {
			return $content;
		}
		$html = self::element( array( 'type' => 'trending' ) );
		return self::is_above( 'home' ) ? $html . $content : $content . $html;
	}

	/**
	 * Draw the widget of a front page of posts, in classic themes.
	 *
	 * @param \WP_Query $query The loop that begins or ends.
	 */
	public static function posts( $query ) {
		if ( is_front_page() && is_home() && ! wp_is_block_theme() && $query->is_main_query() && ! is_feed() && did_action( 'wp_head' ) && self::once( 'home' ) ) {
			self::put( self::element( array( 'type' => 'trending' ) ) );
		}
	}

	/**
	 * Return the list of posts of a front page with its widget, in block themes.
	 *
	 * @param string $html  The list.
	 * @param array  $block The block.
	 * @return string
	 */
	public static function posts_block( $html, $block ) {
		if ( ! is_front_page() || ! is_home() || empty( $block['attrs']['query']['inherit'] ) || ! self::once( 'home' ) ) {
			return $html;
		}
		$widget = self::element( array( 'type' => 'trending' ) );
		return self::is_above( 'home' ) ? $widget . $html : $html . $widget;
	}

	/**
	 * Shortcode: [product_recs type="trending" num="8" title="Popular"].
	 *
	 * @param array|string $attributes As written.
	 * @return string
	 */
	public static function shortcode( $attributes ) {
		if ( ! Settings::connected() ) {
			return '';
		}
		$given = shortcode_atts(
			array(
				'type'     => '',
				'source'   => '',
				'num'      => '',
				'title'    => '',
				'layout'   => '',
				'item_id'  => '',
				'item_ids' => '',
			),
			is_array( $attributes ) ? $attributes : array(),
			'product_recs'
		);
		if ( '' === $given['item_id'] && is_singular( 'product' ) ) {
			$given['item_id'] = (string) get_the_ID();
		}
		$told = array();
		foreach ( $given as $name => $value ) {
			$told[ str_replace( '_', '-', $name ) ] = is_scalar( $value ) ? (string) $value : '';
		}
		return self::element( $told, 'product-recs', false );
	}

	/** Register the block, which the server draws. */
	public static function register_block() {
		wp_register_script( 'product-recs-block', plugins_url( 'blocks/recommendations/editor.js', FILE ), array( 'wp-blocks', 'wp-element', 'wp-block-editor', 'wp-components', 'wp-i18n' ), VERSION, true );
		wp_set_script_translations( 'product-recs-block', 'service-recommender', dirname( FILE ) . '/languages' );
		register_block_type( dirname( FILE ) . '/blocks/recommendations' );
	}

	/**
	 * Return whether a place still has no widget: in block themes several hooks fire for it.
	 *
	 * @param string $place Which.
	 * @return bool
	 */
	private static function once( $place ) {
		if ( isset( self::$drawn[ $place ] ) ) {
			return false;
		}
		self::$drawn[ $place ] = true;
		return true;
	}

	/**
	 * Print an element. Its attributes are escaped where it is made.
	 *
	 * @param string $html The element.
	 */
	private static function put( $html ) {
		echo $html; // phpcs:ignore WordPress.Security.EscapeOutput -- see element().
	}
}
