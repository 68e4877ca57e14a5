<?php
/**
 * Shopper: the session id for orders, add-to-cart events, and the scripts of the pages.
 *
 * Pages hold nothing of a visitor who is not signed in, so full-page caches may keep them.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** What a page needs to know its shopper, and the server to know the page's. */
class Shopper {

	const SESSION = 'pr_sid';
	const CART    = 'pr_cart';

	/**
	 * Products that were put into the cart and that no page has told the service yet.
	 *
	 * @var array|null
	 */
	private static $added = null;

	/** Add scripts and listen to the cart. */
	public static function hooks() {
		add_action( 'init', guarded( array( __CLASS__, 'register_consent' ) ) );
		add_action( 'wp_enqueue_scripts', guarded( array( __CLASS__, 'scripts' ) ) );
		add_filter( 'script_loader_tag', guarded( array( __CLASS__, 'tag' ) ), 10, 2 );
		// The only hook that fires once for forms, AJAX, the Store API and its batches.
		add_action( 'woocommerce_add_to_cart', guarded( array( __CLASS__, 'added' ) ), 10, 4 );
		add_filter( 'woocommerce_add_to_cart_validation', guarded( array( __CLASS__, 'is_chosen' ) ), 10, 4 );
	}

	/**
	 * Return the session id of the widgets, which the page mirrors into a cookie with consent.
	 *
	 * @return string
	 */
	public static function session() {
		$cookie = isset( $_COOKIE[ self::SESSION ] ) ? sanitize_text_field( wp_unslash( $_COOKIE[ self::SESSION ] ) ) : '';
		return preg_match( '/^s_[A-Za-z0-9]{1,253}$/', $cookie ) ? $cookie : '';
	}

	/**
	 * Return whether shoppers are asked for consent, by a consent plugin or by the setting.
	 *
	 * @return bool
	 */
	public static function needs_consent() {
		return function_exists( 'wp_has_consent' ) || Settings::get( 'consent' );
	}

	/**
	 * Return whether this shopper may be told apart: a consent plugin says so, else the cookie.
	 *
	 * @return bool
	 */
	public static function has_consent() {
		if ( function_exists( 'wp_has_consent' ) ) {
			return (bool) wp_has_consent( 'statistics' );
		}
		return ! Settings::get( 'consent' ) || '' !== self::session();
	}

	/** Tell the WP Consent API that this plugin asks it, and what its cookies are for. */
	public static function register_consent() {
		add_filter( 'wp_consent_api_registered_' . plugin_basename( FILE ), '__return_true' );
		if ( function_exists( 'wp_add_cookie_info' ) ) {
			wp_add_cookie_info( self::SESSION, 'ProductRecs', 'statistics', __( '180 days', 'service-recommender' ), __( 'A random id, so that recommendations fit and orders count.', 'service-recommender' ) );
			wp_add_cookie_info( self::CART, 'ProductRecs', 'statistics', __( '1 hour', 'service-recommender' ), __( 'Products that were put into the cart, until the page has reported them.', 'service-recommender' ) );
		}
	}

	/**
	 * Leave an add-to-cart for the page to tell: in a cookie that its script reads and deletes.
	 *
	 * The page knows the shopper and the consent, and its events reach the service at once.
	 *
	 * @param string $line         The cart's line.
	 * @param int    $product_id   The parent product.
	 * @param mixed  $quantity     Units.
	 * @param int    $variation_id The variation, or 0.
	 */
	public static function added( $line, $product_id, $quantity = 1, $variation_id = 0 ) {
		if ( ! Settings::connected() || headers_sent() || ! self::has_consent() ) {
			return;
		}
		$product = wc_get_product( $variation_id ? $variation_id : $product_id );
		if ( ! $product ) {
			return;
		}
		if ( null === self::$added ) {
			$waiting     = isset( $_COOKIE[ self::CART ] ) ? json_decode( sanitize_text_field( wp_unslash( $_COOKIE[ self::CART ] ) ), true ) : array();
			self::$added = is_array( $waiting ) ? array_slice( $waiting, -19 ) : array();
		}
		$units         = max( 1, (int) $quantity );
		self::$added[] = array( (string) $product_id, $units, round( (float) $product->get_price() * $units, 4 ), get_woocommerce_currency() );
		setcookie(
			self::CART,
			(string) wp_json_encode( array_slice( self::$added, -20 ) ),
			array(
				'expires'  => time() + 3600,
				'path'     => '/',
				'secure'   => is_ssl(),
				'httponly' => false,
				'samesite' => 'Lax',
			)
		);
	}

