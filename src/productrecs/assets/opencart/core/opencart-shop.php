<?php
/**
 * OpenCart shop: OpenCart's database, products and orders, through its own models and taxes.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || exit;

/** OpenCart 4.0.2 and newer; of several stores, the first. Items are read on the shop's side only. */
class OpenCart_Shop extends Shop {

	/**
	 * OpenCart's registry.
	 *
	 * @var \Opencart\System\Engine\Registry
	 */
	private $registry;

	/**
	 * Store whose shop it is.
	 *
	 * @param \Opencart\System\Engine\Registry $registry OpenCart's registry.
	 */
	public function __construct( $registry ) {
		$this->registry = $registry;
	}

	/** The name. */
	public function platform() {
		return 'opencart';
	}

	/** The beginning of the tables' names. */
	public function prefix() {
		return DB_PREFIX;
	}

	/**
	 * Run a statement.
	 *
	 * @param string $sql Whole.
	 */
	protected function execute( $sql ) {
		$this->registry->get( 'db' )->query( $sql );
		return (int) $this->registry->get( 'db' )->countAffected();
	}

	/**
	 * Run a query.
	 *
	 * @param string $sql Whole.
	 */
	protected function select( $sql ) {
		return $this->registry->get( 'db' )->query( $sql )->rows;
	}

	/**
	 * Escape a text.
	 *
	 * @param string $text The text.
	 */
	protected function escape( $text ) {
		return $this->registry->get( 'db' )->escape( $text );
	}

	/** The shop's address, also in the back office. */
	public function home() {
		return defined( 'HTTP_CATALOG' ) ? HTTP_CATALOG : HTTP_SERVER;
	}

	/** The shop's currency: OpenCart stores all amounts in it. */
	public function currency() {
		return (string) $this->setting( 'config_currency' );
	}

	/** How prices are written. */
	public function price_example() {
		$found = $this->rows( 'SELECT symbol_left, symbol_right, decimal_place FROM `' . DB_PREFIX . 'currency` WHERE code = ?', array( $this->currency() ) );
		if ( ! $found ) {
			return '';
		}
		$language = $this->registry->get( 'language' );
		$number   = number_format( 1234, (int) $found[0]['decimal_place'], $language->get( 'decimal_point' ), $language->get( 'thousand_point' ) );
		return html_entity_decode( $found[0]['symbol_left'] . $number . $found[0]['symbol_right'], ENT_QUOTES, 'UTF-8' );
	}

	/** Whether OpenCart's cookie notice is on. */
	public function asks_for_consent() {
		return (bool) $this->setting( 'config_cookie_id' );
	}

	/** Whether the shopper accepted the cookie notice. */
	public function has_consent() {
		return ! $this->asks_for_consent() || ( isset( $_COOKIE['policy'] ) && '1' === $_COOKIE['policy'] );
	}

	/**
	 * Return the next ids of products that may be sold.
	 *
	 * @param int $after The id before the first.
	 * @param int $limit How many.
	 */
	public function product_ids( $after, $limit ) {
		$rows = $this->rows( 'SELECT p.product_id AS id ' . $this->sold() . ' AND p.product_id > ? ORDER BY p.product_id LIMIT ?', array( (int) $after, (int) $limit ) );
		return array_map( 'intval', array_column( $rows, 'id' ) );
	}

	/** How many products may be sold. */
	public function product_count() {
		$rows = $this->rows( 'SELECT COUNT(*) AS n ' . $this->sold() );
		return (int) $rows[0]['n'];
	}

	/**
	 * Return what the service is told of products.
	 *
	 * Prices depend on who asks: on their group, their address and their language. Any shopper's
	 * request may run this.
	 *
	 * @param array $ids Ids of products.
	 */
	public function items( array $ids ) {
		$this->be_nobody();
		$load = $this->registry->get( 'load' );
		$load->model( 'catalog/product' );
		$load->model( 'tool/image' );
		$items = array();
		foreach ( $ids as $id ) {
			$product      = $this->registry->get( 'model_catalog_product' )->getProduct( (int) $id );
			$items[ $id ] = $product ? $this->item( (int) $id, $product ) : null;
		}
		return $items;
	}

