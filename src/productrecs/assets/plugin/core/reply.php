<?php
/**
 * Reply: what the service answered, and what a merchant can do about it.
 *
 * Part of the core that the shop systems' archives share: nothing here is WordPress's own. `__()` is
 * the one of this namespace where the shop system has none.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || defined( 'ABSPATH' ) || exit;

/** A reply: `status` is 0 when the service was not reached. */
class Reply {

	/**
	 * The HTTP status.
	 *
	 * @var int
	 */
	public $status = 0;

	/**
	 * The decoded body.
	 *
	 * @var array
	 */
	public $json = array();

	/**
	 * The body as it came.
	 *
	 * @var string
	 */
	public $body = '';

	/**
	 * Why there is no reply; of a redirect, where to.
	 *
	 * @var string
	 */
	public $error = '';

	/**
	 * Return whether the call succeeded.
	 *
	 * @return bool
	 */
	public function ok() {
		return $this->status >= 200 && $this->status < 300;
	}

	/**
	 * Return whether the same call may succeed later.
	 *
	 * @return bool
	 */
	public function retryable() {
		// Any other refusal may come from a proxy, a wrong address or a replaced key.
		$is_final = in_array( $this->status, array( 400, 402, 413, 415, 422 ), true );
		return $this->ok() ? ! $this->json : ! $is_final;
	}

	/**
	 * Return the error code of the service.
	 *
	 * @return string
	 */
	public function code() {
		return isset( $this->json['code'] ) ? (string) $this->json['code'] : '';
	}

	/**
	 * Return the type of the first problem of a refused body.
	 *
	 * @return string
	 */
	public function problem() {
		return isset( $this->json['detail'][0]['type'] ) ? (string) $this->json['detail'][0]['type'] : '';
	}

	/**
	 * Return the field of the first problem of a refused body.
	 *
	 * @return string
	 */
	public function problem_field() {
		return isset( $this->json['detail'][0]['loc'] ) ? (string) implode( '.', array_slice( (array) $this->json['detail'][0]['loc'], -1 ) ) : '';
	}

	/**
	 * Return what is wrong and what the merchant can do, in their language.
	 *
	 * @return string
	 */
	public function remedy() {
		if ( 0 === $this->status ) {
			/* translators: %s: a technical message. */
			return sprintf( __( 'The service did not answer (%s). Check the address, and that the service runs and this server may reach it.', 'service-recommender' ), $this->error );
		}
		if ( $this->status >= 300 && $this->status < 400 ) {
			/* translators: %s: the address that it leads to. */
			return sprintf( __( 'This address redirects (%s). Enter the address of the service itself.', 'service-recommender' ), '' === $this->error ? (string) $this->status : $this->error );
		}
		if ( 'secret_key_required' === $this->code() ) {
			return __( 'A publishable key (pk_) is in the field of the secret key (sk_). Enter the secret key.', 'service-recommender' );
		}
		if ( 401 === $this->status ) {
			return __( 'The service does not know this key. Copy it again; the dashboard makes a new secret key under "Keys and plan".', 'service-recommender' );
		}
		if ( 'plan_limit_catalog' === $this->code() ) {
			return __( 'Your plan allows no more products. Products that the service knows are still updated. Choose a larger plan, then press "Sync again".', 'service-recommender' );
		}
		if ( 'billing_inactive' === $this->code() ) {
			return __( 'Your trial or plan ended, or your store is suspended. Choose a plan in the dashboard, or ask who runs the service; then press "Sync again".', 'service-recommender' );
		}
		if ( 404 === $this->status || ( $this->ok() && ! $this->json ) ) {
			return __( 'There is no ProductRecs service at this address. Enter its address without a path, such as https://recs.example.com.', 'service-recommender' );
		}
		if ( 'other_store' === $this->problem() ) {
			return __( 'These are keys of two stores. Copy both keys of one store.', 'service-recommender' );
		}
		$detail = isset( $this->json['detail'] ) ? $this->json['detail'] : '';
		if ( is_array( $detail ) ) { // One entry for each field that was refused.
			$first  = isset( $detail[0] ) && is_array( $detail[0] ) ? $detail[0] : array();
			$detail = isset( $first['loc'], $first['msg'] ) ? implode( '.', (array) $first['loc'] ) . ': ' . $first['msg'] : '';
		}
		/* translators: 1: HTTP status, 2: message of the service. */
		return sprintf( __( 'The service answered %1$d. %2$s', 'service-recommender' ), $this->status, $detail );
	}
}