	/**
	 * Refuse a product whose variation nobody chose, when a widget's button adds it.
	 *
	 * WooCommerce 8 puts it into the cart without a variation. The refusal names the product's
	 * page, where the shopper chooses one.
	 *
	 * @param bool  $is_valid     What others decided.
	 * @param int   $product_id   The product.
	 * @param mixed $quantity     Units.
	 * @param int   $variation_id The variation, or 0.
	 * @return bool
	 */
	public static function is_chosen( $is_valid, $product_id, $quantity = 1, $variation_id = 0 ) {
		if ( ! $is_valid || $variation_id || empty( $_POST['product_recs'] ) ) { // phpcs:ignore WordPress.Security.NonceVerification -- it refuses, and changes nothing.
			return $is_valid;
		}
		$product = wc_get_product( $product_id );
		return ! $product || ! $product->is_type( 'variable' );
	}

	/** Enqueue what this page needs. */
	public static function scripts() {
		if ( ! Settings::connected() ) {
			return;
		}
		if ( isset( $_GET['product_recs_pick'] ) && current_user_can( 'manage_woocommerce' ) ) { // phpcs:ignore WordPress.Security.NonceVerification -- it changes nothing.
			wp_enqueue_script( 'product-recs-pick', plugins_url( 'assets/pick.js', FILE ), array(), VERSION, true );
		}
		wp_enqueue_script( 'product-recs-bridge', plugins_url( 'assets/bridge.js', FILE ), array(), VERSION, false );
		if ( is_product() || Placements::is_on_page() ) {
			self::need( 'recs' );
		}
		if ( Settings::get( 'search' ) ) {
			self::need( 'search' );
		}
	}

	/**
	 * Enqueue a script of the service; from any place of a page.
	 *
	 * @param string $kind `recs`, `search` or `look`.
	 */
	public static function need( $kind ) {
		if ( 'search' !== $kind ) {
			wp_enqueue_style( 'product-recs-reserve', plugins_url( 'assets/reserve.css', FILE ), array(), VERSION );
			if ( ! wp_styles()->get_data( 'product-recs-reserve', 'after' ) ) {
				// Beside a theme's floats the reserved height would be that of a narrow column.
				wp_add_inline_style( 'product-recs-reserve', 'product-recs,product-look{clear:both;margin-block:2.5em}' );
			}
			wp_enqueue_script( 'product-recs-release', plugins_url( 'assets/release.js', FILE ), array(), VERSION, false );
		}
		wp_enqueue_script( 'product-recs-' . $kind, self::script( $kind ), array(), null, false ); // phpcs:ignore WordPress.WP.EnqueuedResourceParameters -- the service's address is its version.
	}

	/**
	 * Return the address of a script of the service.
	 *
	 * @param string $kind Which script.
	 * @return string
	 */
	public static function script( $kind ) {
		return Settings::get( 'url' ) . '/widget/v1/' . ( 'recs' === $kind ? '' : $kind . '-' ) . Settings::get( 'domain' ) . '.js';
	}

	/**
	 * Return the script's tag with what the script must know.
	 *
	 * The attribute is written here: WordPress 6.2 ignores 'strategy' => 'async'.
	 *
	 * @param string $tag    The tag.
	 * @param string $handle The script's name.
	 * @return string
	 */
	public static function tag( $tag, $handle ) {
		if ( 0 !== strpos( (string) $handle, 'product-recs-' ) || 'product-recs-admin' === $handle ) {
			return $tag;
		}
		$told = array();
		if ( 'product-recs-pick' !== $handle && 'product-recs-release' !== $handle ) {
			$told['data-customer-id'] = Customers::id( get_current_user_id() );
			$told['data-identity']    = Customers::identity( $told['data-customer-id'] );
			$told['data-consent']     = Settings::get( 'consent' ) || function_exists( 'wp_has_consent' ) ? 'required' : '';
		}
		if ( 'product-recs-bridge' === $handle ) {
			$told['data-pr-script'] = self::script( 'recs' );
			$told['data-pr-add']    = class_exists( '\WC_AJAX' ) ? \WC_AJAX::get_endpoint( 'add_to_cart' ) : '';
		} elseif ( 'product-recs-pick' === $handle ) {
			$told['data-pr-text'] = __( 'Click the search box of your shop.', 'service-recommender' );
		} elseif ( 'product-recs-search' === $handle ) {
			$told['data-input'] = Settings::get( 'selector' );
		}
		$written = ' async';
		foreach ( array_filter( $told ) as $name => $value ) {
			$written .= ' ' . $name . '="' . esc_attr( $value ) . '"';
		}
		$place = strpos( $tag, ' src=' );
		return false === $place ? $tag : substr_replace( $tag, $written, $place, 0 );
	}
}