	/**
	 * Return an order.
	 *
	 * @param int $id The order.
	 */
	public function order( $id ) {
		$orders = $this->rows( 'SELECT customer_id, order_status_id, UNIX_TIMESTAMP(date_added) AS created FROM `' . DB_PREFIX . 'order` WHERE order_id = ?', array( (int) $id ) );
		if ( ! $orders ) {
			return null;
		}
		$tax   = $this->setting( 'config_tax' ) ? '+ tax' : ''; // As in the catalog's prices.
		$share = $this->share( $id );
		$lines = array();
		foreach ( $this->rows( "SELECT product_id, SUM(quantity) AS units, SUM(quantity * (price $tax)) AS total FROM `" . DB_PREFIX . 'order_product` WHERE order_id = ? AND quantity > 0 GROUP BY product_id ORDER BY MIN(order_product_id)', array( (int) $id ) ) as $line ) {
			$total   = round( $line['total'] * $share, 4 );
			$lines[] = array(
				'item_id'  => (string) $line['product_id'],
				'quantity' => (int) $line['units'],
				'price'    => round( $total / $line['units'], 4 ),
				'total'    => $total,
			);
		}
		return array(
			'is_sellable' => in_array( (int) $orders[0]['order_status_id'], $this->paid_statuses(), true ),
			'created'     => (int) $orders[0]['created'],
			'customer'    => (int) $orders[0]['customer_id'],
			'body'        => array(
				'currency' => $this->currency(),
				'items'    => $lines,
			),
		);
	}

	/** Where orders are. */
	public function orders_in_database() {
		return array(
			'table'    => DB_PREFIX . 'order',
			'id'       => 'order_id',
			'modified' => 'date_modified',
			'is_paid'  => 'order_status_id IN (' . implode( ', ', $this->paid_statuses() ) . ')',
		);
	}

	/**
	 * Return the share of an order's lines that is paid: coupons and reward points are totals of their own.
	 *
	 * @param int $id The order.
	 * @return float From 0 to 1.
	 */
	private function share( $id ) {
		$totals = array();
		foreach ( $this->rows( "SELECT code, SUM(value) AS value FROM `" . DB_PREFIX . "order_total` WHERE order_id = ? AND code IN ('sub_total', 'coupon', 'reward') GROUP BY code", array( (int) $id ) ) as $row ) {
			$totals[ $row['code'] ] = (float) $row['value'];
		}
		$whole = isset( $totals['sub_total'] ) ? $totals['sub_total'] : 0.0;
		unset( $totals['sub_total'] );
		return $whole > 0 ? max( 0.0, min( 1.0, 1 + array_sum( $totals ) / $whole ) ) : 1.0;
	}

	/**
	 * Return the statuses of paid orders, by OpenCart's own settings.
	 *
	 * @return array
	 */
	private function paid_statuses() {
		$all = array_merge( (array) $this->setting( 'config_processing_status' ), (array) $this->setting( 'config_complete_status' ) );
		return array_values( array_unique( array_merge( array( -1 ), array_map( 'intval', $all ) ) ) );
	}

	/**
	 * Return a setting as the merchant stored it: OpenCart changes some for the shopper.
	 *
	 * @param string $name Which.
	 * @return mixed
	 */
	private function setting( $name ) {
		static $read = array();
		if ( ! $read ) {
			foreach ( $this->rows( 'SELECT `key`, value, serialized FROM `' . DB_PREFIX . 'setting` WHERE store_id = 0 AND code = ?', array( 'config' ) ) as $row ) {
				$read[ $row['key'] ] = $row['serialized'] ? json_decode( $row['value'], true ) : $row['value'];
			}
		}
		return isset( $read[ $name ] ) ? $read[ $name ] : null;
	}

