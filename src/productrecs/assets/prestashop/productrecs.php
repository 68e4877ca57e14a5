<?php
/**
 * Module: the settings screen, what the merchant and shoppers change, and the places of widgets.
 *
 * @package ProductRecs
 */

defined( '_PS_VERSION_' ) || exit;

require_once __DIR__ . '/core/start.php';

/** Modules, ProductRecs. An error of this module never reaches a shopper or the back office. */
class Productrecs extends Module {

	const HOOKS = array( // PrestaShop's hook, and which method below answers it.
		'displayHeader'                           => 'head',
		'displayFooterProduct'                    => 'product_place',
		'displayShoppingCart'                     => 'cart_place',
		'displayHome'                             => 'home_place',
		'displayOrderConfirmation'                => 'thanks_place',
		'displayContentWrapperBottom'             => 'results_place',
		'actionCartUpdateQuantityBefore'          => 'added',
		'actionValidateOrder'                     => 'ordered',
		'actionObjectOrderUpdateAfter'            => 'order',
		'actionObjectOrderDeleteAfter'            => 'order',
		'actionObjectOrderDetailAddAfter'         => 'order',
		'actionObjectOrderDetailUpdateAfter'      => 'order',
		'actionObjectOrderDetailDeleteAfter'      => 'order',
		'actionObjectOrderCartRuleAddAfter'       => 'order',
		'actionObjectOrderCartRuleUpdateAfter'    => 'order',
		'actionObjectProductAddAfter'             => 'product',
		'actionObjectProductUpdateAfter'          => 'product',
		'actionObjectProductDeleteAfter'          => 'product',
		'actionProductUpdate'                     => 'product',
		'actionUpdateQuantity'                    => 'product',
		'actionObjectCombinationAddAfter'         => 'product',
		'actionObjectCombinationUpdateAfter'      => 'product',
		'actionObjectCombinationDeleteAfter'      => 'product',
		'actionObjectImageAddAfter'               => 'product',
		'actionObjectImageUpdateAfter'            => 'product',
		'actionObjectImageDeleteAfter'            => 'product',
		'actionObjectSpecificPriceAddAfter'       => 'product',
		'actionObjectSpecificPriceUpdateAfter'    => 'product',
		'actionObjectSpecificPriceDeleteAfter'    => 'product',
		'actionObjectCategoryUpdateAfter'         => 'category',
		'actionObjectCategoryDeleteBefore'        => 'category',
		'actionObjectManufacturerUpdateAfter'     => 'manufacturer',
		'actionObjectTaxUpdateAfter'              => 'everything',
		'actionObjectTaxRuleAddAfter'             => 'everything',
		'actionObjectTaxRuleUpdateAfter'          => 'everything',
		'actionObjectTaxRuleDeleteAfter'          => 'everything',
		'actionObjectCurrencyUpdateAfter'         => 'everything',
		'actionObjectGroupUpdateAfter'            => 'everything',
		'actionObjectSpecificPriceRuleAddAfter'   => 'everything',
		'actionObjectSpecificPriceRuleUpdateAfter' => 'everything',
		'actionObjectSpecificPriceRuleDeleteAfter' => 'everything',
	);

	/** Name the module. */
	public function __construct() {
		$this->name                   = 'productrecs';
		$this->tab                    = 'front_office_features';
		$this->version                = '1.0.0';
		$this->author                 = 'ProductRecs';
		$this->bootstrap              = true;
		$this->controllers            = array( 'work' );
		$this->ps_versions_compliancy = array(
			'min' => '8.0.0',
			'max' => '8.99.99',
		);
		parent::__construct();
		$this->displayName = 'ProductRecs';
		$this->description = 'Recommendations, search and looks from your own ProductRecs service.';
	}

	/** Create the tables, and register the hooks. */
	public function install() {
		$connection = new \ProductRecs\Connection( new \ProductRecs\PrestaShop_Shop() );
		$connection->install();
		return parent::install() && $this->registerHook( array_keys( self::HOOKS ) );
	}

	/** Remove everything that the module stored. */
	public function uninstall() {
		if ( ! parent::uninstall() ) {
			return false;
		}
		$connection = new \ProductRecs\Connection( new \ProductRecs\PrestaShop_Shop() );
		$connection->uninstall();
		return true;
	}

