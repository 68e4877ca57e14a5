<?php
/**
 * PrestaShop shop: PrestaShop's database, products and orders, with its own price calculation.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'PRODUCT_RECS_SHOP' ) || exit;

/** PrestaShop 8; of several shops, the default one. */
class PrestaShop_Shop extends Shop {

	/** The name. */
	public function platform() {
		return 'prestashop';
	}

	/** The beginning of the tables' names. */
	public function prefix() {
		return _DB_PREFIX_;
	}

	/**
	 * Run a statement.
	 *
	 * @param string $sql Whole.
	 */
	protected function execute( $sql ) {
		$database = \Db::getInstance();
		if ( ! $database->execute( $sql, false ) ) {
			throw new \RuntimeException( (string) $database->getMsgError() );
		}
		return (int) $database->Affected_Rows();
	}

	/**
	 * Run a query.
	 *
	 * @param string $sql Whole.
	 */
	protected function select( $sql ) {
		$rows = \Db::getInstance()->executeS( $sql, true, false );
		if ( ! is_array( $rows ) ) {
			throw new \RuntimeException( (string) \Db::getInstance()->getMsgError() );
		}
		return $rows;
	}

	/**
	 * Escape a text.
	 *
	 * @param string $text The text.
	 */
	protected function escape( $text ) {
		return \Db::getInstance()->escape( $text, true ); // Else PrestaShop removes markup.
	}

	/** The shop's address. */
	public function home() {
		return \Context::getContext()->link->getBaseLink( $this->id() );
	}

	/** The shop's currency, which catalog prices are stored in. */
	public function currency() {
		return (string) \Currency::getDefaultCurrency()->iso_code;
	}

	/** How prices are written. */
	public function price_example() {
		return (string) \Tools::getContextLocale( \Context::getContext() )->formatPrice( 1234, $this->currency() );
	}

	/**
	 * Return the next ids of products that may be sold.
	 *
	 * @param int $after The id before the first.
	 * @param int $limit How many.
	 */
	public function product_ids( $after, $limit ) {
		$rows = $this->rows( 'SELECT p.id_product AS id ' . $this->sold() . ' AND p.id_product > ? ORDER BY p.id_product LIMIT ?', array( (int) $after, (int) $limit ) );
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
	 * @param array $ids Ids of products.
	 */
	public function items( array $ids ) {
		$items = array_fill_keys( array_map( 'intval', $ids ), null );
		if ( ! $items ) {
			return $items;
		}
		$with = str_replace(
			array( '{', '}', 'SHOP', 'LANG' ),
			array( _DB_PREFIX_, '', (string) $this->id(), (string) $this->language() ),
			' LEFT JOIN {product_lang} AS l ON l.id_product = p.id_product AND l.id_shop = SHOP AND l.id_lang = LANG
			LEFT JOIN {category_lang} AS c ON c.id_category = s.id_category_default AND c.id_shop = SHOP AND c.id_lang = LANG
			LEFT JOIN {manufacturer} AS m ON m.id_manufacturer = p.id_manufacturer
			LEFT JOIN {image_shop} AS i ON i.id_product = p.id_product AND i.id_shop = SHOP AND i.cover = 1'
		);
		$rows = $this->rows(
			'SELECT p.id_product, p.reference, p.ean13, p.upc, p.isbn, s.show_price, s.available_for_order, l.name, l.link_rewrite, l.description, l.description_short, c.link_rewrite AS category, m.name AS brand, i.id_image '
			. $this->sold( $with ) . ' AND p.id_product IN (' . implode( ', ', array_keys( $items ) ) . ')'
		);
		foreach ( $rows as $row ) {
			$items[ (int) $row['id_product'] ] = $this->item( (int) $row['id_product'], $row );
		}
		return $items;
	}

	/**
	 * Return the price that a visitor of the shop's own country sees.
	 *
	 * @param int  $id         The product, with its default combination.
	 * @param bool $is_reduced Whether specific prices count.
	 * @return float
	 */
	public function price( $id, $is_reduced = true ) {
		$currency = \Currency::getDefaultCurrency();
		$specific = null;
		$price    = \Product::priceCalculation( $this->id(), $id, (int) \Product::getDefaultAttribute( $id ), (int) $this->setting( 'PS_COUNTRY_DEFAULT' ), 0, '', (int) $currency->id, $this->visitors(), 1, $this->is_taxed(), 6, false, $is_reduced, true, $specific, true );
		return round( (float) $price, (int) $currency->precision );
	}

	/**
	 * Return an order.
	 *
	 * @param int $id The order.
	 */
	public function order( $id ) {
		$orders = $this->rows( 'SELECT id_customer, date_add, total_products, total_products_wt, conversion_rate, ' . $this->is_paid() . ' AS is_paid FROM `' . _DB_PREFIX_ . 'orders` WHERE id_order = ?', array( (int) $id ) );
		if ( ! $orders ) {
			return null;
		}
		return array(
			'is_sellable' => (bool) $orders[0]['is_paid'],
			'created'     => (int) strtotime( $orders[0]['date_add'] ),
			'customer'    => (int) $orders[0]['id_customer'],
			'body'        => array(
				'currency' => $this->currency(),
				'items'    => $this->lines( (int) $id, $orders[0] ),
			),
		);
	}

	/** Where orders are. */
	public function orders_in_database() {
		return array(
			'table'    => _DB_PREFIX_ . 'orders',
			'id'       => 'id_order',
			'modified' => 'date_upd',
			'is_paid'  => $this->is_paid(),
		);
	}

	/**
	 * Return what is left of an order's lines in the shop's currency, without discounts and refunds.
	 *
	 * @param int   $id    The order.
	 * @param array $order Its row.
	 * @return array
	 */
	private function lines( $id, array $order ) {
		$tax      = $this->is_taxed() ? 'incl' : 'excl'; // As in the catalog's prices.
		$whole    = (float) $order[ $this->is_taxed() ? 'total_products_wt' : 'total_products' ];
		$discount = $this->rows( 'SELECT SUM(' . ( $this->is_taxed() ? 'value' : 'value_tax_excl' ) . ') AS value FROM `' . _DB_PREFIX_ . 'order_cart_rule` WHERE id_order = ? AND free_shipping = 0 AND deleted = 0', array( $id ) );
		$share    = $whole > 0 ? max( 0.0, 1 - (float) $discount[0]['value'] / $whole ) : 1.0;
		$rate     = (float) $order['conversion_rate'] > 0 ? (float) $order['conversion_rate'] : 1.0;
		$lines    = array();
		$rows     = $this->rows(
			"SELECT product_id, SUM(units) AS units, SUM(total) AS total, SUM(refunded) AS refunded FROM (SELECT product_id, id_order_detail,
			CAST(product_quantity AS SIGNED) - CAST(product_quantity_refunded AS SIGNED) - CAST(product_quantity_return AS SIGNED) AS units,
			total_price_tax_$tax AS total, total_refunded_tax_$tax AS refunded FROM `" . _DB_PREFIX_ . 'order_detail` WHERE id_order = ?) AS d
			WHERE units > 0 GROUP BY product_id ORDER BY MIN(id_order_detail)',
			array( $id )
		);
		foreach ( $rows as $row ) {
			$total   = round( max( 0.0, $row['total'] * $share - $row['refunded'] ) / $rate, 4 );
			$lines[] = array(
				'item_id'  => (string) $row['product_id'],
				'quantity' => (int) $row['units'],
				'price'    => round( $total / $row['units'], 4 ),
				'total'    => $total,
			);
		}
		return $lines;
	}

