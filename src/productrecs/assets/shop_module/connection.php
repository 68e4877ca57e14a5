<?php
/**
 * Connection: checks the address and both keys, and starts the first sync.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || exit;

/** Connect and uninstall. */
class Connection {

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
	 * Store what it works with.
	 *
	 * @param Shop $shop The shop.
	 */
	public function __construct( Shop $shop ) {
		$this->shop     = $shop;
		$this->settings = new Settings( $shop );
	}

	/** Create the tables. */
	public function install() {
		$this->settings->install();
		$list = new Work_List( $this->shop );
		$list->install();
	}

	/** Remove everything that the module stored. */
	public function uninstall() {
		$list = new Work_List( $this->shop );
		$list->uninstall();
		$this->settings->uninstall();
	}

	/**
	 * Connect; a shop that is connected keeps its connection when the new values are refused.
	 *
	 * @param array $posted `url`, `key` and `secret`.
	 * @return string What is wrong and its remedy; empty when connected.
	 */
	public function connect( array $posted ) {
		$before = (array) $this->settings->value( 'settings', array() );
		$secret = $this->settings->value( 'secret' );
		$said   = $this->try_to_connect( $posted );
		if ( '' === $said ) {
			return '';
		}
		if ( ! empty( $before['connected'] ) ) {
			$said .= ' The earlier connection is still in use.';
		}
		$this->settings->put( 'settings', $before );
		$this->settings->put( 'secret', $secret );
		return $said;
	}

	/**
	 * Check the address and both keys, tell the service, and start the first sync.
	 *
	 * @param array $posted `url`, `key` and `secret`.
	 * @return string What is wrong and its remedy; empty when connected.
	 */
	private function try_to_connect( array $posted ) {
		$posted = array_map( 'trim', $posted );
		$url    = self::clean_url( $posted['url'] );
		if ( '' === $url ) {
			return 'Enter the address of your service, such as https://recs.example.com.';
		}
		if ( 0 !== strpos( $posted['key'], 'pk_' ) ) {
			return 'The publishable key begins with pk_.';
		}
		if ( '' === $posted['secret'] ) {
			// Whoever may change the address may not read the key in this way.
			if ( '' === $this->settings->secret() || self::clean_url( (string) $this->settings->get( 'url' ) ) !== $url ) {
				return 'Enter the secret key: a new address needs it again.';
			}
		} elseif ( 0 !== strpos( $posted['secret'], 'sk_' ) ) {
			return 'The secret key begins with sk_.';
		} else {
			$this->settings->put( 'secret', $posted['secret'] );
		}
		$this->settings->change(
			array(
				'url' => $url,
				'key' => $posted['key'],
			)
		);
		$reply = $this->settings->client()->call(
			'POST',
			'/integration/connect',
			array(
				'platform'        => $this->shop->platform(),
				'plugin_version'  => VERSION,
				'store_url'       => $this->shop->home(),
				'publishable_key' => $posted['key'],
			)
		);
		if ( ! $reply->ok() || empty( $reply->json['domain'] ) ) {
			return $reply->remedy();
		}
		$catalog = new Catalog_Sync( $this->shop, $this->settings, new Work_List( $this->shop ) );
		$told    = $catalog->tell_shop();
		if ( ! $told->ok() ) {
			return $told->remedy();
		}
		$this->settings->change(
			array(
				'domain'    => (string) $reply->json['domain'],
				'connected' => time(),
			)
		);
		$this->settings->put( 'errors', null );
		$worker = new Worker( $this->shop );
		$worker->begin();
		return '';
	}

	/**
	 * Return an address without its path; empty when it is none.
	 *
	 * @param string $text As entered.
	 * @return string
	 */
	private static function clean_url( $text ) {
		$text  = preg_match( '#^[a-z][a-z0-9+.-]*://#i', $text ) ? $text : 'https://' . $text;
		$parts = parse_url( $text );
		if ( empty( $parts['host'] ) || ! in_array( strtolower( $parts['scheme'] ), array( 'http', 'https' ), true ) ) {
			return '';
		}
		return strtolower( $parts['scheme'] . '://' . $parts['host'] ) . ( isset( $parts['port'] ) ? ':' . $parts['port'] : '' );
	}
}
