<?php
/**
 * Work list: products and orders that the service must be told of, and what it was told.
 *
 * A table of its own: it keeps the order in which things happened, and knows what was deleted since.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || exit;

/** A row: `kind` and `id`, when it became due or 0, how often it changed, and what was told. */
class Work_List {

	const PRODUCT = 'p';
	const ORDER   = 'o';
	const HISTORY = 4294967295; // when past orders are due: after all others.

	/**
	 * The shop.
	 *
	 * @var Shop
	 */
	private $shop;

	/**
	 * Store whose list it is.
	 *
	 * @param Shop $shop The shop.
	 */
	public function __construct( Shop $shop ) {
		$this->shop = $shop;
	}

	/** Create the table. */
	public function install() {
		$this->shop->run(
			'CREATE TABLE IF NOT EXISTS `' . $this->table() . '` (
			kind CHAR(1) NOT NULL, id INT UNSIGNED NOT NULL,
			due INT UNSIGNED NOT NULL DEFAULT 0, changes INT UNSIGNED NOT NULL DEFAULT 0, told MEDIUMTEXT NULL,
			session VARCHAR(255) NULL, customer INT UNSIGNED NULL,
			PRIMARY KEY (kind, id), KEY due (due)) DEFAULT CHARSET=utf8mb4'
		);
	}

	/** Drop the table. */
	public function uninstall() {
		$this->shop->run( 'DROP TABLE IF EXISTS `' . $this->table() . '`' );
	}

	/**
	 * Note that products or orders changed. One that waits already keeps its place.
	 *
	 * @param string $kind Products or orders.
	 * @param array  $ids  Their ids.
	 */
	public function add( $kind, array $ids ) {
		foreach ( array_chunk( array_map( 'intval', $ids ), 500 ) as $chunk ) {
			$values = array();
			foreach ( $chunk as $id ) {
				array_push( $values, $kind, $id, time() );
			}
			$this->shop->run( 'INSERT INTO `' . $this->table() . '` (kind, id, due, changes) VALUES ' . implode( ', ', array_fill( 0, count( $chunk ), '(?, ?, ?, 1)' ) ) . self::earlier(), $values );
		}
	}

	/**
	 * Note that all products or orders of a query changed.
	 *
	 * @param string $kind   Products or orders.
	 * @param string $sql    A query that returns ids alone, as `id`.
	 * @param array  $values Of the query.
	 * @param int    $due    Its place in the list: now, or `HISTORY`.
	 */
	public function add_all( $kind, $sql, array $values = array(), $due = 0 ) {
		$this->shop->run( 'INSERT INTO `' . $this->table() . "` (kind, id, due, changes) SELECT ?, q.id, ?, 1 FROM ($sql) AS q" . self::earlier(), array_merge( array( $kind, $due ? $due : time() ), $values ) );
	}

	/**
	 * Note orders that changed since a time, and known ones that are deleted since.
	 *
	 * @param int $since In seconds.
	 */
	public function add_changed_orders( $since ) {
		$in = $this->shop->orders_in_database();
		$is = "`{$in['modified']}` >= FROM_UNIXTIME(?)";
		$this->add_all( self::ORDER, "SELECT `{$in['id']}` AS id FROM `{$in['table']}` WHERE {$in['is_paid']} AND $is", array( $since ) );
		$this->shop->run(
			'UPDATE `' . $this->table() . "` AS w LEFT JOIN `{$in['table']}` AS o ON o.`{$in['id']}` = w.id SET w.due = IF(w.due = 0, ?, w.due), w.changes = w.changes + 1 WHERE w.kind = ? AND w.told IS NOT NULL AND (o.`{$in['id']}` IS NULL OR o.$is)",
			array( time(), self::ORDER, $since )
		);
	}

	/** Note all past orders, after all others. */
	public function add_history() {
		$in = $this->shop->orders_in_database();
		$this->add_all( self::ORDER, "SELECT `{$in['id']}` AS id FROM `{$in['table']}` WHERE {$in['is_paid']}", array(), self::HISTORY );
	}

	/**
	 * Store the shopper of an order with it: later requests run without the cookie.
	 *
	 * @param int    $id       The order.
	 * @param string $session  The widgets' id of the shopper's session; empty without one.
	 * @param int    $customer The customer's number; 0 for a guest or without consent.
	 */
	public function remember( $id, $session, $customer ) {
		$this->shop->run(
			'INSERT INTO `' . $this->table() . '` (kind, id, session, customer) VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE session = VALUES(session), customer = VALUES(customer)',
			array( self::ORDER, (int) $id, $session, (int) $customer )
		);
	}

	/**
	 * Return the next rows that are due, in their order.
	 *
	 * @param string $kind    Products or orders.
	 * @param bool   $is_past Whether to return past orders, or the others.
	 * @param int    $limit   How many.
	 * @return array
	 */
	public function next( $kind, $is_past, $limit ) {
		return $this->shop->rows( 'SELECT * FROM `' . $this->table() . '` WHERE kind = ? AND due > 0 AND due ' . ( $is_past ? '=' : '<' ) . ' ? ORDER BY due, id LIMIT ?', array( $kind, self::HISTORY, $limit ) );
	}

	/**
	 * Return how many are due.
	 *
	 * @param string $kind    Products or orders.
	 * @param bool   $is_past Whether to count past orders, or the others.
	 * @return int
	 */
	public function count( $kind, $is_past = false ) {
		$rows = $this->shop->rows( 'SELECT COUNT(*) AS n FROM `' . $this->table() . '` WHERE kind = ? AND due > 0 AND due ' . ( $is_past ? '=' : '<' ) . ' ?', array( $kind, self::HISTORY ) );
		return (int) $rows[0]['n'];
	}

	/**
	 * Return whether anything is due.
	 *
	 * @return bool
	 */
	public function has_due() {
		return (bool) $this->shop->rows( 'SELECT 1 FROM `' . $this->table() . '` WHERE due > 0 LIMIT 1' );
	}

	/**
	 * Return which of these products the service was told.
	 *
	 * @param array $ids Ids of products.
	 * @return array
	 */
	public function known_products( array $ids ) {
		$marks = implode( ', ', array_fill( 0, count( $ids ), '?' ) );
		$rows  = $ids ? $this->shop->rows( 'SELECT id FROM `' . $this->table() . "` WHERE kind = ? AND told IS NOT NULL AND id IN ($marks)", array_merge( array( self::PRODUCT ), array_map( 'intval', $ids ) ) ) : array();
		return array_map( 'intval', array_column( $rows, 'id' ) );
	}

	/**
	 * Store that the service was told products.
	 *
	 * @param array $ids Ids of products.
	 */
	public function tell_products( array $ids ) {
		foreach ( array_chunk( array_map( 'intval', $ids ), 500 ) as $chunk ) {
			$values = array();
			foreach ( $chunk as $id ) {
				array_push( $values, self::PRODUCT, $id, '1' );
			}
			$this->shop->run( 'INSERT INTO `' . $this->table() . '` (kind, id, told) VALUES ' . implode( ', ', array_fill( 0, count( $chunk ), '(?, ?, ?)' ) ) . ' ON DUPLICATE KEY UPDATE told = VALUES(told)', $values );
		}
	}

	/**
	 * Store that the service no longer has a product. One that is due stays in the list.
	 *
	 * @param int $id The product.
	 */
	public function forget_product( $id ) {
		$this->shop->run( 'UPDATE `' . $this->table() . '` SET told = NULL WHERE kind = ? AND id = ?', array( self::PRODUCT, (int) $id ) );
	}

	/**
	 * Store that a row was worked on. One that changed meanwhile stays due.
	 *
	 * @param array       $row  The row that was read.
	 * @param string|null $told What the service was told; null when nothing.
	 */
	public function done( array $row, $told ) {
		$this->shop->run( 'UPDATE `' . $this->table() . '` SET told = ?, due = IF(changes = ?, 0, due) WHERE kind = ? AND id = ?', array( $told, (int) $row['changes'], $row['kind'], (int) $row['id'] ) );
	}

	/**
	 * Store what the service was told of an order first; the order stays due until all is told.
	 *
	 * @param array  $row  The row that was read.
	 * @param string $told What.
	 */
	public function told_first( array $row, $told ) {
		$this->shop->run( 'UPDATE `' . $this->table() . '` SET told = ? WHERE kind = ? AND id = ?', array( $told, $row['kind'], (int) $row['id'] ) );
	}

	/**
	 * Return the end of an INSERT: a row that is there keeps the earlier place.
	 *
	 * @return string
	 */
	private static function earlier() {
		return ' ON DUPLICATE KEY UPDATE due = IF(due = 0 OR due > VALUES(due), VALUES(due), due), changes = changes + 1';
	}

	/**
	 * Return the table's name.
	 *
	 * @return string
	 */
	private function table() {
		return $this->shop->prefix() . 'product_recs_work';
	}
}
