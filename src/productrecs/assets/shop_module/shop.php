<?php
/**
 * Shop: what a shop system must be able to do for its module.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || exit;

/** The port of a shop system: its database, its products, its orders. */
abstract class Shop {

	const NAMES = array( // of options and attributes that are fields of an item.
		'brand'     => 'brand',
		'color'     => 'color',
		'colour'    => 'color',
		'size'      => 'size',
		'material'  => 'material',
		'materials' => 'material',
	);

	/**
	 * Return the shop system's name, as the service knows it.
	 *
	 * @return string
	 */
	abstract public function platform();

	/**
	 * Return the beginning of the names of this shop's tables.
	 *
	 * @return string
	 */
	abstract public function prefix();

	/**
	 * Run a statement.
	 *
	 * @param string $sql Whole, with its values.
	 * @return int How many rows it changed.
	 */
	abstract protected function execute( $sql );

	/**
	 * Run a query.
	 *
	 * @param string $sql Whole, with its values.
	 * @return array Rows, as arrays by column.
	 */
	abstract protected function select( $sql );

	/**
	 * Escape a text, which will stand between single quotes.
	 *
	 * @param string $text The text.
	 * @return string
	 */
	abstract protected function escape( $text );

	/**
	 * Return the address of the shop's home page.
	 *
	 * @return string
	 */
	abstract public function home();

	/**
	 * Return the shop's currency, which prices and orders are told in.
	 *
	 * @return string
	 */
	abstract public function currency();

	/**
	 * Return how the shop writes the price 1234 in its currency.
	 *
	 * @return string
	 */
	abstract public function price_example();

	/**
	 * Return what the service is told of products, as a shopper at the shop's own place sees them.
	 *
	 * @param array $ids Ids of products.
	 * @return array By id; null for those that shoppers cannot see.
	 */
	abstract public function items( array $ids );

	/**
	 * Return the next ids of products that may be sold, in their order.
	 *
	 * @param int $after The id before the first.
	 * @param int $limit How many.
	 * @return array
	 */
	abstract public function product_ids( $after, $limit );

	/**
	 * Return how many products may be sold.
	 *
	 * @return int
	 */
	abstract public function product_count();

	/**
	 * Return an order: `body` as the service is told, without customer and session; `is_sellable`;
	 * `created` in seconds; `customer`, the customer's number or 0.
	 *
	 * @param int $id The order.
	 * @return array|null
	 */
	abstract public function order( $id );

	/**
	 * Return where orders are: `table`, the columns `id` and `modified`, and the condition `is_paid`.
	 *
	 * @return array
	 */
	abstract public function orders_in_database();

	/**
	 * Return whether the shop system itself asks shoppers for consent.
	 *
	 * @return bool
	 */
	public function asks_for_consent() {
		return false;
	}

	/**
	 * Return whether this request's shopper gave consent where the shop system asks for it.
	 *
	 * @return bool
	 */
	public function has_consent() {
		return ! $this->asks_for_consent();
	}

	/**
	 * Run a statement with values in the places of `?`.
	 *
	 * @param string $sql    The statement; no text in it holds a `?`.
	 * @param array  $values Numbers, texts, or null.
	 * @return int How many rows it changed.
	 */
	public function run( $sql, array $values = array() ) {
		return $this->execute( $this->fill( $sql, $values ) );
	}

	/**
	 * Return the rows of a query with values in the places of `?`.
	 *
	 * @param string $sql    The query; no text in it holds a `?`.
	 * @param array  $values Numbers, texts, or null.
	 * @return array
	 */
	public function rows( $sql, array $values = array() ) {
		return $this->select( $this->fill( $sql, $values ) );
	}