	/** Let OpenCart's models answer as for a visitor of the shop's own place and language. */
	private function be_nobody() {
		$config = $this->registry->get( 'config' );
		$code   = $this->setting( 'config_language_catalog' );
		$code   = null === $code ? $this->setting( 'config_language' ) : $code; // Before OpenCart 4.1.
		$found  = $this->rows( 'SELECT language_id FROM `' . DB_PREFIX . 'language` WHERE code = ?', array( (string) $code ) );
		$config->set( 'config_customer_group_id', $this->setting( 'config_customer_group_id' ) );
		$config->set( 'config_store_id', 0 );
		$config->set( 'config_language', $code );
		if ( $found ) {
			$config->set( 'config_language_id', $found[0]['language_id'] );
		}
		$tax   = new \Opencart\System\Library\Cart\Tax( $this->registry );
		$place = array( (int) $this->setting( 'config_country_id' ), (int) $this->setting( 'config_zone_id' ) );
		if ( 'shipping' === $this->setting( 'config_tax_default' ) ) {
			$tax->setShippingAddress( ...$place );
		} elseif ( 'payment' === $this->setting( 'config_tax_default' ) ) {
			$tax->setPaymentAddress( ...$place );
		}
		$tax->setStoreAddress( ...$place );
		$this->registry->set( 'tax', $tax );
	}

	/**
	 * Return the item of a product that shoppers can see.
	 *
	 * @param int   $id      The product.
	 * @param array $product What OpenCart's model says of it.
	 * @return array
	 */
	private function item( $id, array $product ) {
		$price = $this->price( $product, (float) ( $product['special'] ? $product['special'] : $product['price'] ) );
		$list  = $this->price( $product, (float) $product['price'] );
		$image = $product['image'] ? $this->registry->get( 'model_tool_image' )->resize( html_entity_decode( $product['image'], ENT_QUOTES, 'UTF-8' ), 550, 550 ) : '';
		$stock = (int) $product['quantity'];
		$codes = $this->codes( $id, $product );
		$brand = $this->rows( 'SELECT name FROM `' . DB_PREFIX . 'manufacturer` WHERE manufacturer_id = ?', array( (int) $product['manufacturer_id'] ) );
		$gtin  = null;
		foreach ( array( 'EAN', 'UPC', 'JAN', 'ISBN' ) as $code ) {
			$gtin = null === $gtin && isset( $codes[ $code ] ) ? self::gtin( $codes[ $code ] ) : $gtin;
		}
		$sku = isset( $codes['SKU'] ) && '' !== $codes['SKU'] ? $codes['SKU'] : (string) $product['model'];
		return array(
			'id'           => (string) $id,
			'sku'          => '' === $sku ? null : self::plain( $sku, 255 ),
			'title'        => self::cut( html_entity_decode( $product['name'], ENT_QUOTES, 'UTF-8' ), 1000 ), // OpenCart stores names escaped.
			'product_url'  => html_entity_decode( $this->registry->get( 'url' )->link( 'product/product', 'language=' . $this->registry->get( 'config' )->get( 'config_language' ) . '&product_id=' . $id, true ), ENT_QUOTES, 'UTF-8' ),
			'image_url'    => $image ? str_replace( ' ', '%20', (string) $image ) : null,
			'price'        => $this->setting( 'config_customer_price' ) ? null : $price, // Shown to customers only.
			'list_price'   => $this->setting( 'config_customer_price' ) || $list <= $price ? null : $list,
			'availability' => $stock > 0 ? 'in_stock' : ( $this->setting( 'config_stock_checkout' ) ? 'backorder' : 'out_of_stock' ),
			'stock_qty'    => $product['subtract'] ? max( 0, $stock ) : null,
			'description'  => self::plain( html_entity_decode( $product['description'], ENT_QUOTES, 'UTF-8' ), 20000 ),
			'brand'        => $brand ? self::cut( html_entity_decode( $brand[0]['name'], ENT_QUOTES, 'UTF-8' ), 255 ) : null,
			'gtin'         => $gtin,
		) + $this->categories( $id ) + $this->attributes( $id );
	}

