<?php
/**
 * HTTP: carries a request with cURL where it is there, else with PHP's streams.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || exit;

/** Requests that end after some seconds and follow no redirects. */
class Http {

	const SECONDS = 5;

	/**
	 * Carry a request.
	 *
	 * @param string $method  HTTP method.
	 * @param string $url     Address.
	 * @param array  $headers Headers.
	 * @param string $body    Body.
	 * @return array HTTP status (0 without a reply), body, and what went wrong.
	 */
	public static function send( $method, $url, array $headers, $body ) {
		$headers['User-Agent'] = 'productrecs-' . PRODUCT_RECS_SHOP . '/' . VERSION;
		$lines                 = array();
		foreach ( $headers as $name => $value ) {
			$lines[] = "$name: $value";
		}
		return function_exists( 'curl_init' ) ? self::by_curl( $method, $url, $lines, $body ) : self::by_stream( $method, $url, $lines, $body );
	}

	/**
	 * Carry a request with cURL.
	 *
	 * @param string $method HTTP method.
	 * @param string $url    Address.
	 * @param array  $lines  Headers.
	 * @param string $body   Body.
	 * @return array
	 */
	private static function by_curl( $method, $url, array $lines, $body ) {
		$call    = curl_init( $url );
		$options = array(
			CURLOPT_CUSTOMREQUEST  => $method,
			CURLOPT_HTTPHEADER     => array_merge( $lines, array( 'Expect:' ) ),
			CURLOPT_RETURNTRANSFER => true,
			CURLOPT_FOLLOWLOCATION => false,
			CURLOPT_CONNECTTIMEOUT => 2,
			CURLOPT_TIMEOUT        => self::SECONDS,
			CURLOPT_PROTOCOLS      => CURLPROTO_HTTP | CURLPROTO_HTTPS,
		);
		if ( '' !== $body ) {
			$options[ CURLOPT_POSTFIELDS ] = $body;
		}
		curl_setopt_array( $call, $options );
		$reply = curl_exec( $call );
		if ( false === $reply ) {
			return array( 0, '', curl_error( $call ) );
		}
		return array( (int) curl_getinfo( $call, CURLINFO_HTTP_CODE ), (string) $reply, '' );
	}

	/**
	 * Carry a request with PHP's streams.
	 *
	 * @param string $method HTTP method.
	 * @param string $url    Address.
	 * @param array  $lines  Headers.
	 * @param string $body   Body.
	 * @return array
	 */
	private static function by_stream( $method, $url, array $lines, $body ) {
		$context = stream_context_create(
			array(
				'http' => array(
					'method'          => $method,
					'header'          => array_merge( $lines, array( 'Connection: close' ) ),
					'content'         => $body,
					'timeout'         => self::SECONDS,
					'follow_location' => 0,
					'ignore_errors'   => true,
				),
			)
		);
		$reply = @file_get_contents( $url, false, $context );
		if ( false === $reply ) {
			$error = error_get_last();
			return array( 0, '', $error ? preg_replace( '/^.*: /', '', $error['message'] ) : 'no reply' );
		}
		preg_match( '#^HTTP/\S+ (\d+)#', $http_response_header[0], $found );
		return array( (int) $found[1], $reply, '' );
	}
}
