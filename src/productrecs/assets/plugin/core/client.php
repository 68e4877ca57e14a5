<?php
/**
 * Client: calls of the service with the secret key, through the shop system's own HTTP.
 *
 * Part of the core that the shop systems' archives share: nothing here is WordPress's own.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || defined( 'ABSPATH' ) || exit;

/** Builds requests and reads replies. `$send` carries one request. */
class Client {

	/**
	 * The service's address, without a path.
	 *
	 * @var string
	 */
	private $url;

	/**
	 * The secret key.
	 *
	 * @var string
	 */
	private $secret;

	/**
	 * Gets method, address, headers and body; returns status, body and what went wrong.
	 *
	 * @var callable
	 */
	private $send;

	/**
	 * Store where to call, as whom and how.
	 *
	 * @param string   $url    The service's address, without a path.
	 * @param string   $secret The secret key.
	 * @param callable $send   Gets method, address, headers and body; returns an array of the HTTP
	 *                         status (0 without a reply), the body, and what went wrong or
	 *                         where the reply redirects.
	 */
	public function __construct( $url, $secret, $send ) {
		$this->url    = $url;
		$this->secret = $secret;
		$this->send   = $send;
	}

	/**
	 * Call the service with the secret key.
	 *
	 * @param string     $method HTTP method.
	 * @param string     $path   Path below the service's address.
	 * @param array|null $body   Sent as JSON.
	 * @return Reply
	 */
	public function call( $method, $path, $body = null ) {
		if ( null === $body ) {
			return $this->request( $method, $path, '', '', true );
		}
		$json = (string) json_encode( $body, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE ); // phpcs:ignore WordPress.WP.AlternativeFunctions -- other shop systems lack wp_json_encode().
		return $this->request( $method, $path, $json, 'application/json', true );
	}

	/**
	 * Return what a public address of the service answers.
	 *
	 * @param string $path Path below the service's address, with its query.
	 * @return Reply
	 */
	public function read( $path ) {
		return $this->request( 'GET', $path, '', '', false );
	}

	/**
	 * Upload a CSV of order lines.
	 *
	 * @param string $csv The file.
	 * @return Reply
	 */
	public function upload( $csv ) {
		$boundary = 'productrecs' . md5( $csv );
		$body     = "--$boundary\r\nContent-Disposition: form-data; name=\"file\"; filename=\"orders.csv\"\r\n"
			. "Content-Type: text/csv\r\n\r\n$csv\r\n--$boundary--\r\n";
		return $this->request( 'POST', '/orders/upload', $body, 'multipart/form-data; boundary=' . $boundary, true );
	}

	/**
	 * Send a request and read its reply.
	 *
	 * @param string $method    HTTP method.
	 * @param string $path      Path below the service's address.
	 * @param string $body      Body; empty for none.
	 * @param string $type      Its content type.
	 * @param bool   $is_secret Whether to name the secret key.
	 * @return Reply
	 */
	private function request( $method, $path, $body, $type, $is_secret ) {
		$headers = array( 'Accept' => 'application/json' );
		if ( $is_secret ) {
			$headers['X-API-Key'] = $this->secret;
		}
		if ( '' !== $type ) {
			$headers['Content-Type'] = $type;
		}
		$reply = new Reply();
		list( $reply->status, $reply->body, $reply->error ) = call_user_func( $this->send, $method, $this->url . $path, $headers, $body );

		$decoded     = json_decode( $reply->body, true );
		$reply->json = is_array( $decoded ) ? $decoded : array();
		return $reply;
	}
}
