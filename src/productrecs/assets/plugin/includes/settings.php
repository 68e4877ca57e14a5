<?php
/**
 * Settings: one option for all of them, and one of its own for the secret key.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** The merchant's settings. */
class Settings {

	const OPTION = 'product_recs_settings';
	const SECRET = 'product_recs_secret';

	/**
	 * Return all settings, with their defaults.
	 *
	 * @return array
	 */
	public static function all() {
		$stored = get_option( self::OPTION, array() );
		return array_merge(
			array(
				'url'        => self::shipped_url(),
				'key'        => '',
				'domain'     => '',
				'connected'  => 0,
				'version'    => '',
				'places'     => array( 'product', 'cart', 'thanks' ),
				'positions'  => array(),
				'search'     => 0,
				'selector'   => '',
				'look'       => 0,
				'assistants' => 1,
				'consent'    => 0,
				'on_hold'    => 0,
				'order_tax'  => 0,
				'meta'       => 0,
			),
			is_array( $stored ) ? $stored : array()
		);
	}

	/**
	 * Return one setting.
	 *
	 * @param string $name Which.
	 * @return mixed
	 */
	public static function get( $name ) {
		$all = self::all();
		return isset( $all[ $name ] ) ? $all[ $name ] : null;
	}

	/**
	 * Change some settings and keep the others.
	 *
	 * @param array $changes New values by name.
	 */
	public static function change( array $changes ) {
		update_option( self::OPTION, array_merge( self::all(), $changes ), true );
	}

	/**
	 * Return the secret key: that of wp-config.php, else the stored one.
	 *
	 * @return string
	 */
	public static function secret() {
		return defined( 'PRODUCT_RECS_SECRET' ) ? (string) PRODUCT_RECS_SECRET : self::stored_secret();
	}

	/**
	 * Return the stored secret key; version 1.0 stored it as a text.
	 *
	 * @return string
	 */
	public static function stored_secret() {
		$stored = get_option( self::SECRET, '' );
		return is_array( $stored ) ? (string) reset( $stored ) : (string) $stored;
	}

	/**
	 * Return whether there is a secret key.
	 *
	 * @return bool
	 */
	public static function has_secret() {
		return '' !== self::secret();
	}

	/**
	 * Return the last four characters of the secret key behind dots; empty without one.
	 *
	 * @return string
	 */
	public static function masked_secret() {
		$secret = self::secret();
		return '' === $secret ? '' : '••••' . substr( $secret, -4 );
	}

	/**
	 * Store the secret key; it is not loaded on each page.
	 *
	 * In an array, because WordPress's page of all options shows texts and hides arrays.
	 *
	 * @param string $secret The key.
	 */
	public static function keep_secret( $secret ) {
		update_option( self::SECRET, array( $secret ), false );
	}

	/** After an update of the plugin: change what an earlier version stored. */
	public static function upgrade() {
		if ( ! self::connected() || VERSION === self::get( 'version' ) ) {
			return;
		}
		if ( '' === self::get( 'version' ) ) { // 1.0 sent the numbers of customers.
			self::keep_secret( self::stored_secret() );
			Customers::begin_to_link();
			Outbox::install();
			History::begin();
			Orders::begin_scan();
		}
		self::change( array( 'version' => VERSION ) );
	}

	/**
	 * Return whether the shop was connected with the service.
	 *
	 * @return bool
	 */
	public static function connected() {
		return (int) self::get( 'connected' ) > 0;
	}

	/**
	 * Return the address that the secret key was entered for, else that of the archive.
	 *
	 * @return string
	 */
	public static function trusted_url() {
		return self::connected() ? (string) self::get( 'url' ) : self::shipped_url();
	}

	/**
	 * Return the address of the service that this archive was downloaded from.
	 *
	 * @return string
	 */
	private static function shipped_url() {
		$file = dirname( __DIR__ ) . '/server.php';
		return is_readable( $file ) ? (string) require $file : '';
	}
}