	/**
	 * Return a statement with its values.
	 *
	 * @param string $sql    The statement.
	 * @param array  $values Its values.
	 * @return string
	 */
	private function fill( $sql, array $values ) {
		$parts = explode( '?', $sql );
		$whole = array_shift( $parts );
		foreach ( $parts as $place => $part ) {
			$value  = $values[ $place ];
			$whole .= ( null === $value ? 'NULL' : ( is_int( $value ) ? (string) $value : "'" . $this->escape( (string) $value ) . "'" ) ) . $part;
		}
		return $whole;
	}

	/**
	 * Return categories with their parents as fields of an item.
	 *
	 * @param array $rows `category_id`, `path_id` and `name` of each category and parent, from the top.
	 * @return array
	 */
	protected static function category_fields( array $rows ) {
		$found = array(
			'categories'   => array(),
			'category_ids' => array(),
		);
		$paths = array();
		foreach ( $rows as $row ) {
			$paths[ $row['category_id'] ][] = html_entity_decode( $row['name'], ENT_QUOTES, 'UTF-8' );
			$found['categories'][]          = self::cut( implode( ' > ', $paths[ $row['category_id'] ] ), 1000 );
			$found['category_ids'][]        = (string) $row['path_id'];
		}
		return array_map(
			function ( $values ) {
				return array_values( array_unique( $values ) );
			},
			$found
		);
	}

	/**
	 * Return color, size, material and the other options and attributes as fields of an item.
	 *
	 * @param array $rows `name` and `value` of each.
	 * @return array
	 */
	protected static function attribute_fields( array $rows ) {
		$found = array(
			'color'      => array(),
			'size'       => array(),
			'material'   => array(),
			'attributes' => array(),
		);
		foreach ( $rows as $row ) {
			$name  = self::cut( trim( preg_replace( '/[\s:,]+/', ' ', html_entity_decode( (string) $row['name'], ENT_QUOTES, 'UTF-8' ) ) ), 100 );
			$value = self::plain( html_entity_decode( (string) $row['value'], ENT_QUOTES, 'UTF-8' ), 255 );
			$field = isset( self::NAMES[ strtolower( $name ) ] ) ? self::NAMES[ strtolower( $name ) ] : '';
			if ( '' === $name || '' === $value ) {
				continue;
			}
			if ( isset( $found[ $field ] ) ) {
				$found[ $field ][] = $value;
			} else {
				$found['attributes'][ $name ][] = $value;
			}
		}
		$found['attributes'] = (object) array_slice( $found['attributes'], 0, 50, true ); // PHP would send an empty list.
		return $found;
	}

	/**
	 * Return the beginning of a text without markup, cut between characters.
	 *
	 * @param string $html   The text, perhaps with markup.
	 * @param int    $length Characters.
	 * @return string
	 */
	public static function plain( $html, $length ) {
		$html = preg_replace( '#<(script|style)\b.*?</\1>#is', ' ', (string) $html );
		$text = strip_tags( preg_replace( '#<(?=/?[a-z!])#i', ' <', $html ) ); // Words of two blocks stay apart.
		$text = html_entity_decode( $text, ENT_QUOTES, 'UTF-8' );
		return self::cut( trim( preg_replace( '/\s+/', ' ', $text ) ), $length );
	}

	/**
	 * Return the beginning of a text, cut between characters.
	 *
	 * @param string $text   The text.
	 * @param int    $length Characters.
	 * @return string
	 */
	public static function cut( $text, $length ) {
		$text = str_replace( "\0", '', (string) $text );
		// By a pattern: the extension mbstring may be missing, and a byte is no character.
		return preg_match( '/^.{0,' . $length . '}/us', $text, $found ) ? $found[0] : substr( $text, 0, $length );
	}

	/**
	 * Return the digits of a barcode; null when the text is none.
	 *
	 * @param string $text The text.
	 * @return string|null
	 */
	public static function gtin( $text ) {
		$bare = strtoupper( preg_replace( '/[\s-]+/', '', (string) $text ) );
		return preg_match( '/^(?:\d{8,14}|\d{9}X)$/', $bare ) ? $bare : null;
	}
}
