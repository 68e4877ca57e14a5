<?php
/**
 * Catalog sync: pushes products in jobs, all of them at first, and compares them each night.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** The jobs of the catalog. */
class Sync {

	const PAGE  = 200; // products of one step of a full sync.
	const STATE = 'product_recs_sync';
	const IDS   = 1000; // of a page of the service's list.

	/** Listen to the jobs, and to how the shop writes prices. */
	public static function hooks() {
		foreach ( array( 'currency', 'currency_pos', 'price_thousand_sep', 'price_decimal_sep', 'price_num_decimals' ) as $option ) {
			add_action( 'update_option_woocommerce_' . $option, guarded( array( __CLASS__, 'currency_changed' ) ), 10, 0 );
		}
		add_action( 'product_recs_currency', guarded( array( __CLASS__, 'currency_job' ) ) );
		add_action( 'product_recs_push', guarded( array( __CLASS__, 'push_job' ) ), 10, 2 );
		add_action( 'product_recs_full', guarded( array( __CLASS__, 'full_job' ) ) );
		add_action( 'product_recs_nightly', guarded( array( __CLASS__, 'nightly' ) ) );
	}

	/** Note that the currency, or how the shop writes prices, changed. */
	public static function currency_changed() {
		if ( Settings::connected() ) {
			Queue::add( 'product_recs_currency' );
		}
	}

	/**
	 * Job: tell the service the currency again.
	 *
	 * @param int $attempt Attempts made so far.
	 */
	public static function currency_job( $attempt = 0 ) {
		if ( self::tell_currency()->retryable() ) {
			Queue::retry( 'product_recs_currency', array(), (int) $attempt );
		}
	}

	/**
	 * Tell the service the shop's address, its currency and how it writes prices.
	 *
	 * @return Reply
	 */
	public static function tell_currency() {
		$told   = array(
			'store_url' => home_url( '/' ),
			'currency'  => get_woocommerce_currency(),
		);
		$number = number_format( 1234, wc_get_price_decimals(), wc_get_price_decimal_separator(), wc_get_price_thousand_separator() );
		$price  = html_entity_decode( sprintf( get_woocommerce_price_format(), get_woocommerce_currency_symbol(), $number ), ENT_QUOTES, 'UTF-8' );
		if ( preg_match( '/1\D?234(?:\D0+)?(?!\d)/u', $price ) && preg_match( '/^.{0,40}$/us', $price ) ) {
			$told['price_format'] = $price; // Widgets write others as the page's language does.
		}
		return Api::call( 'POST', '/integration/engines/init', $told );
	}

	/**
	 * Job: push these products as they are now; what shoppers cannot see is deleted.
	 *
	 * @param array $ids     Ids of products.
	 * @param int   $attempt Attempts made so far.
	 */
	public static function push_job( $ids, $attempt = 0 ) {
		$ids  = array_map( 'intval', (array) $ids );
		$left = self::push( $attempt ? $ids : array_values( array_unique( array_merge( $ids, self::groups_of( $ids ) ) ) ) );
		if ( $left && ! Queue::retry( 'product_recs_push', array( $left ), (int) $attempt ) ) {
			record_error( 'products', 'gave up after a month: ' . implode( ', ', $left ) );
		}
	}

	/**
	 * Return the grouped products that show the prices of some products.
	 *
	 * @param array $ids Ids of products.
	 * @return array
	 */
	private static function groups_of( array $ids ) {
		global $wpdb;
		$groups = array();
		foreach ( $wpdb->get_results( "SELECT post_id, meta_value FROM {$wpdb->postmeta} WHERE meta_key = '_children'" ) as $row ) { // phpcs:ignore WordPress.DB -- WooCommerce cannot look for a child.
			if ( array_intersect( array_map( 'intval', (array) maybe_unserialize( $row->meta_value ) ), $ids ) ) {
				$groups[] = (int) $row->post_id;
			}
		}
		return $groups;
	}

	/**
	 * Push products.
	 *
	 * @param array $ids  Ids of products.
	 * @param array $told Gets what happened: `pushed`, `created`, `unnoticed`, `failed`.
	 * @return array Ids to try again later.
	 */
	public static function push( array $ids, array &$told = array() ) {
		$told  = array_merge(
			array(
				'pushed'    => 0,
				'created'   => 0,
				'unnoticed' => 0,
				'failed'    => 0,
			),
			$told
		);
		$items = array();
		$gone  = array();
		foreach ( Items::all( $ids ) as $id => $item ) {
			if ( null === $item ) {
				$gone[] = $id;
			} else {
				$items[] = $item;
			}
		}
		$left = self::send( $items, $told );
		foreach ( $gone as $id ) {
			$reply = Api::call( 'DELETE', '/v1/items/' . rawurlencode( (string) $id ) );
			if ( $reply->retryable() && 'item_unknown' !== $reply->code() ) {
				$left[] = $id;
				if ( 0 === $reply->status ) {
					break; // Nobody answers, so the others wait as well.
				}
			} else {
				delete_post_meta( $id, Items::HASH );
			}
		}
		if ( isset( $reply ) && 0 === $reply->status ) {
			$left = array_values( array_unique( array_merge( $left, $gone ) ) );
		}
		return $left;
	}

