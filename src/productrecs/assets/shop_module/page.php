<?php
/**
 * Page: the scripts and the elements of the widgets, and what the server knows of the shopper.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || exit;

/** What a shopper's page holds. The browser fills the elements. */
class Page {

	const SESSION = 'pr_sid';
	const CART    = 'pr_cart';
	const PLACES  = array(
		'product'  => 'Product page: you may also like',
		'together' => 'Product page: bought together',
		'cart'     => 'Cart',
		'thanks'   => 'Page after an order',
		'home'     => 'Home page: popular products',
		'results'  => 'Search results: popular products',
	);

	/**
	 * The shop.
	 *
	 * @var Shop
	 */
	private $shop;

	/**
	 * The merchant's settings.
	 *
	 * @var Settings
	 */
	private $settings;

	/**
	 * The customer's number; 0 for a visitor who is not signed in.
	 *
	 * @var int
	 */
	private $customer;

	/**
	 * Store whose page it is.
	 *
	 * @param Shop     $shop     The shop.
	 * @param Settings $settings The merchant's settings.
	 * @param int      $customer The customer's number; 0 for a visitor who is not signed in.
	 */
	public function __construct( Shop $shop, Settings $settings, $customer ) {
		$this->shop     = $shop;
		$this->settings = $settings;
		$this->customer = (int) $customer;
	}

	/**
	 * Return the session id of the widgets, which the page mirrors into a cookie with consent.
	 *
	 * @return string
	 */
	public static function session() {
		$cookie = isset( $_COOKIE[ self::SESSION ] ) ? (string) $_COOKIE[ self::SESSION ] : '';
		return preg_match( '/^s_[A-Za-z0-9]{1,253}$/', $cookie ) ? $cookie : '';
	}

	/**
	 * Return whether this shopper may be told apart.
	 *
	 * @return bool
	 */
	public function has_consent() {
		if ( $this->shop->asks_for_consent() ) {
			return $this->shop->has_consent();
		}
		return ! $this->settings->get( 'consent' ) || '' !== self::session();
	}

	/**
	 * Return the customer whom an order of this request is of; 0 without consent.
	 *
	 * @return int
	 */
	public function customer() {
		return $this->has_consent() ? $this->customer : 0;
	}

	/**
	 * Return the scripts of a page's head.
	 *
	 * @param string $assets Address of the module's own scripts, which ends with `/`.
	 * @param string $work   Address that starts the worker; empty when there is no work.
	 * @param string $add    Address that puts a product into the cart; empty for none.
	 * @param string $info   Address that returns the cart of the page's head; empty for none.
	 * @return string
	 */
	public function scripts( $assets, $work, $add = '', $info = '' ) {
		if ( ! $this->settings->connected() ) {
			return '';
		}
		$id   = Identity::id( $this->customer, $this->settings->id_secret() );
		$told = array(
			'data-customer-id' => $id,
			'data-identity'    => Identity::sign( $id, $this->settings->secret() ),
			'data-consent'     => $this->settings->get( 'consent' ) || $this->shop->asks_for_consent() ? 'required' : '',
		);
		$ours = array(
			'data-pr-script' => $this->script( 'recs' ),
			'data-pr-work'   => $work,
			'data-pr-cart'   => $add,
			'data-pr-info'   => $info,
			'data-pr-agreed' => $this->shop->asks_for_consent() && $this->shop->has_consent() ? '1' : '',
		);
		$html = '<link rel="stylesheet" href="' . self::escape( $assets . 'reserve.css?' . VERSION ) . '">'
			. self::tag( $assets . 'release.js?' . VERSION, array() )
			. self::tag( $assets . 'module.js?' . VERSION, $told + $ours )
			. self::tag( $assets . 'bridge.js?' . VERSION, $told + $ours )
			. self::tag( $this->script( 'recs' ), $told );
		if ( $this->settings->get( 'search' ) ) {
			$html .= self::tag( $this->script( 'search' ), $told + array( 'data-input' => $this->settings->get( 'selector' ) ) );
		}
		return $html . ( $this->settings->get( 'look' ) ? self::tag( $this->script( 'look' ), $told ) : '' );
	}