	/**
	 * Return the item of a product that shoppers can see.
	 *
	 * @param int   $id  The product.
	 * @param array $row Its columns.
	 * @return array
	 */
	private function item( $id, array $row ) {
		$link     = \Context::getContext()->link;
		$has_sale = $row['show_price'] && $this->shows_prices();
		$price    = $has_sale ? $this->price( $id ) : null;
		$list     = $has_sale ? $this->price( $id, false ) : null;
		$stock    = (int) \StockAvailable::getQuantityAvailableByProduct( $id, 0, $this->id() );
		$may_wait = \Product::isAvailableWhenOutOfStock( \StockAvailable::outOfStock( $id, $this->id() ) );
		$image    = $row['id_image'] ? $link->getImageLink( (string) $row['link_rewrite'], (string) $row['id_image'], \ImageType::getFormattedName( 'home' ) ) : '';
		$gtin     = null;
		foreach ( array( 'ean13', 'upc', 'isbn' ) as $code ) {
			$gtin = null === $gtin ? self::gtin( $row[ $code ] ) : $gtin;
		}
		return array(
			'id'           => (string) $id,
			'sku'          => '' === (string) $row['reference'] ? null : self::plain( $row['reference'], 255 ),
			'title'        => self::cut( (string) $row['name'], 1000 ),
			'product_url'  => $link->getProductLink( $id, $row['link_rewrite'], $row['category'], $row['ean13'], $this->language(), $this->id() ),
			'image_url'    => $image ? ( preg_match( '#^https?://#', $image ) ? $image : 'https://' . $image ) : null,
			'price'        => $price,
			'list_price'   => $list > $price ? $list : null,
			'availability' => ! $row['available_for_order'] ? 'out_of_stock' : ( $stock > 0 || ! $this->setting( 'PS_STOCK_MANAGEMENT' ) ? 'in_stock' : ( $may_wait ? 'backorder' : 'out_of_stock' ) ),
			'stock_qty'    => $this->setting( 'PS_STOCK_MANAGEMENT' ) ? max( 0, $stock ) : null,
			'description'  => self::plain( $row['description_short'] . ' ' . $row['description'], 20000 ),
			'brand'        => '' === (string) $row['brand'] ? null : self::cut( $row['brand'], 255 ),
			'gtin'         => $gtin,
		) + self::category_fields( $this->categories( $id ) ) + self::attribute_fields( $this->attributes( $id ) );
	}

