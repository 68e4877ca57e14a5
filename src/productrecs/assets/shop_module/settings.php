<?php
/**
 * Settings: what the module stores, in a table of its own, so that nothing of it stands elsewhere.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || exit;

/** The merchant's settings, the secret key, where the sync is, and the list of errors. */
class Settings {

	const DEFAULTS = array(
		'url'       => '',
		'key'       => '',
		'domain'    => '',
		'connected' => 0,
		'places'    => array( 'product', 'cart', 'thanks' ),
		'search'    => 0,
		'selector'  => '',
		'look'      => 0,
		'consent'   => 0,
	);
	const OLD      = 300; // seconds after which the holder of a lock is dead.

	/**
	 * The shop.
	 *
	 * @var Shop
	 */
	private $shop;

	/**
	 * Values that were read in this request.
	 *
	 * @var array|null
	 */
	private $read = null;

	/**
	 * Store whose settings they are.
	 *
	 * @param Shop $shop The shop.
	 */
	public function __construct( Shop $shop ) {
		$this->shop = $shop;
	}

	/** Create the table. */
	public function install() {
		$this->shop->run( 'CREATE TABLE IF NOT EXISTS `' . $this->table() . '` (name VARCHAR(64) NOT NULL, value MEDIUMTEXT NOT NULL, PRIMARY KEY (name)) DEFAULT CHARSET=utf8mb4' );
	}

	/** Drop the table. */
	public function uninstall() {
		$this->shop->run( 'DROP TABLE IF EXISTS `' . $this->table() . '`' );
		$this->read = null;
	}

	/**
	 * Return one setting of the merchant.
	 *
	 * @param string $name Which.
	 * @return mixed
	 */
	public function get( $name ) {
		$all = (array) $this->value( 'settings', array() ) + self::DEFAULTS;
		return 'url' === $name && '' === $all['url'] ? self::shipped_url() : $all[ $name ];
	}

	/**
	 * Change some settings of the merchant.
	 *
	 * @param array $changes New values by name.
	 */
	public function change( array $changes ) {
		$this->put( 'settings', $changes + (array) $this->value( 'settings', array() ) );
	}

	/**
	 * Return whether the shop was connected with the service.
	 *
	 * @return bool
	 */
	public function connected() {
		return (int) $this->get( 'connected' ) > 0;
	}

	/**
	 * Return the secret key.
	 *
	 * @return string
	 */
	public function secret() {
		return (string) $this->value( 'secret', '' );
	}

	/**
	 * Return the last four characters of the secret key behind dots; empty without one.
	 *
	 * @return string
	 */
	public function masked_secret() {
		return '' === $this->secret() ? '' : '••••' . substr( $this->secret(), -4 );
	}

	/**
	 * Return the shop's own secret for ids of customers. It is made once.
	 *
	 * @return string
	 */
	public function id_secret() {
		if ( '' === (string) $this->value( 'id_secret', '' ) ) {
			$this->shop->run( 'INSERT IGNORE INTO `' . $this->table() . '` (name, value) VALUES (?, ?)', array( 'id_secret', json_encode( bin2hex( random_bytes( 32 ) ) ) ) );
			$this->read = null;
		}
		return (string) $this->value( 'id_secret', '' );
	}

	/**
	 * Return a stored value.
	 *
	 * @param string $name    Which.
	 * @param mixed  $default What to return where there is none.
	 * @return mixed
	 */
	public function value( $name, $default = null ) {
		if ( null === $this->read ) {
			$this->read = array();
			foreach ( $this->shop->rows( 'SELECT name, value FROM `' . $this->table() . '`' ) as $row ) {
				$this->read[ $row['name'] ] = json_decode( $row['value'], true );
			}
		}
		return isset( $this->read[ $name ] ) ? $this->read[ $name ] : $default;
	}

	/**
	 * Store a value.
	 *
	 * @param string $name  Which.
	 * @param mixed  $value The value; null removes it.
	 */
	public function put( $name, $value ) {
		if ( null === $value ) {
			$this->shop->run( 'DELETE FROM `' . $this->table() . '` WHERE name = ?', array( $name ) );
		} else {
			$this->shop->run( 'REPLACE INTO `' . $this->table() . '` (name, value) VALUES (?, ?)', array( $name, json_encode( $value, JSON_INVALID_UTF8_SUBSTITUTE ) ) );
		}
		$this->read = null;
	}

	/**
	 * Take the worker's lock; false when another process holds it.
	 *
	 * @return bool
	 */
	public function lock() {
		$taken = $this->shop->run( 'INSERT IGNORE INTO `' . $this->table() . '` (name, value) VALUES (?, ?)', array( 'lock', (string) time() ) );
		if ( $taken < 1 ) { // Its process may have died.
			$taken = $this->shop->run( 'UPDATE `' . $this->table() . '` SET value = ? WHERE name = ? AND value < ?', array( (string) time(), 'lock', (string) ( time() - self::OLD ) ) );
		}
		$this->read = null; // The one who held it may have changed everything.
		return $taken > 0;
	}

	/** Return the worker's lock. */
	public function unlock() {
		$this->put( 'lock', null );
	}

	/**
	 * Store one of the last 20 different errors.
	 *
	 * @param string $what What was done.
	 * @param string $why  What went wrong, for the merchant.
	 */
	public function record_error( $what, $why ) {
		$why    = Shop::cut( $why, 500 );
		$errors = array_filter(
			(array) $this->value( 'errors', array() ),
			function ( $error ) use ( $what, $why ) {
				return array( $error['what'], $error['why'] ) !== array( $what, $why );
			}
		);
		array_unshift(
			$errors,
			array(
				'time' => time(),
				'what' => $what,
				'why'  => $why,
			)
		);
		$this->put( 'errors', array_slice( $errors, 0, 20 ) );
	}

	/**
	 * Return a client of the service that the shop is connected to.
	 *
	 * @return Client
	 */
	public function client() {
		return new Client( (string) $this->get( 'url' ), $this->secret(), array( 'ProductRecs\Http', 'send' ) );
	}

	/**
	 * Return the address of the service that this archive was downloaded from.
	 *
	 * @return string
	 */
	public static function shipped_url() {
		$file = __DIR__ . '/server.php';
		return is_readable( $file ) ? (string) require $file : '';
	}

	/**
	 * Return the table's name.
	 *
	 * @return string
	 */
	private function table() {
		return $this->shop->prefix() . 'product_recs_settings';
	}
}