	/**
	 * Return the elements of a place; empty when the merchant switched it off.
	 *
	 * @param string $place Which.
	 * @param array  $ids   Ids of the page's products.
	 * @return string
	 */
	public function place( $place, array $ids = array() ) {
		$places = (array) $this->settings->get( 'places' );
		$ids    = array_slice( array_unique( array_map( 'strval', $ids ) ), 0, 50 );
		if ( ! $this->settings->connected() || ( ! $ids && ! in_array( $place, array( 'home', 'results' ), true ) ) ) {
			return '';
		}
		if ( 'product' === $place ) {
			$item  = array( 'item-id' => $ids[0] );
			$html  = $this->settings->get( 'look' ) ? $this->element( $item, 'product-look' ) : '';
			$html .= in_array( 'together', $places, true ) ? $this->element( array( 'type' => 'fbt' ) + $item ) : '';
			return $html . ( in_array( 'product', $places, true ) ? $this->element( $item ) : '' );
		}
		if ( ! in_array( $place, $places, true ) ) {
			return '';
		}
		return $this->element( $ids ? array(
			'type'     => $place,
			'item-ids' => implode( ',', $ids ),
		) : array( 'type' => 'trending' ) );
	}

	/**
	 * Leave an add-to-cart for the page to tell: in a cookie that its script reads and deletes.
	 *
	 * @param int    $id       The product.
	 * @param int    $units    Units.
	 * @param float  $price    Price of a unit.
	 * @param string $currency Its currency.
	 */
	public function added( $id, $units, $price, $currency ) {
		if ( ! $this->settings->connected() || headers_sent() || ! $this->has_consent() ) {
			return;
		}
		$waiting   = isset( $_COOKIE[ self::CART ] ) ? json_decode( (string) $_COOKIE[ self::CART ], true ) : array();
		$waiting   = is_array( $waiting ) ? array_slice( $waiting, -19 ) : array();
		$waiting[] = array( (string) $id, max( 1, (int) $units ), round( $price * max( 1, (int) $units ), 4 ), $currency );

		$_COOKIE[ self::CART ] = (string) json_encode( $waiting ); // Another one in this request adds to it.
		setcookie(
			self::CART,
			$_COOKIE[ self::CART ],
			array(
				'expires'  => time() + 3600,
				'path'     => '/',
				'secure'   => ! empty( $_SERVER['HTTPS'] ) && 'off' !== $_SERVER['HTTPS'],
				'httponly' => false,
				'samesite' => 'Lax',
			)
		);
	}

	/**
	 * Return an element.
	 *
	 * @param array  $attributes Attributes without their `data-`.
	 * @param string $element    Its name.
	 * @return string
	 */
	private function element( array $attributes, $element = 'product-recs' ) {
		$attributes += array(
			'key'         => $this->settings->get( 'key' ),
			'customer-id' => Identity::id( $this->customer, $this->settings->id_secret() ),
		);
		$html = '<' . $element;
		foreach ( array_filter( $attributes, 'strlen' ) as $name => $value ) {
			$html .= ' data-' . $name . '="' . self::escape( $value ) . '"';
		}
		return $html . '></' . $element . '>';
	}

	/**
	 * Return the address of a script of the service.
	 *
	 * @param string $kind Which script.
	 * @return string
	 */
	private function script( $kind ) {
		return $this->settings->get( 'url' ) . '/widget/v1/' . ( 'recs' === $kind ? '' : $kind . '-' ) . $this->settings->get( 'domain' ) . '.js';
	}

	/**
	 * Return a script's tag.
	 *
	 * @param string $address Its address.
	 * @param array  $told    Its attributes.
	 * @return string
	 */
	private static function tag( $address, array $told ) {
		$html = '<script async src="' . self::escape( $address ) . '"';
		foreach ( array_filter( $told ) as $name => $value ) {
			$html .= ' ' . $name . '="' . self::escape( $value ) . '"';
		}
		return $html . '></script>';
	}

	/**
	 * Escape a text for HTML.
	 *
	 * @param mixed $text The text.
	 * @return string
	 */
	public static function escape( $text ) {
		return htmlspecialchars( (string) $text, ENT_QUOTES, 'UTF-8' );
	}
}