	/**
	 * Return the categories with their parents, below "Home".
	 *
	 * @param int $id The product.
	 * @return array
	 */
	private function categories( $id ) {
		return $this->rows(
			str_replace(
				'{',
				_DB_PREFIX_,
				'SELECT c.id_category AS category_id, a.id_category AS path_id, l.name FROM {category_product AS x JOIN {category AS c ON c.id_category = x.id_category
				JOIN {category AS a ON a.nleft <= c.nleft AND a.nright >= c.nright AND a.level_depth > 1 AND a.active = 1
				JOIN {category_lang AS l ON l.id_category = a.id_category AND l.id_shop = ? AND l.id_lang = ? WHERE x.id_product = ? AND c.active = 1 ORDER BY c.id_category, a.level_depth LIMIT 200'
			),
			array( $this->id(), $this->language(), $id )
		);
	}

	/**
	 * Return the names and values of combinations and features.
	 *
	 * @param int $id The product.
	 * @return array
	 */
	private function attributes( $id ) {
		return $this->rows(
			str_replace(
				'{',
				_DB_PREFIX_,
				'SELECT DISTINCT g.public_name AS name, v.name AS value FROM {product_attribute AS p JOIN {product_attribute_combination AS c ON c.id_product_attribute = p.id_product_attribute
				JOIN {attribute AS a ON a.id_attribute = c.id_attribute JOIN {attribute_group_lang AS g ON g.id_attribute_group = a.id_attribute_group AND g.id_lang = ?
				JOIN {attribute_lang AS v ON v.id_attribute = a.id_attribute AND v.id_lang = ? WHERE p.id_product = ?
				UNION ALL SELECT n.name, w.value FROM {feature_product AS f JOIN {feature_lang AS n ON n.id_feature = f.id_feature AND n.id_lang = ?
				JOIN {feature_value_lang AS w ON w.id_feature_value = f.id_feature_value AND w.id_lang = ? WHERE f.id_product = ? LIMIT 500'
			),
			array( $this->language(), $this->language(), $id, $this->language(), $this->language(), $id )
		);
	}

	/**
	 * Return the end of a query for products that visitors can see.
	 *
	 * @param string $with Further joins.
	 * @return string
	 */
	private function sold( $with = '' ) {
		$sql = 'FROM `' . _DB_PREFIX_ . 'product` AS p JOIN `' . _DB_PREFIX_ . 'product_shop` AS s ON s.id_product = p.id_product AND s.id_shop = ' . $this->id() . $with . " WHERE s.active = 1 AND s.visibility <> 'none' AND p.state = 1";
		if ( \Group::isFeatureActive() ) {
			$sql .= ' AND EXISTS (SELECT 1 FROM `' . _DB_PREFIX_ . 'category_product` AS a JOIN `' . _DB_PREFIX_ . 'category_group` AS b ON b.id_category = a.id_category WHERE a.id_product = p.id_product AND b.id_group = ' . $this->visitors() . ')';
		}
		return $sql;
	}

	/**
	 * Return the condition of paid orders of this shop, by PrestaShop's own settings of statuses.
	 *
	 * @return string
	 */
	private function is_paid() {
		return '(id_shop = ' . $this->id() . ' AND current_state IN (SELECT t.id_order_state FROM `' . _DB_PREFIX_ . 'order_state` AS t WHERE t.paid = 1 OR t.logable = 1))';
	}

	/**
	 * Return whether visitors see prices.
	 *
	 * @return bool
	 */
	private function shows_prices() {
		if ( $this->setting( 'PS_CATALOG_MODE' ) && ! $this->setting( 'PS_CATALOG_MODE_WITH_PRICES' ) ) {
			return false;
		}
		$rows = $this->rows( 'SELECT show_prices FROM `' . _DB_PREFIX_ . 'group` WHERE id_group = ?', array( $this->visitors() ) );
		return ! \Group::isFeatureActive() || ( $rows && $rows[0]['show_prices'] );
	}

	/**
	 * Return whether visitors see prices with tax.
	 *
	 * @return bool
	 */
	private function is_taxed() {
		return (bool) $this->setting( 'PS_TAX' ) && ! \Group::getPriceDisplayMethod( $this->visitors() );
	}

	/**
	 * Return the group of visitors who are not signed in.
	 *
	 * @return int
	 */
	private function visitors() {
		return (int) $this->setting( 'PS_UNIDENTIFIED_GROUP' );
	}

	/**
	 * Return the shop's language.
	 *
	 * @return int
	 */
	private function language() {
		return (int) $this->setting( 'PS_LANG_DEFAULT' );
	}

	/**
	 * Return the default shop.
	 *
	 * @return int
	 */
	private function id() {
		return (int) \Configuration::get( 'PS_SHOP_DEFAULT' );
	}

	/**
	 * Return a setting of the default shop.
	 *
	 * @param string $name Which.
	 * @return mixed
	 */
	private function setting( $name ) {
		return \Configuration::get( $name, null, null, $this->id() );
	}
}