	/**
	 * Send items in one push; an item that is refused does not hold up the others.
	 *
	 * @param array $items The items.
	 * @param array $told  Gets what happened.
	 * @return array Ids to try again later.
	 */
	private static function send( array $items, array &$told ) {
		if ( ! $items ) {
			return array();
		}
		$ids   = array_map( 'intval', array_column( $items, 'id' ) );
		$reply = Api::call( 'POST', '/v1/items', array( 'items' => $items ) );
		if ( $reply->ok() && $reply->json ) {
			foreach ( $items as $item ) {
				$hash   = Items::hash( $item );
				$before = get_post_meta( (int) $item['id'], Items::HASH, true );
				if ( 0 === strpos( (string) $before, VERSION . ' ' ) && $hash !== $before ) {
					++$told['unnoticed'];
				}
				if ( $hash !== $before ) {
					update_post_meta( (int) $item['id'], Items::HASH, $hash );
				}
			}
			$told['pushed']  += count( $items );
			$told['created'] += isset( $reply->json['created'] ) ? (int) $reply->json['created'] : 0;
			update_option( 'product_recs_last_push', time(), false );
			return array();
		}
		if ( 422 === $reply->status ) {
			return self::send_valid( $items, $reply, $told );
		}
		if ( 'plan_limit_catalog' === $reply->code() ) {
			$known = array_values(
				array_filter(
					$items,
					function ( $item ) {
						return '' !== (string) get_post_meta( (int) $item['id'], Items::HASH, true );
					}
				)
			);
			record_error( 'products', $reply->remedy() );
			$told['failed'] += count( $items ) - count( $known );
			return count( $known ) < count( $items ) ? self::send( $known, $told ) : array();
		}
		record_error( 'products', $reply->remedy() );
		if ( $reply->retryable() ) {
			return $ids;
		}
		$told['failed'] += count( $items );
		return array();
	}

	/**
	 * Send what the service did not refuse of a push that it refused with 422.
	 *
	 * @param array $items The items.
	 * @param Reply $reply The refusal.
	 * @param array $told  Gets what happened.
	 * @return array Ids to try again later.
	 */
	private static function send_valid( array $items, Reply $reply, array &$told ) {
		$valid = $items;
		foreach ( isset( $reply->json['detail'] ) ? (array) $reply->json['detail'] : array() as $problem ) {
			$place = isset( $problem['loc'][2] ) && is_numeric( $problem['loc'][2] ) ? (int) $problem['loc'][2] : -1;
			if ( isset( $valid[ $place ] ) ) {
				record_error( 'product ' . $valid[ $place ]['id'], (string) $problem['msg'] );
				unset( $valid[ $place ] );
				++$told['failed'];
			}
		}
		if ( count( $valid ) === count( $items ) ) {
			record_error( 'products', $reply->remedy() );
			$told['failed'] += count( $items );
			return array();
		}
		return self::send( array_values( $valid ), $told );
	}

	/** Begin a full sync; one that runs is left behind. */
	public static function begin() {
		update_option(
			self::STATE,
			array(
				'state' => 'running',
				'after' => 0,
				'done'  => 0,
				'total' => self::count(),
				'begun' => time(),
				'told'  => array(),
			),
			false
		);
		Queue::add( 'product_recs_full' );
	}

	/**
	 * Job: one step of the full sync, then the next.
	 *
	 * @param int $attempt Attempts of this step made so far.
	 */
	public static function full_job( $attempt = 0 ) {
		$before = self::state();
		if ( 'running' !== $before['state'] ) {
			return;
		}
		self::step();
		$now = self::state();
		if ( 'running' === $now['state'] ) {
			if ( $now === $before ) {
				Queue::retry( 'product_recs_full', array(), (int) $attempt );
			} else {
				Queue::add( 'product_recs_full' );
			}
		}
	}

	/** Push the next page of the full sync, or compare the next. The job and the open settings screen both call it. */
	public static function step() {
		$state = self::state();
		if ( 'running' !== $state['state'] || ! Queue::lock( 'product_recs_full' ) ) {
			return;
		}
		try {
			$state = $state['is_pushed'] ? self::compare( $state ) : self::push_page( $state );
			if ( $state ) {
				update_option( self::STATE, $state, false );
			}
		} finally {
			Queue::unlock( 'product_recs_full' );
		}
	}

