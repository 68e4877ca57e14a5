<?php
/**
 * Customers: ids that nobody can guess, and the signature that proves them.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** What the service calls a customer. WordPress numbers users 1, 2, 3, so the number is not told. */
class Customers {

	const OPTION = 'product_recs_customers';
	const PAGE   = 500; // customers of one call.

	/** Listen to the job, and show the id where a merchant looks for it. */
	public static function hooks() {
		add_action( 'product_recs_customers', guarded( array( __CLASS__, 'link_job' ) ) );
		foreach ( array( 'show_user_profile', 'edit_user_profile' ) as $hook ) {
			add_action( $hook, guarded( array( __CLASS__, 'profile' ) ) );
		}
	}

	/**
	 * Return what the service calls a user; empty for a visitor who is not signed in.
	 *
	 * @param int $user The user's number.
	 * @return string
	 */
	public static function id( $user ) {
		return $user > 0 ? Identity::id( (int) $user, self::secret() ) : '';
	}

	/**
	 * Return the signature of an id, as the service checks it; it is valid for one to two days.
	 *
	 * It changes once a day, so a page stays the same for its customer.
	 *
	 * @param string $id What the service calls the customer.
	 * @return string
	 */
	public static function identity( $id ) {
		return Identity::sign( $id, Settings::secret() );
	}

	/** Link the numbers that an earlier version sent to the ids of this one, once. */
	public static function begin_to_link() {
		self::secret();
		update_option( self::OPTION, array( 'linked' => 0 ) + (array) get_option( self::OPTION, array() ), true );
		Queue::add( 'product_recs_customers' );
	}

	/**
	 * Return whether earlier numbers still have to be linked.
	 *
	 * @return bool
	 */
	public static function is_linking() {
		return array_key_exists( 'linked', (array) get_option( self::OPTION, array() ) );
	}

	/**
	 * Job: link the next users, by number, then go on.
	 *
	 * @param int $attempt Attempts made so far.
	 */
	public static function link_job( $attempt = 0 ) {
		global $wpdb;
		$state = (array) get_option( self::OPTION, array() );
		if ( ! isset( $state['linked'] ) ) {
			return;
		}
		$users = array_map( 'intval', $wpdb->get_col( $wpdb->prepare( "SELECT ID FROM {$wpdb->users} WHERE ID > %d ORDER BY ID LIMIT %d", $state['linked'], self::PAGE ) ) ); // phpcs:ignore WordPress.DB.DirectDatabaseQuery -- WP_User_Query has no pages by number.
		if ( ! $users ) {
			unset( $state['linked'] );
			update_option( self::OPTION, $state, true );
			return;
		}
		$pairs = array();
		foreach ( $users as $user ) {
			$pairs[] = array(
				'old' => (string) $user,
				'new' => self::id( $user ),
			);
		}
		$reply = Api::call( 'POST', '/integration/customer-ids', array( 'customers' => $pairs ) );
		if ( ! $reply->ok() || empty( $reply->json['ok'] ) ) {
			record_error( 'customers', $reply->remedy() );
			Queue::retry( 'product_recs_customers', array(), (int) $attempt );
			return;
		}
		$state['linked'] = max( $users );
		update_option( self::OPTION, $state, true );
		Queue::add( 'product_recs_customers' );
	}

	/**
	 * Show on a user's page what the service calls them: an erasure asks for it.
	 *
	 * @param \WP_User $user The user.
	 */
	public static function profile( $user ) {
		if ( Settings::connected() && current_user_can( 'manage_woocommerce' ) ) {
			echo '<table class="form-table" role="presentation"><tr><th scope="row">' . esc_html__( 'Id in the recommendation service', 'service-recommender' ) . '</th><td><code>' . esc_html( self::id( (int) $user->ID ) ) . '</code></td></tr></table>';
		}
	}

	/**
	 * Return the shop's own secret for ids. It is made once; another one would be other customers.
	 *
	 * @return string
	 */
	private static function secret() {
		$state = (array) get_option( self::OPTION, array() );
		if ( empty( $state['secret'] ) ) {
			$state['secret'] = bin2hex( random_bytes( 32 ) );
			update_option( self::OPTION, $state, true );
		}
		return (string) $state['secret'];
	}
}