	/** Show the settings screen, carry out its buttons, or answer how far the work is. */
	public function getContent() {
		$screen = new \ProductRecs\Screen( new \ProductRecs\PrestaShop_Shop() );
		if ( Tools::getValue( 'progress' ) ) {
			header( 'Content-Type: application/json' );
			exit( $screen->answer() );
		}
		$said   = isset( $_POST['act'] ) ? $screen->act( $_POST ) : array( '', '' );
		$action = $this->context->link->getAdminLink( 'AdminModules', true, array(), array( 'configure' => $this->name ) );
		$work   = $this->context->link->getModuleLink( $this->name, 'work' );
		return $screen->html( $action, $action . '&progress=1', $work, $work, $said );
	}

	/**
	 * Answer a hook of the table above.
	 *
	 * @param string $name PrestaShop's hook after `hook`.
	 * @param array  $args The hook's values.
	 * @return string HTML of a place; else empty.
	 */
	public function __call( $name, array $args ) {
		$hook = lcfirst( substr( $name, 4 ) );
		if ( 0 !== strpos( $name, 'hook' ) || ! isset( self::HOOKS[ $hook ] ) ) {
			throw new \BadMethodCallException( $name );
		}
		try {
			$shop     = new \ProductRecs\PrestaShop_Shop();
			$settings = new \ProductRecs\Settings( $shop );
			if ( ! $settings->connected() ) {
				return '';
			}
			$customer = isset( $this->context->customer ) && $this->context->customer->isLogged() ? (int) $this->context->customer->id : 0;
			$page     = new \ProductRecs\Page( $shop, $settings, $customer );
			return (string) $this->{self::HOOKS[ $hook ]}( isset( $args[0] ) ? $args[0] : array(), $page, $shop, $settings );
		} catch ( \Throwable $error ) {
			PrestaShopLogger::addLog( 'ProductRecs: ' . $error->getMessage(), 3 );
			return '';
		}
	}

	/**
	 * Return the scripts of a page's head.
	 *
	 * @param array                        $params The hook's values.
	 * @param \ProductRecs\Page            $page   The page.
	 * @param \ProductRecs\PrestaShop_Shop $shop   The shop.
	 * @return string
	 */
	private function head( $params, $page, $shop ) {
		$worker = new \ProductRecs\Worker( $shop );
		return $page->scripts( $this->getPathUri() . 'views/', $worker->has_work() ? $this->context->link->getModuleLink( $this->name, 'work' ) : '' );
	}

	/**
	 * Return the widgets of a product's page.
	 *
	 * @param array             $params The product.
	 * @param \ProductRecs\Page $page   The page.
	 * @return string
	 */
	private function product_place( $params, $page ) {
		return $page->place( 'product', array( (int) $params['product']['id_product'] ) );
	}

	/**
	 * Return the widgets of the cart.
	 *
	 * @param array             $params The hook's values.
	 * @param \ProductRecs\Page $page   The page.
	 * @return string
	 */
	private function cart_place( $params, $page ) {
		return $page->place( 'cart', array_column( $this->context->cart->getProducts(), 'id_product' ) );
	}

	/**
	 * Return the widgets of the home page.
	 *
	 * @param array             $params The hook's values.
	 * @param \ProductRecs\Page $page   The page.
	 * @return string
	 */
	private function home_place( $params, $page ) {
		return $page->place( 'home' );
	}

	/**
	 * Return the widgets of the page after an order.
	 *
	 * @param array             $params The order.
	 * @param \ProductRecs\Page $page   The page.
	 * @return string
	 */
	private function thanks_place( $params, $page ) {
		return $page->place( 'thanks', array_column( $params['order']->getProducts(), 'product_id' ) );
	}

	/**
	 * Return the widgets of the search results; other pages have the same hook.
	 *
	 * @param array             $params The hook's values.
	 * @param \ProductRecs\Page $page   The page.
	 * @return string
	 */
	private function results_place( $params, $page ) {
		return 'search' === $this->context->controller->php_self ? $page->place( 'results' ) : '';
	}

	/**
	 * A shopper puts a product into the cart.
	 *
	 * @param array                        $params The product, its quantity, and `up` or `down`.
	 * @param \ProductRecs\Page            $page   The page.
	 * @param \ProductRecs\PrestaShop_Shop $shop   The shop.
	 */
	private function added( $params, $page, $shop ) {
		if ( 'up' === $params['operator'] && ! defined( '_PS_ADMIN_DIR_' ) ) {
			$page->added( (int) $params['product']->id, (int) $params['quantity'], $shop->price( (int) $params['product']->id ), $shop->currency() );
		}
	}

