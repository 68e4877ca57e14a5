<?php
// Stand-ins for the classes of PrestaShop 8 that the module calls, with the signatures of its source.
//
// `$core` is the archive's folder `core`. Statements on the module's own tables go to the fake shop of
// shop_module.php; queries of PrestaShop's tables return what the test put into `Db::$tables`.

namespace {
	define( '_PS_VERSION_', '8.0.0' );
	define( '_DB_PREFIX_', 'x_' );

	class Db {
		public static $tables = array();
		public static $fake;
		public static function getInstance() { return new self(); }
		public function getMsgError() { return 'refused'; }
		public function Affected_Rows() { return self::$fake->changed; }
		public function escape( $text, $html_ok = false ) { return addcslashes( $html_ok ? $text : strip_tags( $text ), "\\'" ); }
		public function execute( $sql, $use_cache = true ) { self::$fake->changed = self::$fake->run_statement( 'execute', $sql ); return true; }
		public function executeS( $sql, $array = true, $use_cache = true ) {
			if ( false !== strpos( $sql, 'product_recs_' ) ) { return array_values( self::$fake->run_statement( 'select', $sql ) ); }
			foreach ( self::$tables as $beginning => $rows ) {
				if ( 0 === strpos( $sql, $beginning ) ) { return is_callable( $rows ) ? $rows( $sql ) : $rows; }
			}
			throw new \Exception( "unknown query: $sql" );
		}
	}
	class Configuration {
		public static $all = array( 'PS_SHOP_DEFAULT' => 1, 'PS_LANG_DEFAULT' => 1, 'PS_COUNTRY_DEFAULT' => 8, 'PS_UNIDENTIFIED_GROUP' => 1, 'PS_TAX' => 1, 'PS_STOCK_MANAGEMENT' => 1 );
		public static function get( $key, $idLang = null, $idShopGroup = null, $idShop = null, $default = false ) { return self::$all[ $key ] ?? $default; }
	}
	class Link {
		public function getBaseLink( $idShop = null ) { return 'http://shop.example/'; }
		public function getModuleLink( $module, $controller = 'default' ) { return "http://shop.example/module/$module/$controller"; }
		public function getAdminLink( $controller, $withToken = true, $sfRouteParams = array(), $params = array() ) { return 'http://shop.example/admin/?controller=' . $controller . '&token=t&' . http_build_query( $params ); }
		public function getProductLink( $product, $alias = null, $category = null, $ean13 = null, $idLang = null, $idShop = null ) { return "http://shop.example/$category/$product-$alias.html"; }
		public function getImageLink( $name, $ids, $type = null ) { return "http://shop.example/$ids-$type/$name.jpg"; }
	}
	class Shop_Locale { public function formatPrice( $number, $currency ) { return '€1,234.00'; } }
	class Tools {
		public static function getContextLocale( $context ) { return new Shop_Locale(); }
		public static function getValue( $key, $default = false ) { return $_POST[ $key ] ?? $_GET[ $key ] ?? $default; }
	}
	class Customer {
		public $id = 0;
		public function isLogged() { return $this->id > 0; }
	}
	class Cart {
		public $products = array();
		public function getProducts() { return $this->products; }
	}
	class Context {
		public $link;
		public $customer;
		public $cart;
		public $controller;
		public static function getContext() {
			static $one = null;
			if ( ! $one ) {
				$one             = new self();
				$one->link       = new Link();
				$one->customer   = new Customer();
				$one->cart       = new Cart();
				$one->controller = (object) array( 'php_self' => 'index' );
			}
			return $one;
		}
	}
	class Currency {
		public $id        = 1;
		public $iso_code  = 'EUR';
		public $precision = 2;
		public static function getDefaultCurrency() { return new self(); }
	}
	class Group {
		public static $method = 0;
		public static function isFeatureActive() { return true; }
		public static function getPriceDisplayMethod( $id_group ) { return self::$method; }
	}
	class Product {
		public $id;
		public static $prices = array();
		public function __construct( $id ) { $this->id = $id; }
		public static function getDefaultAttribute( $id_product ) { return 0; }
		public static function isAvailableWhenOutOfStock( $out_of_stock ) { return $out_of_stock; }
		public static function priceCalculation( $id_shop, $id_product, $id_product_attribute, $id_country, $id_state, $zipcode, $id_currency, $id_group, $quantity, $use_tax, $decimals, $only_reduc, $use_reduc, $with_ecotax, &$specific_price, $use_group_reduction, $id_customer = 0 ) {
			list( $net, $reduced ) = self::$prices[ $id_product ] ?? array( 10, 10 );
			return ( $use_reduc ? $reduced : $net ) * ( $use_tax ? 1.2 : 1 );
		}
	}
	class StockAvailable {
		public static $stock = array();
		public static function getQuantityAvailableByProduct( $id_product = null, $id_product_attribute = null, $id_shop = null ) { return self::$stock[ $id_product ] ?? 5; }
		public static function outOfStock( $id_product, $id_shop = null ) { return 0; }
	}
	class ImageType { public static function getFormattedName( $name ) { return $name . '_default'; } }
	class PrestaShopLogger {
		public static $messages = array();
		public static function addLog( $message, $severity = 1 ) { self::$messages[] = $message; }
	}
	class Order {
		public $id;
		public function __construct( $id ) { $this->id = $id; }
		public function getProducts() { return Db::$tables['SELECT product_id']; }
	}
	class Module {
		public $name;
		public $context;
		public $hooks = array();
		public $tab;
		public $version;
		public $author;
		public $bootstrap;
		public $controllers;
		public $ps_versions_compliancy;
		public $displayName;
		public $description;
		public function __construct() { $this->context = Context::getContext(); }
		public function install() { return true; }
		public function uninstall() { $this->hooks = array(); return true; }
		public function registerHook( $hook_name, $shop_list = null ) { $this->hooks = array_merge( $this->hooks, (array) $hook_name ); return true; }
		public function getPathUri() { return "/modules/$this->name/"; }
	}
	class ModuleFrontController {
		protected function ajaxRender( $value = null, $controller = null, $method = null ) { echo $value; }
	}
}

