<?php
// Fake shop system for the module that OpenCart and PrestaShop share: products and orders in memory.
//
// Its database understands the statements on the module's two tables, and refuses all others.

namespace ProductRecs;

define( 'PRODUCT_RECS_SHOP', 'fake' );
require $core . '/load.php';

class Fake_Shop extends Shop {
	public $tables = array();
	public $items  = array();
	public $orders = array();
	public $asks   = false;
	public $agreed = false;

	public function platform() { return 'opencart'; }
	public function prefix() { return 'x_'; }
	public function home() { return 'http://shop.example/'; }
	public function currency() { return 'EUR'; }
	public function price_example() { return '1.234,00 €'; }
	public function asks_for_consent() { return $this->asks; }
	public function has_consent() { return ! $this->asks || $this->agreed; }
	public function product_count() { return count( array_filter( $this->items ) ); }
	public function product_ids( $after, $limit ) {
		$ids = array_filter( array_keys( array_filter( $this->items ) ), fn( $id ) => $id > $after );
		sort( $ids );
		return array_slice( $ids, 0, $limit );
	}
	public function items( array $ids ) {
		$found = array();
		foreach ( $ids as $id ) { $found[ $id ] = $this->items[ $id ] ?? null; }
		return $found;
	}
	public function order( $id ) { return $this->orders[ $id ] ?? null; }
	public function orders_in_database() { return array( 'table' => 'x_orders', 'id' => 'id', 'modified' => 'modified', 'is_paid' => 'paid' ); }
	protected function escape( $text ) { return addcslashes( $text, "\\'" ); }

	private static function values( $text ) {
		preg_match_all( "/'((?:[^'\\\\]|\\\\.)*)'|NULL|-?\\d+/s", $text, $found, PREG_SET_ORDER );
		return array_map( fn( $one ) => isset( $one[1] ) ? stripslashes( $one[1] ) : ( 'NULL' === $one[0] ? null : (int) $one[0] ), $found );
	}
	private function &work() { return $this->table( 'x_product_recs_work' ); }
	private function &table( $name ) {
		if ( ! isset( $this->tables[ $name ] ) ) { throw new \Exception( "no table $name" ); }
		return $this->tables[ $name ];
	}
	private function note( $kind, $id, $due ) {
		$work = &$this->work();
		$row  = $work[ "$kind$id" ] ?? self::row( $kind, $id );
		$work[ "$kind$id" ] = array( 'due' => $row['due'] ? min( $row['due'], $due ) : $due, 'changes' => $row['changes'] + 1 ) + $row;
	}
	private static function row( $kind, $id ) { return array( 'kind' => $kind, 'id' => $id, 'due' => 0, 'changes' => 0, 'told' => null, 'session' => null, 'customer' => null ); }
	private function set( $kind, $id, $values ) {
		$work = &$this->work();
		$work[ "$kind$id" ] = $values + ( $work[ "$kind$id" ] ?? self::row( $kind, $id ) );
	}