	/**
	 * An order was stored. A payment service's own request, or the back office's, has no shopper's session.
	 *
	 * @param array                        $params The order.
	 * @param \ProductRecs\Page            $page   The page.
	 * @param \ProductRecs\PrestaShop_Shop $shop   The shop.
	 */
	private function ordered( $params, $page, $shop ) {
		$list = new \ProductRecs\Work_List( $shop );
		$list->add( \ProductRecs\Work_List::ORDER, array( (int) $params['order']->id ) );
		if ( '' !== \ProductRecs\Page::session() && ! defined( '_PS_ADMIN_DIR_' ) ) {
			$list->remember( (int) $params['order']->id, \ProductRecs\Page::session(), $page->customer() );
		}
	}

	/**
	 * An order, one of its lines or its discounts changed.
	 *
	 * @param array                        $params The object that changed.
	 * @param \ProductRecs\Page            $page   The page.
	 * @param \ProductRecs\PrestaShop_Shop $shop   The shop.
	 */
	private function order( $params, $page, $shop ) {
		$object = $params['object'];
		$list   = new \ProductRecs\Work_List( $shop );
		$list->add( \ProductRecs\Work_List::ORDER, array( (int) ( $object instanceof \Order ? $object->id : $object->id_order ) ) );
	}

	/**
	 * A product, its stock, combinations, pictures or prices changed.
	 *
	 * @param array                        $params   The object that changed, or the product.
	 * @param \ProductRecs\Page            $page     The page.
	 * @param \ProductRecs\PrestaShop_Shop $shop     The shop.
	 * @param \ProductRecs\Settings        $settings The merchant's settings.
	 */
	private function product( $params, $page, $shop, $settings ) {
		$object = isset( $params['object'] ) ? $params['object'] : null;
		$id     = (int) ( null === $object ? $params['id_product'] : ( $object instanceof \Product ? $object->id : $object->id_product ) );
		if ( $id > 0 ) {
			$list = new \ProductRecs\Work_List( $shop );
			$list->add( \ProductRecs\Work_List::PRODUCT, array( $id ) );
		} else { // A specific price of all products.
			$this->everything( $params, $page, $shop, $settings );
		}
	}

	/**
	 * A category changed, or is about to be deleted.
	 *
	 * @param array                        $params The category.
	 * @param \ProductRecs\Page            $page   The page.
	 * @param \ProductRecs\PrestaShop_Shop $shop   The shop.
	 */
	private function category( $params, $page, $shop ) {
		$list = new \ProductRecs\Work_List( $shop );
		$list->add_all(
			\ProductRecs\Work_List::PRODUCT,
			str_replace( '{', _DB_PREFIX_, 'SELECT DISTINCT x.id_product AS id FROM {category_product AS x JOIN {category AS c ON c.id_category = x.id_category JOIN {category AS a ON a.nleft <= c.nleft AND a.nright >= c.nright WHERE a.id_category = ?' ),
			array( (int) $params['object']->id )
		);
	}

	/**
	 * A manufacturer changed.
	 *
	 * @param array                        $params The manufacturer.
	 * @param \ProductRecs\Page            $page   The page.
	 * @param \ProductRecs\PrestaShop_Shop $shop   The shop.
	 */
	private function manufacturer( $params, $page, $shop ) {
		$list = new \ProductRecs\Work_List( $shop );
		$list->add_all( \ProductRecs\Work_List::PRODUCT, 'SELECT id_product AS id FROM `' . _DB_PREFIX_ . 'product` WHERE id_manufacturer = ?', array( (int) $params['object']->id ) );
	}

	/**
	 * All prices may have changed.
	 *
	 * @param array                        $params   The object that changed.
	 * @param \ProductRecs\Page            $page     The page.
	 * @param \ProductRecs\PrestaShop_Shop $shop     The shop.
	 * @param \ProductRecs\Settings        $settings The merchant's settings.
	 */
	private function everything( $params, $page, $shop, $settings ) {
		$catalog = new \ProductRecs\Catalog_Sync( $shop, $settings, new \ProductRecs\Work_List( $shop ) );
		$catalog->begin();
	}
}
