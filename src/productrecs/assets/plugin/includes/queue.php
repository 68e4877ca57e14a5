<?php
/**
 * Job queue: Action Scheduler where it is there, else WP-Cron. Jobs carry ids only.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** Enqueues jobs. A job may run twice, so each is idempotent. */
class Queue {

	const GROUP = 'product-recs';
	const JOBS  = array( 'product_recs_push', 'product_recs_orders', 'product_recs_scan', 'product_recs_full', 'product_recs_history', 'product_recs_currency', 'product_recs_customers', 'product_recs_nightly' );
	const WORK  = array( // What jobs are about, for the list of errors.
		'product_recs_orders'    => 'orders',
		'product_recs_full'      => 'products',
		'product_recs_history'   => 'past orders',
		'product_recs_scan'      => 'changed orders',
		'product_recs_customers' => 'customers',
	);
	const WAITS = array( 60, 300, 900, 3600, 10800, 21600 );
	const MOST  = 120; // attempts: a month, at four a day.
	const OLD   = 300; // seconds after which the holder of a lock is dead.

	/**
	 * Run a job after $delay seconds; one that waits already is not added again.
	 *
	 * Action Scheduler's own uniqueness ignores arguments in its version 3, so it is not used.
	 *
	 * @param string $hook      Which job.
	 * @param array  $arguments Its arguments: ids, and counts of attempts.
	 * @param int    $delay     Seconds from now.
	 */
	public static function add( $hook, array $arguments = array(), $delay = 0 ) {
		if ( ! self::waits( $hook, $arguments ) ) {
			self::put( $hook, $arguments, $delay );
		}
	}

	/**
	 * Put a job into the queue.
	 *
	 * @param string $hook      Which job.
	 * @param array  $arguments Its arguments.
	 * @param int    $delay     Seconds from now.
	 */
	private static function put( $hook, array $arguments, $delay ) {
		if ( ! self::has_scheduler() ) {
			wp_schedule_single_event( time() + $delay, $hook, $arguments );
		} elseif ( $delay > 0 ) {
			as_schedule_single_action( time() + $delay, $hook, $arguments, self::GROUP );
		} else {
			as_enqueue_async_action( $hook, $arguments, self::GROUP );
		}
	}

	/**
	 * Run a job again after a failure; the waits grow from a minute to six hours.
	 *
	 * @param string $hook      Which job.
	 * @param array  $arguments Its arguments without the attempt.
	 * @param int    $attempt   Attempts made so far.
	 * @return bool False after a month.
	 */
	public static function retry( $hook, array $arguments, $attempt ) {
		if ( $attempt >= self::MOST ) {
			return false;
		}
		$wait        = self::WAITS[ min( $attempt, count( self::WAITS ) - 1 ) ];
		$arguments[] = $attempt + 1;
		self::add( $hook, $arguments, $wait );
		return true;
	}

	/**
	 * Run a job soon, unless it waits already, for a retry perhaps.
	 *
	 * @param string $hook Which job.
	 */
	public static function wake( $hook ) {
		if ( ! self::waits( $hook ) ) {
			self::put( $hook, array(), 0 );
		}
	}

	/**
	 * Return whether this job waits already.
	 *
	 * @param string     $hook      Which job.
	 * @param array|null $arguments Its arguments, of the same types as when it was added; null for any.
	 * @return bool
	 */
	public static function waits( $hook, $arguments = null ) {
		if ( ! self::has_scheduler() ) {
			return null === $arguments ? in_array( $hook, self::cron_hooks(), true ) : (bool) wp_next_scheduled( $hook, $arguments );
		}
		if ( function_exists( 'as_get_scheduled_actions' ) ) {
			// A job that runs just now may have read its products already, so it does not count.
			$asked = array(
				'hook'     => $hook,
				'group'    => self::GROUP,
				'status'   => 'pending',
				'per_page' => 1,
			);
			if ( null !== $arguments ) {
				$asked['args'] = $arguments;
			}
			return (bool) as_get_scheduled_actions( $asked, 'ids' );
		}
		return (bool) as_next_scheduled_action( $hook, $arguments, self::GROUP );
	}

	/**
	 * Take the lock of a job; false when another process holds it.
	 *
	 * @param string $hook Which job.
	 * @return bool
	 */
	public static function lock( $hook ) {
		global $wpdb;
		$name  = 'product_recs_lock_' . $hook;
		$taken = $wpdb->query( $wpdb->prepare( "INSERT IGNORE INTO {$wpdb->options} (option_name, option_value, autoload) VALUES (%s, %s, 'no')", $name, time() ) ); // phpcs:ignore WordPress.DB.DirectDatabaseQuery -- add_option() overwrites.
		if ( ! $taken ) {
			$taken = $wpdb->query( $wpdb->prepare( "UPDATE {$wpdb->options} SET option_value = %s WHERE option_name = %s AND option_value < %s", time(), $name, time() - self::OLD ) ); // phpcs:ignore WordPress.DB.DirectDatabaseQuery -- its process died.
		}
		return (bool) $taken;
	}

