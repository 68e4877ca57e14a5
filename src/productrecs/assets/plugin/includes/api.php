<?php
/**
 * API client: calls of the service, from jobs and from wp-admin, never from a shopper's page.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** Calls of the service. */
class Api {

	const TIMEOUT = 5;
	const PANEL   = 1; // seconds that a panel of wp-admin waits.

	/**
	 * Seconds that this request waits for a reply.
	 *
	 * @var int
	 */
	private static $timeout = self::TIMEOUT;

	/** Wait shortly in this request: somebody looks at it. */
	public static function hurry() {
		self::$timeout = self::PANEL;
	}

	/**
	 * Call the service with the secret key.
	 *
	 * @param string     $method HTTP method.
	 * @param string     $path   Path below the service's address.
	 * @param array|null $body   Sent as JSON.
	 * @return Reply
	 */
	public static function call( $method, $path, $body = null ) {
		return self::client()->call( $method, $path, $body );
	}

	/**
	 * Return what a public address of the service answers.
	 *
	 * @param string $path Path below the service's address, with its query.
	 * @return Reply
	 */
	public static function read( $path ) {
		return self::client()->read( $path );
	}

	/**
	 * Upload a CSV of order lines.
	 *
	 * @param string $csv The file.
	 * @return Reply
	 */
	public static function upload( $csv ) {
		return self::client()->upload( $csv );
	}

	/**
	 * Return a client of the service that the shop is connected to.
	 *
	 * @return Client
	 */
	private static function client() {
		return new Client( (string) Settings::get( 'url' ), Settings::secret(), array( __CLASS__, 'send' ) );
	}

	/**
	 * Carry a request.
	 *
	 * The safe variants of these functions refuse private addresses, where a self-hosted
	 * service often is.
	 *
	 * @param string $method  HTTP method.
	 * @param string $url     Address.
	 * @param array  $headers Headers.
	 * @param string $body    Body.
	 * @return array HTTP status, body, and what went wrong.
	 */
	public static function send( $method, $url, array $headers, $body ) {
		$arguments = array(
			'method'      => $method,
			'timeout'     => self::$timeout,
			'redirection' => 0,
			'headers'     => $headers,
			'user-agent'  => 'service-recommender/' . VERSION,
		);
		if ( '' !== $body ) {
			$arguments['body'] = $body;
		}
		$response = wp_remote_request( $url, $arguments );
		if ( is_wp_error( $response ) ) {
			return array( 0, '', $response->get_error_message() );
		}
		return array( (int) wp_remote_retrieve_response_code( $response ), (string) wp_remote_retrieve_body( $response ), (string) wp_remote_retrieve_header( $response, 'location' ) );
	}
}
