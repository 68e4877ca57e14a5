<?php
/**
 * Worker: does what is due, for some seconds. Cron, shoppers' pages and the settings screen start it.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || exit;

/** One process works at a time. When the service does not answer, all work waits, at most 15 minutes. */
class Worker {

	const WAITS = array( 60, 300, 900 );
	const PAUSE = 5;  // seconds between two runs that pages start.
	const NIGHT = 3;  // o'clock.
	const MONTH = 30; // days that the nightly looks back at most.

	/**
	 * The shop.
	 *
	 * @var Shop
	 */
	private $shop;

	/**
	 * The merchant's settings.
	 *
	 * @var Settings
	 */
	private $settings;

	/**
	 * What has to be told.
	 *
	 * @var Work_List
	 */
	private $list;

	/**
	 * The sync of products.
	 *
	 * @var Catalog_Sync
	 */
	private $catalog;

	/**
	 * Store what it works with.
	 *
	 * @param Shop $shop The shop.
	 */
	public function __construct( Shop $shop ) {
		$this->shop     = $shop;
		$this->settings = new Settings( $shop );
		$this->list     = new Work_List( $shop );
		$this->catalog  = new Catalog_Sync( $shop, $this->settings, $this->list );
	}

	/**
	 * Return whether there is work that may be done now.
	 *
	 * @return bool
	 */
	public function has_work() {
		if ( ! $this->settings->connected() || (int) $this->settings->value( 'retry_at', 0 ) > time() || (int) $this->settings->value( 'ran_at', 0 ) > time() - self::PAUSE ) {
			return false;
		}
		return $this->catalog->is_running() || $this->is_night_due() || $this->list->has_due();
	}

	/**
	 * Do what is due.
	 *
	 * @param int $seconds For how long.
	 * @return bool Whether work is left that may be done now.
	 */
	public function run( $seconds ) {
		if ( ! $this->has_work() || ! $this->settings->lock() ) {
			return false;
		}
		$until = microtime( true ) + $seconds;
		try {
			if ( $this->is_night_due() ) {
				$this->begin_night();
			}
			do {
				$is_done = $this->step( $until );
			} while ( $is_done && microtime( true ) < $until );
			$this->wait( false === $is_done );
			return (bool) $is_done;
		} catch ( \Throwable $error ) {
			$this->settings->record_error( 'module', $error->getMessage() . ' (' . basename( $error->getFile() ) . ':' . $error->getLine() . ')' );
			$this->wait( true );
			return false;
		} finally {
			$this->settings->put( 'ran_at', time() );
			$this->settings->unlock();
		}
	}

	/** Compare everything with the service: products now, and orders that changed since the last time. */
	public function begin_night() {
		$last  = (int) $this->settings->value( 'night_at', 0 );
		$first = (int) $this->settings->get( 'connected' );
		$since = $last ? max( $first, min( $last - Identity::DAY, time() - self::MONTH * Identity::DAY ) ) : $first;
		$this->settings->put( 'night_at', time() );
		$this->list->add_changed_orders( $since );
		$this->catalog->begin();
	}

	/** Begin everything from the start: all products, and past orders after all others. */
	public function begin() {
		$this->settings->put( 'night_at', time() );
		$this->settings->put( 'retry_at', null );
		$this->settings->put( 'ran_at', null );
		$this->list->add_history();
		$this->catalog->begin();
	}

	/**
	 * Return how far the work is, for the settings screen.
	 *
	 * @return array
	 */
	public function progress() {
		return array(
			'sync'     => $this->catalog->state(),
			'products' => $this->list->count( Work_List::PRODUCT ),
			'orders'   => $this->list->count( Work_List::ORDER ),
			'past'     => $this->list->count( Work_List::ORDER, true ),
			'retry_at' => (int) $this->settings->value( 'retry_at', 0 ),
			'errors'   => (array) $this->settings->value( 'errors', array() ),
		);
	}

	/**
	 * Do the next piece of work: new orders first, past ones last.
	 *
	 * @param float $until When to stop.
	 * @return bool|null False when the service did not answer; null when nothing is left.
	 */
	private function step( $until ) {
		$orders = new Order_Sender( $this->shop, $this->settings, $this->list );
		$done   = $orders->step( false, $until );
		$done   = null === $done ? $this->catalog->push_changed() : $done;
		$done   = null === $done ? $this->catalog->step() : $done;
		return null === $done ? $orders->step( true, $until ) : $done;
	}

	/**
	 * Store when to try again.
	 *
	 * @param bool $has_failed Whether the service did not answer.
	 */
	private function wait( $has_failed ) {
		$failed = $has_failed ? 1 + (int) $this->settings->value( 'failed', 0 ) : 0;
		$this->settings->put( 'failed', $failed ? $failed : null );
		$this->settings->put( 'retry_at', $failed ? time() + self::WAITS[ min( $failed, count( self::WAITS ) ) - 1 ] : null );
	}

	/**
	 * Return whether tonight's comparison has to begin.
	 *
	 * @return bool
	 */
	private function is_night_due() {
		$night = mktime( self::NIGHT, crc32( $this->shop->home() ) % 60, 0 );
		return (int) $this->settings->value( 'night_at', 0 ) < ( $night > time() ? $night - Identity::DAY : $night );
	}
}
