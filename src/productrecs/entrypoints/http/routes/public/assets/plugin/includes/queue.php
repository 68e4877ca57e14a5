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
	const JOBS  = array( 'product_recs_push', 'product_recs_send_order', 'product_recs_refund', 'product_recs_full', 'product_recs_history', 'product_recs_currency', 'product_recs_customers', 'product_recs_nightly' );
	const WAITS = array( 60, 300, 900, 3600, 10800, 21600 );
	const MOST  = 120; // attempts: a month, at four a day.

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
		if ( self::waits( $hook, $arguments ) ) {
			return;
		}
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
	 * Return whether this job waits already.
	 *
	 * @param string $hook      Which job.
	 * @param array  $arguments Its arguments, of the same types as when it was added.
	 * @return bool
	 */
	public static function waits( $hook, array $arguments ) {
		if ( ! self::has_scheduler() ) {
			return (bool) wp_next_scheduled( $hook, $arguments );
		}
		if ( function_exists( 'as_get_scheduled_actions' ) ) {
			// A job that runs just now may have read its products already, so it does not count.
			$found = as_get_scheduled_actions(
				array(
					'hook'     => $hook,
					'args'     => $arguments,
					'group'    => self::GROUP,
					'status'   => 'pending',
					'per_page' => 1,
				),
				'ids'
			);
			return ! empty( $found );
		}
		return (bool) as_next_scheduled_action( $hook, $arguments, self::GROUP );
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