namespace ProductRecs {
	require __DIR__ . '/shop_module.php';

	/** The fake shop's tables, which answer PrestaShop's statements on the module's own tables. */
	class Fake_Tables extends Fake_Shop {
		public $changed = 0;
		public function run_statement( $what, $sql ) {
			$sql = preg_replace( '/\(id_shop = 1 AND current_state IN \(.*?\)\)/', 'paid', $sql );
			$sql = str_replace( array( 'id_order`', 'date_upd`' ), array( 'id`', 'modified`' ), $sql );
			return $this->$what( $sql );
		}
	}

	\Db::$fake = new Fake_Tables();
	require $core . '/prestashop-shop.php';
	require dirname( $core ) . '/productrecs.php';

	$shop     = new PrestaShop_Shop();
	$settings = new Settings( $shop );
	$list     = new Work_List( $shop );
	$made     = new Connection( $shop );
	$module   = new \Productrecs();
	$module->install();

	// What tests say.
	function sell( array $products ) {
		$rows = array();
		foreach ( $products as $id => $facts ) {
			$rows[ $id ] = $facts + array( 'id_product' => (string) $id, 'reference' => "T-$id", 'ean13' => '', 'upc' => '', 'isbn' => '', 'show_price' => 1, 'available_for_order' => 1, 'name' => "Tent $id", 'link_rewrite' => "tent-$id", 'description' => '<p>Dry.</p>', 'description_short' => '', 'category' => 'tents', 'brand' => 'Vango', 'id_image' => $id );
		}
		\Db::$tables = array(
			'SELECT p.id_product AS id FROM' => function ( $sql ) use ( $rows ) {
				preg_match( '/id_product > (\d+) ORDER/', $sql, $found );
				return array_map( fn( $id ) => array( 'id' => $id ), array_values( array_filter( array_keys( $rows ), fn( $id ) => $id > $found[1] ) ) );
			},
			'SELECT COUNT(*) AS n FROM `x_product`' => array( array( 'n' => count( $rows ) ) ),
			'SELECT p.id_product, p.reference' => function ( $sql ) use ( $rows ) {
				preg_match( '/IN \(([\d, ]+)\)$/', $sql, $found );
				return array_values( array_intersect_key( $rows, array_flip( explode( ', ', $found[1] ) ) ) );
			},
			'SELECT show_prices' => array( array( 'show_prices' => 1 ) ),
			'SELECT c.id_category AS category_id' => array( array( 'category_id' => 4, 'path_id' => 3, 'name' => 'Outdoor' ), array( 'category_id' => 4, 'path_id' => 4, 'name' => 'Tents' ) ),
			'SELECT DISTINCT g.public_name' => array( array( 'name' => 'Color', 'value' => 'Red' ), array( 'name' => 'Weight', 'value' => '2 kg' ) ),
		) + \Db::$tables;
	}
	function buy( $id, $lines, $facts = array(), $discount = 0 ) {
		$rows = array();
		foreach ( $lines as $item => $line ) { $rows[] = array( 'product_id' => $item, 'units' => $line[0], 'total' => $line[1], 'refunded' => $line[2] ?? 0 ); }
		$order       = $facts + array( 'id_customer' => 0, 'date_add' => gmdate( 'Y-m-d H:i:s' ), 'total_products' => 100, 'total_products_wt' => 100, 'conversion_rate' => 1, 'is_paid' => 1 );
		\Db::$tables = array( 'SELECT id_customer, date_add' => array( $order ), 'SELECT product_id' => $rows, 'SELECT SUM(value' => array( array( 'value' => $discount ) ) ) + \Db::$tables;
		\Db::$fake->orders[ $id ] = array( 'is_sellable' => $order['is_paid'], 'modified' => time() );
	}
	function hook( $name, $params = array() ) { return $GLOBALS['module']->{'hook' . ucfirst( $name )}( $params ); }
}