	/**
	 * Return a price as the shop shows it to a visitor.
	 *
	 * @param array $product The product.
	 * @param float $amount  Without tax.
	 * @return float
	 */
	private function price( array $product, $amount ) {
		$price = $this->registry->get( 'tax' )->calculate( $amount, (int) $product['tax_class_id'], (bool) $this->setting( 'config_tax' ) );
		return round( $price, (int) $this->registry->get( 'currency' )->getDecimalPlace( $this->currency() ) );
	}

	/**
	 * Return the product's codes by their names: columns before OpenCart 4.1, rows since.
	 *
	 * @param int   $id      The product.
	 * @param array $product What OpenCart's model says of it.
	 * @return array
	 */
	private function codes( $id, array $product ) {
		if ( array_key_exists( 'sku', $product ) ) {
			return array_change_key_case( array_intersect_key( $product, array_flip( array( 'sku', 'ean', 'upc', 'jan', 'isbn' ) ) ), CASE_UPPER );
		}
		return array_column( $this->rows( 'SELECT code, value FROM `' . DB_PREFIX . 'product_code` WHERE product_id = ?', array( $id ) ), 'value', 'code' );
	}

	/**
	 * Return the categories with their parents.
	 *
	 * @param int $id The product.
	 * @return array
	 */
	private function categories( $id ) {
		$rows = $this->rows(
			'SELECT c.category_id, a.path_id, d.name FROM `' . DB_PREFIX . 'product_to_category` AS c JOIN `' . DB_PREFIX . 'category_path` AS a ON a.category_id = c.category_id JOIN `' . DB_PREFIX . 'category_description` AS d ON d.category_id = a.path_id AND d.language_id = ? WHERE c.product_id = ? ORDER BY c.category_id, a.level LIMIT 200',
			array( (int) $this->registry->get( 'config' )->get( 'config_language_id' ), $id )
		);
		return self::category_fields( $rows );
	}

	/**
	 * Return color, size, material and the other options and attributes.
	 *
	 * @param int $id The product.
	 * @return array
	 */
	private function attributes( $id ) {
		$language = (int) $this->registry->get( 'config' )->get( 'config_language_id' );
		$options  = $this->rows(
			'SELECT o.name, v.name AS value FROM `' . DB_PREFIX . 'product_option_value` AS p JOIN `' . DB_PREFIX . 'option_description` AS o ON o.option_id = p.option_id AND o.language_id = ? JOIN `' . DB_PREFIX . 'option_value_description` AS v ON v.option_value_id = p.option_value_id AND v.language_id = ? WHERE p.product_id = ? ORDER BY p.product_option_value_id LIMIT 500',
			array( $language, $language, $id )
		);
		$texts    = $this->rows(
			'SELECT d.name, p.text AS value FROM `' . DB_PREFIX . 'product_attribute` AS p JOIN `' . DB_PREFIX . 'attribute_description` AS d ON d.attribute_id = p.attribute_id AND d.language_id = ? WHERE p.language_id = ? AND p.product_id = ? ORDER BY p.attribute_id LIMIT 100',
			array( $language, $language, $id )
		);
		return self::attribute_fields( array_merge( $options, $texts ) );
	}

	/**
	 * Return the end of a query for products that shoppers can see.
	 *
	 * @return string
	 */
	private function sold() {
		return 'FROM `' . DB_PREFIX . 'product` AS p JOIN `' . DB_PREFIX . 'product_to_store` AS s ON s.product_id = p.product_id AND s.store_id = 0 WHERE p.status = 1 AND p.date_available <= NOW()';
	}
}
