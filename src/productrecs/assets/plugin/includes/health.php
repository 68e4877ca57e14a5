<?php
/**
 * Health: what is connected, synced, waiting and wrong; and the privacy text.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** The health panel, WordPress's Site Health, and the privacy policy's suggestion. */
class Health {

	const OLD = 1800; // seconds that a job may wait.

	/** Add the Site Health test and the privacy text. */
	public static function hooks() {
		add_filter(
			'site_status_tests',
			guarded(
				function ( $tests ) {
					$tests['async']['product_recs'] = array(
						'label'             => __( 'Recommendations', 'service-recommender' ),
						'test'              => rest_url( 'product-recs/v1/site-health' ),
						'has_rest'          => true,
						'async_direct_test' => array( __CLASS__, 'site_health' ),
					);
					return $tests;
				}
			)
		);
		add_action(
			'rest_api_init',
			guarded(
				function () {
					register_rest_route(
						'product-recs/v1',
						'/site-health',
						array(
							'methods'             => 'GET',
							'callback'            => array( __CLASS__, 'site_health' ),
							'permission_callback' => function () {
								return current_user_can( 'view_site_health_checks' );
							},
						)
					);
				}
			)
		);
		add_action(
			'admin_init',
			guarded(
				function () {
					if ( function_exists( 'wp_add_privacy_policy_content' ) ) {
						wp_add_privacy_policy_content( 'ProductRecs', wp_kses_post( '<p>' . self::privacy() . '</p>' ) );
					}
				}
			)
		);
	}

	/**
	 * Return what a shop may write into its privacy policy.
	 *
	 * @return string
	 */
	private static function privacy() {
		return __( 'To recommend products, we store a random id in your browser and send it to our own recommendation service, together with the products that you view, put into the cart and buy. When you are signed in, an id of our shop takes its place, which does not contain your customer number. Your name and your e-mail address are not sent. A cookie named pr_sid holds the same id for 180 days, so that your orders count. When somebody who runs the shop opens the dashboard of the service, their e-mail address is sent, to sign them in.', 'service-recommender' );
	}

	/**
	 * Return what is wrong, each with its remedy.
	 *
	 * @param Reply $status The service's status.
	 * @return array
	 */
	public static function problems( Reply $status ) {
		$problems = array();
		$backlog  = Queue::backlog();
		if ( $backlog['age'] > self::OLD ) {
			/* translators: 1: number of jobs, 2: minutes. */
			$problems[] = sprintf( __( '%1$d jobs wait, the first for %2$d minutes. WordPress runs none: ask your host to call wp-cron.php every minute.', 'service-recommender' ), $backlog['length'], (int) ( $backlog['age'] / 60 ) );
		}
		$since = Outbox::first_due();
		if ( $since && time() - $since > self::OLD ) {
			/* translators: 1: number of orders, 2: minutes. */
			$problems[] = sprintf( __( '%1$d orders wait, the first for %2$d minutes. They are sent in their order, once the service takes them.', 'service-recommender' ), Outbox::count(), (int) ( ( time() - $since ) / 60 ) );
		}
		if ( ! $status->ok() ) {
			$problems[] = $status->remedy();
		}
		$pictures = self::pictures( $status );
		if ( $pictures['failed'] > array_sum( $pictures ) / 10 ) {
			/* translators: 1 and 2: numbers of pictures, 3: a message of the service, in English. */
			$problems[] = sprintf( __( 'The service could not fetch %1$d of %2$d product pictures. Search by photo and similar products leave these products out. It says: %3$s', 'service-recommender' ), $pictures['failed'], array_sum( $pictures ), isset( $status->json['images']['usual_failure'] ) ? $status->json['images']['usual_failure'] : '-' );
		}
		return $problems;
	}

	/**
	 * Return how many product pictures the service has indexed, still has to fetch, or could not.
	 *
	 * @param Reply $status The service's status.
	 * @return array Of `indexed`, `pending` and `failed`.
	 */
	private static function pictures( Reply $status ) {
		$told = isset( $status->json['images'] ) ? (array) $status->json['images'] : array();
		$none = array(
			'indexed' => 0,
			'pending' => 0,
			'failed'  => 0,
		);
		return array_map( 'intval', array_merge( $none, array_intersect_key( $told, $none ) ) );
	}

	/**
	 * Return the result of the Site Health test.
	 *
	 * @return array
	 */
	public static function site_health() {
		Api::hurry();
		$problems = Settings::connected() ? self::problems( Api::call( 'GET', '/integration/status' ) ) : array();
		$label    = $problems ? __( 'Recommendations need attention', 'service-recommender' ) : __( 'Recommendations work', 'service-recommender' );
		if ( ! Settings::connected() ) {
			$label = __( 'Recommendations are not connected', 'service-recommender' );
		}
		return array(
			'label'       => $label,
			'status'      => $problems || ! Settings::connected() ? 'recommended' : 'good',
			'badge'       => array(
				'label' => 'ProductRecs',
				'color' => 'blue',
			),
			'description' => '<p>' . esc_html( implode( ' ', $problems ) ) . '</p>',
			'actions'     => '<a href="' . esc_url( admin_url( 'admin.php?page=' . Admin::PAGE ) ) . '">' . esc_html__( 'Settings', 'service-recommender' ) . '</a>',
			'test'        => 'product_recs',
		);
	}