	protected function execute( $sql ) {
		$sql = preg_replace( '/\s+/', ' ', $sql );
		if ( preg_match( '/^(CREATE|DROP) TABLE IF (?:NOT )?EXISTS `(\w+)`/', $sql, $found ) ) {
			if ( 'DROP' === $found[1] ) { unset( $this->tables[ $found[2] ] ); } else { $this->tables += array( $found[2] => array() ); }
			return 0;
		}
		preg_match( '/`(x_product_recs_\w+)`/', $sql, $found );
		$table = &$this->table( $found[1] );
		$sql   = str_replace( "`$found[1]`", 'T', $sql );
		if ( preg_match( '/^(REPLACE|INSERT IGNORE) INTO T \(name, value\) VALUES (.+)$/s', $sql, $found ) ) {
			list( $name, $value ) = self::values( $found[2] );
			if ( 'REPLACE' !== $found[1] && isset( $table[ $name ] ) ) { return 0; }
			$table[ $name ] = $value;
			return 1;
		}
		if ( preg_match( '/^DELETE FROM T WHERE name = (.+)$/', $sql, $found ) ) {
			unset( $table[ self::values( $found[1] )[0] ] );
			return 1;
		}
		if ( preg_match( '/^UPDATE T SET value = (\S+) WHERE name = (\S+) AND value < (\S+)$/', $sql, $found ) ) {
			list( $value, $name, $than ) = array_map( fn( $text ) => self::values( $text )[0], array_slice( $found, 1 ) );
			if ( ! ( $table[ $name ] < $than ) ) { return 0; }
			$table[ $name ] = $value;
			return 1;
		}
		if ( preg_match( '/^INSERT INTO T \(kind, id, due, changes\) VALUES (.+) ON DUPLICATE KEY UPDATE due = IF\(due = 0 OR due > VALUES\(due\), VALUES\(due\), due\), changes = changes \+ 1$/', $sql, $found ) ) {
			foreach ( array_chunk( self::values( $found[1] ), 4 ) as $row ) { $this->note( $row[0], $row[1], $row[2] ); }
			return 1;
		}
		if ( preg_match( '/^INSERT INTO T \(kind, id, due, changes\) SELECT (\S+), q.id, (\d+), 1 FROM \(SELECT `id` AS id FROM `x_orders` WHERE paid(?: AND `modified` >= FROM_UNIXTIME\((\d+)\))?\) AS q ON DUPLICATE/', $sql, $found ) ) {
			foreach ( $this->orders as $id => $order ) {
				if ( $order['is_sellable'] && $order['modified'] >= (int) ( $found[3] ?? 0 ) ) { $this->note( self::values( $found[1] )[0], $id, (int) $found[2] ); }
			}
			return 1;
		}
		if ( preg_match( '/^UPDATE T AS w LEFT JOIN `x_orders` AS o ON o.`id` = w.id SET w.due = IF\(w.due = 0, (\d+), w.due\), w.changes = w.changes \+ 1 WHERE w.kind = \'o\' AND w.told IS NOT NULL AND \(o.`id` IS NULL OR o.`modified` >= FROM_UNIXTIME\((\d+)\)\)$/', $sql, $found ) ) {
			foreach ( $table as $row ) {
				$order = $this->orders[ $row['id'] ] ?? null;
				if ( 'o' === $row['kind'] && null !== $row['told'] && ( ! $order || $order['modified'] >= (int) $found[2] ) ) { $this->note( 'o', $row['id'], (int) $found[1] ); }
			}
			return 1;
		}
		if ( preg_match( '/^INSERT INTO T \(kind, id, session, customer\) VALUES \((.+)\) ON DUPLICATE KEY UPDATE session = VALUES\(session\), customer = VALUES\(customer\)$/', $sql, $found ) ) {
			list( $kind, $id, $session, $customer ) = self::values( $found[1] );
			$this->set( $kind, $id, compact( 'session', 'customer' ) );
			return 1;
		}
		if ( preg_match( '/^INSERT INTO T \(kind, id, told\) VALUES (.+) ON DUPLICATE KEY UPDATE told = VALUES\(told\)$/', $sql, $found ) ) {
			foreach ( array_chunk( self::values( $found[1] ), 3 ) as $row ) { $this->set( $row[0], $row[1], array( 'told' => $row[2] ) ); }
			return 1;
		}
		if ( preg_match( '/^UPDATE T SET told = (.+?)(?:, due = IF\(changes = (\d+), 0, due\))? WHERE kind = (\S+) AND id = (\d+)$/', $sql, $found ) ) {
			$kind = self::values( $found[3] )[0];
			$row  = $table[ $kind . $found[4] ] ?? null;
			if ( ! $row ) { return 0; }
			$due = '' !== $found[2] && $row['changes'] === (int) $found[2] ? 0 : $row['due'];
			$this->set( $kind, (int) $found[4], array( 'told' => self::values( $found[1] )[0], 'due' => $due ) );
			return 1;
		}
		throw new \Exception( "unknown statement: $sql" );
	}

