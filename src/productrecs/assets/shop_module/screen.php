<?php
/**
 * Screen: the settings in the shop system's back office.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || exit;

/** The form, its actions and the progress. The shop system checks who may open it. */
class Screen {

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
	 * Store whose screen it is.
	 *
	 * @param Shop $shop The shop.
	 */
	public function __construct( Shop $shop ) {
		$this->shop     = $shop;
		$this->settings = new Settings( $shop );
	}

	/**
	 * Carry out a button.
	 *
	 * @param array $posted Fields of the form, with `act`.
	 * @return array What is wrong, and what was done; one of them is empty.
	 */
	public function act( array $posted ) {
		$act = isset( $posted['act'] ) ? $posted['act'] : '';
		if ( 'connect' === $act ) {
			$values = array();
			foreach ( array( 'url', 'key', 'secret' ) as $name ) {
				$values[ $name ] = isset( $posted[ $name ] ) && is_string( $posted[ $name ] ) ? $posted[ $name ] : '';
			}
			$connection = new Connection( $this->shop );
			$said       = $connection->connect( $values );
			return array( $said, '' === $said ? 'Connected. The first sync of products and orders has begun.' : '' );
		}
		if ( 'save' === $act ) {
			$this->settings->change(
				array(
					'places'   => array_values( array_intersect( array_keys( Page::PLACES ), isset( $posted['places'] ) ? (array) $posted['places'] : array() ) ),
					'search'   => empty( $posted['search'] ) ? 0 : 1,
					'selector' => isset( $posted['selector'] ) ? Shop::cut( trim( (string) $posted['selector'] ), 200 ) : '',
					'look'     => empty( $posted['look'] ) ? 0 : 1,
					'consent'  => empty( $posted['consent'] ) ? 0 : 1,
				)
			);
			return array( '', 'Saved.' );
		}
		if ( 'resync' === $act && $this->settings->connected() ) {
			$worker = new Worker( $this->shop );
			$worker->begin();
			return array( '', 'The sync has begun again.' );
		}
		return array( 'Nothing was done.', '' );
	}

	/**
	 * Return the progress as HTML.
	 *
	 * @return string
	 */
	public function progress() {
		if ( ! $this->settings->connected() ) {
			return '';
		}
		$worker = new Worker( $this->shop );
		$now    = $worker->progress();
		$sync   = $now['sync'];
		$lines  = array( 'Products: ' . ( 'done' === $sync['state'] ? 'all ' . $sync['done'] . ' sent' : $sync['done'] . ' of ' . $sync['total'] . ' sent' ) . ( $now['products'] ? ', ' . $now['products'] . ' changed ones wait' : '' ) . '.' );
		$orders = $now['orders'] + $now['past'];

		$lines[] = 'Orders: ' . ( $orders ? $orders . ' wait' : 'all sent' ) . '.';
		if ( $now['retry_at'] > time() ) {
			$lines[] = 'The service did not answer. The next attempt is in ' . max( 1, (int) ceil( ( $now['retry_at'] - time() ) / 60 ) ) . ' minutes.';
		}
		$html = '';
		foreach ( $lines as $line ) {
			$html .= '<p>' . Page::escape( $line ) . '</p>';
		}
		foreach ( array_slice( $now['errors'], 0, 5 ) as $error ) {
			$html .= '<p class="text-danger">' . Page::escape( gmdate( 'Y-m-d H:i', $error['time'] ) . ' UTC, ' . $error['what'] . ': ' . $error['why'] ) . '</p>';
		}
		return $html;
	}

	/**
	 * Return the progress for the open screen. When the login has ended, the shop system answers a page.
	 *
	 * @return string JSON.
	 */
	public function answer() {
		return (string) json_encode( array( 'html' => $this->progress() ), JSON_INVALID_UTF8_SUBSTITUTE );
	}