	/**
	 * Return the debug report: no key, no address of a person.
	 *
	 * @param Reply $status The service's status.
	 * @return array
	 */
	public static function report( Reply $status ) {
		$backlog = Queue::backlog();
		$sync    = Sync::state();
		$told    = array_merge(
			array(
				'created'   => 0,
				'unnoticed' => 0,
				'failed'    => 0,
			),
			$sync['told']
		);
		return array(
			__( 'Connected', 'service-recommender' )      => $status->ok() ? __( 'yes', 'service-recommender' ) : $status->remedy(),
			__( 'Store', 'service-recommender' )          => Settings::get( 'domain' ),
			__( 'Products in the shop', 'service-recommender' ) => sprintf( /* translators: 1 and 2: numbers of products. */ __( '%1$d, and %2$d hidden', 'service-recommender' ), Sync::count() - Sync::hidden(), Sync::hidden() ),
			__( 'Products in the service', 'service-recommender' ) => isset( $status->json['catalog_items'] ) ? $status->json['catalog_items'] : '-',
			__( 'Pictures in the service', 'service-recommender' ) => vsprintf( /* translators: 1, 2 and 3: numbers of pictures. */ __( '%1$d indexed, %2$d wait, %3$d failed', 'service-recommender' ), array_values( self::pictures( $status ) ) ),
			__( 'Last push', 'service-recommender' )      => self::when( (int) get_option( 'product_recs_last_push', 0 ) ),
			__( 'Last full comparison', 'service-recommender' ) => self::when( $sync['ended'] ),
			__( 'Repaired by it', 'service-recommender' ) => sprintf(
				/* translators: 1, 2, 3 and 4: numbers of products. */
				__( '%1$d were missing, %2$d had changed unnoticed, %3$d were gone, %4$d were refused', 'service-recommender' ),
				$told['created'],
				$told['unnoticed'],
				$sync['gone'],
				$told['failed']
			),
			__( 'Orders of 30 days in the service', 'service-recommender' ) => isset( $status->json['orders_30d'] ) ? $status->json['orders_30d'] : '-',
			__( 'Last training', 'service-recommender' )  => self::when( isset( $status->json['last_trained'] ) ? (int) strtotime( implode( ' ', array_slice( array_filter( (array) $status->json['last_trained'] ), 0, 1 ) ) ) : 0 ),
			__( 'Orders that wait', 'service-recommender' ) => Outbox::count(),
			__( 'Jobs that wait', 'service-recommender' ) => $backlog['length'] ? sprintf( /* translators: 1: number of jobs, 2: seconds. */ __( '%1$d, the first for %2$d s', 'service-recommender' ), $backlog['length'], $backlog['age'] ) : 0,
			'ProductRecs'                                 => VERSION,
			'WooCommerce'                                 => defined( 'WC_VERSION' ) ? WC_VERSION : '-',
			'WordPress'                                   => get_bloginfo( 'version' ),
			'PHP'                                         => PHP_VERSION,
		);
	}

	/** Draw the panel, once the service answered or a second is over. */
	public static function draw() {
		$status = Api::call( 'GET', '/integration/status' );
		echo '<table class="widefat striped"><tbody>';
		$text = '';
		foreach ( self::report( $status ) as $name => $value ) {
			echo '<tr><th scope="row">' . esc_html( $name ) . '</th><td>' . esc_html( (string) $value ) . '</td></tr>';
			$text .= $name . ': ' . $value . "\n";
		}
		echo '</tbody></table>';
		foreach ( self::problems( $status ) as $problem ) {
			echo '<div class="notice notice-warning inline"><p>' . esc_html( $problem ) . '</p></div>';
		}
		$errors = (array) get_option( 'product_recs_errors', array() );
		if ( $errors ) {
			echo '<h3>' . esc_html__( 'Last errors', 'service-recommender' ) . '</h3><ul>';
			foreach ( $errors as $error ) {
				$line = self::when( $error['time'] ) . ', ' . $error['what'] . ': ' . $error['why'];
				echo '<li>' . esc_html( $line ) . '</li>';
				$text .= $line . "\n";
			}
			echo '</ul>';
		}
		echo '<p><label for="pr-report">' . esc_html__( 'Report to copy', 'service-recommender' ) . '</label><br><textarea id="pr-report" class="large-text code" rows="4" readonly>' . esc_textarea( $text ) . '</textarea></p>';
		echo '<div style="display:flex;flex-wrap:wrap;gap:8px;margin-block:1em">';
		Admin::form( 'resync' );
		submit_button( __( 'Sync again', 'service-recommender' ), 'secondary', 'submit', false );
		echo '</form>';
		Admin::waiting_form( 'test_order' );
		submit_button( __( 'Send the last order again', 'service-recommender' ), 'secondary', 'submit', false );
		echo '</form>';
		echo '</div>';
	}

	/**
	 * Return a time for people.
	 *
	 * @param int $time Seconds since 1970.
	 * @return string
	 */
	private static function when( $time ) {
		return $time ? wp_date( 'Y-m-d H:i', $time ) : '-';
	}
}
