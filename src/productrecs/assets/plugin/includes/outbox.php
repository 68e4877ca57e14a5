<?php
/**
 * Outbox: the list of orders that the service must be told of, and what it was told.
 *
 * A table of its own: it survives deactivation, keeps the order in which things happened, and
 * knows orders that were deleted since.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

// phpcs:disable WordPress.DB.DirectDatabaseQuery, WordPress.DB.PreparedSQL, WordPress.DB.PreparedSQLPlaceholders -- a table of our own; its name and lists of %d are ours.

/** A row of the table: `order_id`, when it became due or 0, how often it changed, and what was told. */
class Outbox {

	const HISTORY = 4294967295; // when past orders are due: after all others.

	/** Create the table. */
	public static function install() {
		global $wpdb;
		if ( ! function_exists( 'dbDelta' ) ) {
			require_once ABSPATH . 'wp-admin/includes/upgrade.php';
		}
		$table = self::table();
		dbDelta(
			"CREATE TABLE $table (
			order_id bigint(20) unsigned NOT NULL,
			due int(10) unsigned NOT NULL DEFAULT 0,
			changes int(10) unsigned NOT NULL DEFAULT 0,
			told longtext NULL,
			PRIMARY KEY  (order_id),
			KEY due (due)
			) {$wpdb->get_charset_collate()};"
		);
	}

	/** Drop the table. */
	public static function drop() {
		global $wpdb;
		$wpdb->query( 'DROP TABLE IF EXISTS ' . self::table() );
	}

	/**
	 * Note that orders changed. One that waits already keeps its place.
	 *
	 * @param array $ids Ids of orders.
	 * @param int   $due Its place in the list: now, or `HISTORY`.
	 */
	public static function add( array $ids, $due = 0 ) {
		global $wpdb;
		$due = $due ? $due : time();
		foreach ( array_chunk( $ids, 500 ) as $chunk ) {
			$rows = array();
			foreach ( $chunk as $id ) {
				$rows[] = $wpdb->prepare( '(%d, %d, 1)', $id, $due );
			}
			$wpdb->query( 'INSERT INTO ' . self::table() . ' (order_id, due, changes) VALUES ' . implode( ', ', $rows ) . ' ON DUPLICATE KEY UPDATE due = IF(due = 0 OR due > VALUES(due), VALUES(due), due), changes = changes + 1' );
		}
	}

	/**
	 * Note that orders changed, of those that the service knows already.
	 *
	 * @param array $ids Ids of orders.
	 * @return int How many the service knows.
	 */
	public static function add_known( array $ids ) {
		return $ids ? self::mark( $ids, 'order_id IN (' . implode( ', ', array_fill( 0, count( $ids ), '%d' ) ) . ')' ) : 0;
	}

	/**
	 * Note the orders between two ids that the service knows: some may be deleted.
	 *
	 * @param int $first The first id.
	 * @param int $last  The last id.
	 */
	public static function add_range( $first, $last ) {
		self::mark( array( $first, $last ), 'order_id BETWEEN %d AND %d' );
	}

	/**
	 * Return the next rows that are due, in their order.
	 *
	 * @param int $limit How many.
	 * @return array Of objects.
	 */
	public static function next( $limit ) {
		global $wpdb;
		return (array) $wpdb->get_results( $wpdb->prepare( 'SELECT order_id, due, changes, told FROM ' . self::table() . ' WHERE due > 0 ORDER BY due, order_id LIMIT %d', $limit ) );
	}

	/**
	 * Return how many orders are due.
	 *
	 * @param bool $is_past Whether to count past orders, or the others.
	 * @return int
	 */
	public static function count( $is_past = false ) {
		global $wpdb;
		return (int) $wpdb->get_var( $wpdb->prepare( 'SELECT COUNT(*) FROM ' . self::table() . ' WHERE due > 0 AND due ' . ( $is_past ? '=' : '<' ) . ' %d', self::HISTORY ) );
	}

	/**
	 * Return since when the first order has been due; 0 without one.
	 *
	 * @return int
	 */
	public static function first_due() {
		$rows = self::next( 1 );
		return $rows && (int) $rows[0]->due < self::HISTORY ? (int) $rows[0]->due : 0;
	}

	/**
	 * Store what the service was told. An order that changed meanwhile stays due.
	 *
	 * @param object     $row  The row that was read.
	 * @param array|null $told Item ids with units and total; null when it never was told.
	 */
	public static function done( $row, $told ) {
		global $wpdb;
		$text = null === $told ? '' : (string) wp_json_encode( (object) $told );
		$wpdb->query( $wpdb->prepare( 'UPDATE ' . self::table() . " SET told = NULLIF(%s, ''), due = IF(changes = %d, 0, due) WHERE order_id = %d", $text, $row->changes, $row->order_id ) );
	}

	/**
	 * Store what the service was told first; the order stays due until all is told.
	 *
	 * @param object     $row  The row that was read.
	 * @param array|null $told Item ids with units and total.
	 */
	public static function told_first( $row, $told ) {
		global $wpdb;
		if ( null !== $told ) {
			$wpdb->query( $wpdb->prepare( 'UPDATE ' . self::table() . ' SET told = %s WHERE order_id = %d', (string) wp_json_encode( (object) $told ), $row->order_id ) );
		}
	}

	/**
	 * Return what the service was told of an order; null when it was not.
	 *
	 * @param object $row A row.
	 * @return array|null Item ids with units and total.
	 */
	public static function told( $row ) {
		$told = json_decode( (string) $row->told, true );
		return is_array( $told ) ? $told : null;
	}

	/**
	 * Note known orders as due.
	 *
	 * @param array  $values Of the condition.
	 * @param string $where  The condition.
	 * @return int How many.
	 */
	private static function mark( array $values, $where ) {
		global $wpdb;
		return (int) $wpdb->query( $wpdb->prepare( 'UPDATE ' . self::table() . " SET due = IF(due = 0, %d, due), changes = changes + 1 WHERE told IS NOT NULL AND $where", array_merge( array( time() ), $values ) ) );
	}

	/**
	 * Return the table's name.
	 *
	 * @return string
	 */
	private static function table() {
		global $wpdb;
		return $wpdb->prefix . 'product_recs_orders';
	}
}