	/**
	 * Return the lock of a job.
	 *
	 * @param string $hook Which job.
	 */
	public static function unlock( $hook ) {
		global $wpdb;
		$wpdb->query( $wpdb->prepare( "DELETE FROM {$wpdb->options} WHERE option_name = %s", 'product_recs_lock_' . $hook ) ); // phpcs:ignore WordPress.DB.DirectDatabaseQuery -- as above.
	}

	/**
	 * Find work whose job vanished, and start it again; the list of errors says so.
	 *
	 * A process that began before the plugin was activated takes jobs and does not know them. This
	 * runs in wp-admin and in WP-Cron, once a minute, and not on shoppers' pages.
	 */
	public static function watch() {
		if ( ! Settings::connected() || time() - (int) get_option( 'product_recs_watched', 0 ) < 60 ) {
			return;
		}
		update_option( 'product_recs_watched', time(), false );
		self::schedule_nightly();
		if ( get_option( 'product_recs_resume' ) ) {
			delete_option( 'product_recs_resume' );
			Sync::nightly();
			return;
		}
		$work = array(
			'product_recs_orders'    => (bool) Outbox::next( 1 ),
			'product_recs_full'      => 'running' === Sync::state()['state'],
			'product_recs_history'   => History::is_listing(),
			'product_recs_scan'      => false !== get_option( Orders::SCAN ),
			'product_recs_customers' => Customers::is_linking(),
		);
		foreach ( array_keys( array_filter( $work ) ) as $hook ) {
			if ( self::waits( $hook ) || ! self::lock( $hook ) ) {
				continue; // It waits, or runs.
			}
			self::unlock( $hook );
			record_error( self::WORK[ $hook ], __( 'The background job had vanished. It was started again.', 'service-recommender' ) );
			self::add( $hook );
		}
	}

	/** Schedule the nightly comparison, once. */
	public static function schedule_nightly() {
		if ( self::has_scheduler() ) {
			if ( ! as_has_scheduled_action( 'product_recs_nightly', array(), self::GROUP ) ) {
				as_schedule_recurring_action( self::tonight(), DAY_IN_SECONDS, 'product_recs_nightly', array(), self::GROUP );
			}
		} elseif ( ! wp_next_scheduled( 'product_recs_nightly' ) ) {
			wp_schedule_event( self::tonight(), 'daily', 'product_recs_nightly' );
		}
	}

	/** Take every job of ours out of the queue. */
	public static function clear() {
		foreach ( self::JOBS as $hook ) {
			if ( function_exists( 'as_unschedule_all_actions' ) ) {
				as_unschedule_all_actions( $hook );
			}
			wp_unschedule_hook( $hook );
		}
	}

	/**
	 * Return how many jobs wait, and the seconds since the first was due.
	 *
	 * @return array Of `length` and `age`.
	 */
	public static function backlog() {
		$due = array();
		if ( self::has_scheduler() && function_exists( 'as_get_scheduled_actions' ) ) {
			foreach ( array_diff( self::JOBS, array( 'product_recs_nightly' ) ) as $hook ) {
				$found = as_get_scheduled_actions(
					array(
						'hook'     => $hook,
						'group'    => self::GROUP,
						'status'   => 'pending',
						'per_page' => 1000,
						'orderby'  => 'date',
						'order'    => 'ASC',
					)
				);
				foreach ( $found as $action ) {
					$date  = $action->get_schedule()->get_date();
					$due[] = $date ? $date->getTimestamp() : time();
				}
			}
		} else {
			foreach ( (array) _get_cron_array() as $time => $hooks ) {
				foreach ( array_intersect( array_keys( (array) $hooks ), self::JOBS ) as $hook ) {
					if ( 'product_recs_nightly' !== $hook ) {
						$due[] = (int) $time;
					}
				}
			}
		}
		return array(
			'length' => count( $due ),
			'age'    => $due ? max( 0, time() - min( $due ) ) : 0,
		);
	}

	/**
	 * Return the hooks that WP-Cron will run.
	 *
	 * @return array
	 */
	private static function cron_hooks() {
		$hooks = array();
		foreach ( (array) _get_cron_array() as $at ) {
			$hooks = array_merge( $hooks, array_keys( (array) $at ) );
		}
		return $hooks;
	}

	/**
	 * Return whether Action Scheduler takes jobs.
	 *
	 * @return bool
	 */
	private static function has_scheduler() {
		return function_exists( 'as_enqueue_async_action' ) && ( ! class_exists( '\ActionScheduler' ) || \ActionScheduler::is_initialized() );
	}

	/**
	 * Return the next 03:00 of the shop, and some minutes, so that shops do not all come at once.
	 *
	 * @return int
	 */
	private static function tonight() {
		$night = new \DateTimeImmutable( 'tomorrow 03:00', wp_timezone() );
		return $night->getTimestamp() + crc32( home_url() ) % 3600;
	}
}
