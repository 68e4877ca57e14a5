<?php
/**
 * Assistants: the shop's profile for shopping assistants, at an address of the shop itself.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** Serves what the service says about the store's catalog for assistants. */
class Assistants {

	const CACHE = 'product_recs_assistants';
	const FRESH = 300; // seconds, as the service's own reply.
	const RETRY = 60; // seconds without a profile.

	/** Answer the request for that address. */
	public static function hooks() {
		add_action( 'parse_request', guarded( array( __CLASS__, 'serve' ) ) );
	}

	/** Send the profile. Where there is none, WordPress says that there is no such page. */
	public static function serve() {
		$profile = self::profile();
		if ( '' === $profile ) {
			return;
		}
		header( 'Content-Type: application/json' );
		header( 'Cache-Control: public, max-age=' . self::FRESH );
		echo wp_json_encode( json_decode( $profile ), JSON_UNESCAPED_SLASHES );
		exit;
	}

	/**
	 * Return the profile; empty while it is off, here or in the service.
	 *
	 * @return string
	 */
	public static function profile() {
		if ( ! Settings::connected() || ! Settings::get( 'assistants' ) ) {
			return '';
		}
		$stored = get_transient( self::CACHE );
		if ( is_string( $stored ) ) {
			return $stored;
		}
		Api::hurry();
		$reply   = Api::read( '/ucp/' . rawurlencode( Settings::get( 'domain' ) ) . '/.well-known/ucp' );
		$profile = $reply->ok() && isset( $reply->json['ucp'] ) ? $reply->body : '';
		set_transient( self::CACHE, $profile, '' === $profile ? self::RETRY : self::FRESH );
		return $profile;
	}
}