	/**
	 * Push the next page of products.
	 *
	 * @param array $state Where the full sync is.
	 * @return array|null Where it is then; null when the service does not answer.
	 */
	private static function push_page( array $state ) {
		$ids = self::ids_after( $state['after'] );
		if ( $ids ) {
			if ( self::push( $ids, $state['told'] ) ) {
				return null; // The same page comes again.
			}
			$state['after'] = max( $ids );
			$state['done'] += count( $ids );
		}
		$state['is_pushed'] = count( $ids ) < self::PAGE;
		return $state;
	}

	/**
	 * Delete of the next page of the service's list what is not in the shop.
	 *
	 * Ids that are no numbers are no products of WooCommerce: somebody else pushed them.
	 *
	 * @param array $state Where the full sync is.
	 * @return array|null Where it is then; null when the service does not answer.
	 */
	private static function compare( array $state ) {
		$reply = Api::call( 'GET', '/v1/items?fields=id&limit=' . self::IDS . ( $state['cursor'] ? '&cursor=' . rawurlencode( $state['cursor'] ) : '' ) );
		if ( ! $reply->ok() || ! isset( $reply->json['items'] ) ) {
			record_error( 'products', $reply->remedy() );
			return null;
		}
		$gone = array_diff( array_map( 'intval', preg_grep( '/^[1-9]\d{0,18}$/', $reply->json['items'] ) ), self::published( $reply->json['items'] ) );
		if ( self::push( array_values( $gone ) ) ) {
			return null;
		}
		$state['gone']  += count( $gone );
		$state['cursor'] = (string) $reply->json['next'];
		if ( '' === $state['cursor'] ) {
			$state['state'] = 'done';
			$state['ended'] = time();
		}
		return $state;
	}

	/** Job: compare everything with the service, repair it and report it; find orders never sent. */
	public static function nightly() {
		if ( ! Settings::connected() ) {
			return;
		}
		self::begin();
		self::currency_changed(); // Filters may change it without an option.
		Orders::begin_scan();
	}

	/**
	 * Return where the full sync is.
	 *
	 * @return array
	 */
	public static function state() {
		$state = get_option( self::STATE, array() );
		return array_merge(
			array(
				'state'     => 'none',
				'after'     => 0,
				'is_pushed' => false,
				'cursor'    => '',
				'done'      => 0,
				'total'     => 0,
				'begun'     => 0,
				'ended'     => 0,
				'told'      => array(),
				'gone'      => 0,
			),
			is_array( $state ) ? $state : array()
		);
	}

	/**
	 * Return how many products are published.
	 *
	 * @return int
	 */
	public static function count() {
		global $wpdb;
		return (int) $wpdb->get_var( "SELECT COUNT(*) FROM {$wpdb->posts} WHERE post_type = 'product' AND post_status = 'publish'" ); // phpcs:ignore WordPress.DB.DirectDatabaseQuery -- a count by status alone.
	}

	/**
	 * Return how many of the published products shoppers find nowhere.
	 *
	 * @return int
	 */
	public static function hidden() {
		global $wpdb;
		$terms = wc_get_product_visibility_term_ids();
		return (int) $wpdb->get_var( $wpdb->prepare( "SELECT COUNT(*) FROM {$wpdb->posts} WHERE post_type = 'product' AND post_status = 'publish' AND (post_password <> '' OR ID IN (SELECT object_id FROM {$wpdb->term_relationships} WHERE term_taxonomy_id IN (%d, %d) GROUP BY object_id HAVING COUNT(*) = 2))", $terms['exclude-from-catalog'], $terms['exclude-from-search'] ) ); // phpcs:ignore WordPress.DB.DirectDatabaseQuery -- a count.
	}

	/**
	 * Return those of some ids that are published products.
	 *
	 * @param array $ids Ids.
	 * @return array
	 */
	private static function published( array $ids ) {
		global $wpdb;
		if ( ! $ids ) {
			return array();
		}
		$sql = $wpdb->prepare( "SELECT ID FROM {$wpdb->posts} WHERE post_type = 'product' AND post_status = 'publish' AND ID IN (" . implode( ', ', array_fill( 0, count( $ids ), '%d' ) ) . ')', $ids ); // phpcs:ignore WordPress.DB -- a list of %d.
		return array_map( 'intval', $wpdb->get_col( $sql ) ); // phpcs:ignore WordPress.DB -- prepared above.
	}

	/**
	 * Return the next published products, by id, so that changes meanwhile skip none.
	 *
	 * @param int $after The last id of the page before.
	 * @return array
	 */
	private static function ids_after( $after ) {
		global $wpdb;
		$sql = $wpdb->prepare( "SELECT ID FROM {$wpdb->posts} WHERE post_type = 'product' AND post_status = 'publish' AND ID > %d ORDER BY ID LIMIT %d", $after, self::PAGE );
		return array_map( 'intval', $wpdb->get_col( $sql ) ); // phpcs:ignore WordPress.DB -- prepared above; WP_Query has no pages by id.
	}
}