	/**
	 * Return the whole screen as HTML.
	 *
	 * @param string $action   Where the form goes.
	 * @param string $progress Address that returns the progress as JSON.
	 * @param string $work     Address in the shop that starts the worker.
	 * @param string $cron     Address that cron may call, or empty.
	 * @param array  $said     What is wrong, and what was done.
	 * @return string
	 */
	public function html( $action, $progress, $work, $cron, array $said = array( '', '' ) ) {
		$is_on = $this->settings->connected();
		$html  = '' === $said[0] ? '' : '<div class="alert alert-danger" role="alert">' . Page::escape( $said[0] ) . '</div>';
		$html .= '' === $said[1] ? '' : '<div class="alert alert-success" role="status">' . Page::escape( $said[1] ) . '</div>';
		$html .= self::form( $action, 'connect', $is_on ? 'Connected to ' . $this->settings->get( 'domain' ) : 'Connect your store',
			self::field( 'url', 'Address of the service', $this->settings->get( 'url' ), 'https://recs.example.com' )
			. self::field( 'key', 'Publishable key', $this->settings->get( 'key' ), 'pk_...' )
			. self::field( 'secret', 'Secret key', '', '' === $this->settings->masked_secret() ? 'sk_...' : $this->settings->masked_secret() . ' (stored)', 'password' ),
			'Connect'
		);
		if ( ! $is_on ) {
			return $html;
		}
		$html .= self::form( $action, 'resync', 'Products and orders', '<div id="product-recs-progress" aria-live="polite">' . $this->progress() . '</div>', 'Sync again' )
			. self::form( $action, 'save', 'Where widgets stand', $this->switches(), 'Save' );
		if ( '' !== $cron ) {
			$html .= '<p>Shoppers\' page views start the background work. In a shop with few visitors, let cron call this address every five minutes: <code>' . Page::escape( $cron ) . '</code></p>';
		}
		$told = (string) json_encode( array( $progress, $work ), JSON_HEX_TAG | JSON_HEX_AMP | JSON_UNESCAPED_SLASHES );
		return $html . '<script>(function (told) {
			function next() {
				fetch(told[1], { method: "POST", credentials: "omit" }).catch(function () {}).then(function () {
					return fetch(told[0], { credentials: "same-origin" });
				}).then(function (reply) { return reply.json(); }).then(function (told) {
					document.getElementById("product-recs-progress").innerHTML = told.html;
				}).catch(function () {}).then(function () { setTimeout(next, 6000); });
			}
			next();
		})(' . $told . ');</script>';
	}

	/**
	 * Return the switches of the form.
	 *
	 * @return string
	 */
	private function switches() {
		$places = (array) $this->settings->get( 'places' );
		$html   = '';
		foreach ( Page::PLACES as $name => $label ) {
			$html .= self::checkbox( 'places[]', $name, $label, in_array( $name, $places, true ) );
		}
		$html .= self::checkbox( 'search', '1', 'Search box: suggestions and search by photo', (bool) $this->settings->get( 'search' ) )
			. self::field( 'selector', 'CSS selector of the search box, if it is not found', $this->settings->get( 'selector' ), '#search input' )
			. self::checkbox( 'look', '1', 'Shop the look on product pages', (bool) $this->settings->get( 'look' ) );
		if ( $this->shop->asks_for_consent() ) {
			return $html . '<p>Widgets store nothing before a shopper accepts your shop\'s cookie notice.</p>';
		}
		return $html . self::checkbox( 'consent', '1', 'Wait for consent: widgets store nothing before your consent tool calls ProductRecs.consent(true)', (bool) $this->settings->get( 'consent' ) );
	}

	/**
	 * Return a form with one button.
	 *
	 * @param string $action Where it goes.
	 * @param string $act    What its button does.
	 * @param string $title  Its heading.
	 * @param string $fields Its fields.
	 * @param string $button The button's text.
	 * @return string
	 */
	private static function form( $action, $act, $title, $fields, $button ) {
		return '<form method="post" action="' . Page::escape( $action ) . '" class="card panel mb-3"><h3 class="card-header panel-heading">' . Page::escape( $title ) . '</h3><div class="card-body panel-body">'
			. '<input type="hidden" name="act" value="' . $act . '">' . $fields . '<button class="btn btn-primary" type="submit">' . Page::escape( $button ) . '</button></div></form>';
	}

	/**
	 * Return a field of text.
	 *
	 * @param string $name  Its name.
	 * @param string $label Its label.
	 * @param string $value Its value.
	 * @param string $hint  What it shows when it is empty.
	 * @param string $type  Its type.
	 * @return string
	 */
	private static function field( $name, $label, $value, $hint, $type = 'text' ) {
		return '<div class="form-group mb-3"><label class="form-label" for="product-recs-' . $name . '">' . Page::escape( $label ) . '</label>'
			. '<input class="form-control" id="product-recs-' . $name . '" type="' . $type . '" name="' . $name . '" value="' . Page::escape( $value ) . '" placeholder="' . Page::escape( $hint ) . '" autocomplete="off"></div>';
	}

	/**
	 * Return a switch.
	 *
	 * @param string $name  Its name.
	 * @param string $value Its value.
	 * @param string $label Its label.
	 * @param bool   $is_on Whether it is on.
	 * @return string
	 */
	private static function checkbox( $name, $value, $label, $is_on ) {
		return '<div class="form-check checkbox"><label class="form-check-label"><input class="form-check-input" type="checkbox" name="' . $name . '" value="' . $value . '"' . ( $is_on ? ' checked' : '' ) . '> ' . Page::escape( $label ) . '</label></div>';
	}
}