	protected function select( $sql ) {
		if ( 'SELECT name, value FROM `x_product_recs_settings`' === $sql ) {
			$rows = array();
			foreach ( $this->table( 'x_product_recs_settings' ) as $name => $value ) { $rows[] = compact( 'name', 'value' ); }
			return $rows;
		}
		$work = $this->work();
		if ( 'SELECT 1 FROM `x_product_recs_work` WHERE due > 0 LIMIT 1' === $sql ) {
			return array_filter( $work, fn( $row ) => $row['due'] > 0 );
		}
		if ( preg_match( "/^SELECT (\\*|COUNT\\(\\*\\) AS n) FROM `x_product_recs_work` WHERE kind = '(.)' AND due > 0 AND due (=|<) (\\d+)(?: ORDER BY due, id LIMIT (\\d+))?$/", $sql, $found ) ) {
			$rows = array_filter( $work, fn( $row ) => $row['kind'] === $found[2] && $row['due'] && ( '=' === $found[3] ? $row['due'] === (int) $found[4] : $row['due'] < (int) $found[4] ) );
			usort( $rows, fn( $one, $other ) => array( $one['due'], $one['id'] ) <=> array( $other['due'], $other['id'] ) );
			return '*' === $found[1] ? array_slice( $rows, 0, (int) $found[5] ) : array( array( 'n' => count( $rows ) ) );
		}
		if ( preg_match( "/^SELECT id FROM `x_product_recs_work` WHERE kind = 'p' AND told IS NOT NULL AND id IN \\((.+)\\)$/", $sql, $found ) ) {
			return array_filter( $work, fn( $row ) => 'p' === $row['kind'] && null !== $row['told'] && in_array( $row['id'], self::values( $found[1] ), true ) );
		}
		throw new \Exception( "unknown query: $sql" );
	}
}

$shop     = new Fake_Shop();
$settings = new Settings( $shop );
$list     = new Work_List( $shop );
$made     = new Connection( $shop );
$made->install();

// What tests say.
function product( $id, $facts = array() ) { $GLOBALS['shop']->items[ $id ] = $facts + array( 'id' => (string) $id, 'title' => "Tent $id", 'price' => 10, 'product_url' => "http://shop.example/$id" ); }
function order( $id, $lines, $facts = array() ) {
	$items = array();
	foreach ( $lines as $item => $line ) { $items[] = array( 'item_id' => (string) $item, 'quantity' => $line[0], 'price' => $line[1] / $line[0], 'total' => $line[1] ); }
	$GLOBALS['shop']->orders[ $id ] = $facts + array( 'is_sellable' => true, 'created' => time(), 'modified' => time(), 'customer' => 0, 'body' => array( 'currency' => 'EUR', 'items' => $items ) );
}
function connect( $url, $key, $secret ) { return $GLOBALS['made']->connect( compact( 'url', 'key', 'secret' ) ); }
function work( $wait = 0 ) {
	$GLOBALS['settings']->put( 'ran_at', null );
	if ( $wait ) { $GLOBALS['settings']->put( 'retry_at', null ); }
	$worker = new Worker( $GLOBALS['shop'] );
	$worker->run( 20 );
}
function night( $days = 1 ) { $GLOBALS['settings']->put( 'night_at', time() - $days * 86400 ); work(); }
function changed( $id ) { $GLOBALS['list']->add( Work_List::ORDER, array( $id ) ); work(); }
function errors() { return array_column( (array) $GLOBALS['settings']->value( 'errors', array() ), 'why' ); }
function due() { $now = new Worker( $GLOBALS['shop'] ); return array_intersect_key( $now->progress(), array_flip( array( 'products', 'orders', 'past' ) ) ); }
