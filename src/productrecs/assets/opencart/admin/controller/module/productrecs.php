<?php
/**
 * Back office: the settings screen, what the merchant changes there, install and uninstall.
 *
 * @package ProductRecs
 */

namespace Opencart\Admin\Controller\Extension\Productrecs\Module;

require_once DIR_EXTENSION . 'productrecs/core/start.php';

/** Extensions, Modules, ProductRecs. */
class Productrecs extends \Opencart\System\Engine\Controller {

	const ROUTE  = 'extension/productrecs/module/productrecs';
	const EVENTS = array( // `?` is a `/` in OpenCart 4.0 and a `.` since 4.1.
		'admin/model/catalog/product?addProduct/after'       => 'product',
		'admin/model/catalog/product?editProduct/after'      => 'product',
		'admin/model/catalog/product?deleteProduct/after'    => 'product',
		'admin/model/catalog/product?addVariant/after'       => 'product',
		'admin/model/catalog/product?editVariant/after'      => 'product',
		'admin/model/catalog/product?editVariants/after'     => 'product',
		'admin/model/catalog/category?editCategory/after'    => 'category',
		'admin/model/catalog/category?deleteCategory/before' => 'category',
		'admin/model/catalog/manufacturer?editManufacturer/after' => 'manufacturer',
		'admin/model/localisation/tax_rate?editTaxRate/after' => 'everything',
		'admin/model/localisation/tax_rate?deleteTaxRate/after' => 'everything',
		'admin/model/localisation/tax_class?editTaxClass/after' => 'everything',
		'admin/model/localisation/currency?editCurrency/after' => 'everything',
		'admin/model/setting/setting?editSetting/after'      => 'setting',
		'catalog/model/checkout/order?addOrder/after'        => 'ordered',
		'catalog/model/checkout/order?editOrder/after'       => 'changed',
		'catalog/model/checkout/order?addHistory/after'      => 'changed',
		'catalog/model/checkout/order?deleteOrder/after'     => 'changed',
		'catalog/controller/checkout/cart?add/after'         => 'added',
		'catalog/controller/checkout/success/before'         => 'thanks',
		'catalog/view/common/header/before'                  => 'header',
		'catalog/view/product/product/before'                => 'place',
		'catalog/view/checkout/cart/before'                  => 'place',
		'catalog/view/common/home/before'                    => 'place',
		'catalog/view/product/search/before'                 => 'place',
		'catalog/view/common/success/before'                 => 'place',
	);

	/** Show the screen; carry out its buttons. */
	public function index(): void {
		$this->load->language( self::ROUTE );
		$this->document->setTitle( $this->language->get( 'heading_title' ) );
		$screen = new \ProductRecs\Screen( $this->shop() );
		$said   = array( '', '' );
		if ( 'POST' === $this->request->server['REQUEST_METHOD'] ) {
			$posted = $this->request->post; // OpenCart escapes it: a selector may hold `>`.
			array_walk_recursive(
				$posted,
				function ( &$value ) {
					$value = html_entity_decode( (string) $value, ENT_QUOTES, 'UTF-8' );
				}
			);
			$said = $this->may() ? $screen->act( $posted ) : array( $this->language->get( 'error_permission' ), '' );
		}
		$token = 'user_token=' . $this->session->data['user_token'];
		$work  = HTTP_CATALOG . 'index.php?route=' . self::ROUTE . '.work';
		$data  = array(
			'heading_title' => $this->language->get( 'heading_title' ),
			'back'          => $this->url->link( 'marketplace/extension', $token . '&type=module' ),
			'screen'        => $screen->html( html_entity_decode( $this->url->link( self::ROUTE, $token ) ), html_entity_decode( $this->url->link( self::ROUTE . '.progress', $token ) ), $work, $work, $said ),
			'header'        => $this->load->controller( 'common/header' ),
			'column_left'   => $this->load->controller( 'common/column_left' ),
			'footer'        => $this->load->controller( 'common/footer' ),
		);
		$this->response->setOutput( $this->load->view( self::ROUTE, $data ) );
	}

	/** Return how far the work is. */
	public function progress(): void {
		$screen = new \ProductRecs\Screen( $this->shop() );
		$this->response->addHeader( 'Content-Type: application/json' );
		$this->response->setOutput( $this->may() ? $screen->answer() : '{}' );
	}

	/** Create tables, events and the job of OpenCart's cron. */
	public function install(): void {
		if ( ! $this->user->hasPermission( 'modify', 'extension/module' ) ) { // OpenCart grants the other with the request.
			return;
		}
		$connection = new \ProductRecs\Connection( $this->shop() );
		$connection->install();
		$this->load->model( 'setting/event' );
		$this->load->model( 'setting/cron' );
		$this->model_setting_event->deleteEventByCode( 'productrecs' );
		foreach ( self::EVENTS as $trigger => $method ) {
			$this->model_setting_event->addEvent(
				array(
					'code'        => 'productrecs',
					'description' => 'Tells ProductRecs what changed, and shows its widgets',
					'trigger'     => $trigger,
					'action'      => self::ROUTE . '.' . $method,
					'status'      => true,
					'sort_order'  => 100,
				)
			);
		}
		$this->model_setting_cron->deleteCronByCode( 'productrecs' );
		$this->model_setting_cron->addCron( 'productrecs', 'Sends changed products and orders to ProductRecs', 'hour', self::ROUTE . '.cron', true );
	}

	/** Remove everything that the extension stored. */
	public function uninstall(): void {
		if ( ! $this->user->hasPermission( 'modify', 'extension/module' ) ) { // OpenCart grants the other with the request.
			return;
		}
		$this->load->model( 'setting/event' );
		$this->load->model( 'setting/cron' );
		$this->load->model( 'user/user_group' );
		$this->model_setting_event->deleteEventByCode( 'productrecs' );
		$this->model_setting_cron->deleteCronByCode( 'productrecs' );
		$connection = new \ProductRecs\Connection( $this->shop() );
		$connection->uninstall();
		foreach ( $this->model_user_user_group->getUserGroups() as $group ) {
			foreach ( array( 'access', 'modify' ) as $kind ) {
				$this->model_user_user_group->removePermission( (int) $group['user_group_id'], $kind, self::ROUTE );
			}
		}
	}

	/**
	 * Event: products changed.
	 *
	 * @param string $route  The model's method.
	 * @param array  $args   Its arguments.
	 * @param mixed  $output What it returned.
	 */
	public function product( &$route, &$args, &$output = null ): void {
		$ids = array_filter( array_merge( array( $output ), array_values( $args ) ), 'is_numeric' );
		$this->guarded(
			function ( $shop, $list ) use ( $ids ) {
				$ids   = array_map( 'intval', $ids );
				$marks = implode( ', ', array_fill( 0, count( $ids ), '?' ) );
				$list->add( \ProductRecs\Work_List::PRODUCT, $ids );
				if ( $ids ) { // Variants have products of their own.
					$list->add_all( \ProductRecs\Work_List::PRODUCT, 'SELECT product_id AS id FROM `' . DB_PREFIX . "product` WHERE master_id IN ($marks)", array_values( $ids ) );
				}
			}
		);
	}

	/**
	 * Event: a category changed.
	 *
	 * @param string $route The model's method.
	 * @param array  $args  Its arguments.
	 */
	public function category( &$route, &$args ): void {
		$id = (int) $args[0];
		$this->guarded(
			function ( $shop, $list ) use ( $id ) {
				$list->add_all( \ProductRecs\Work_List::PRODUCT, 'SELECT DISTINCT c.product_id AS id FROM `' . DB_PREFIX . 'product_to_category` AS c JOIN `' . DB_PREFIX . 'category_path` AS a ON a.category_id = c.category_id WHERE a.path_id = ?', array( $id ) );
			}
		);
	}

	/**
	 * Event: a manufacturer changed.
	 *
	 * @param string $route The model's method.
	 * @param array  $args  Its arguments.
	 */
	public function manufacturer( &$route, &$args ): void {
		$id = (int) $args[0];
		$this->guarded(
			function ( $shop, $list ) use ( $id ) {
				$list->add_all( \ProductRecs\Work_List::PRODUCT, 'SELECT product_id AS id FROM `' . DB_PREFIX . 'product` WHERE manufacturer_id = ?', array( $id ) );
			}
		);
	}

	/**
	 * Event: settings were stored.
	 *
	 * @param string $route The model's method.
	 * @param array  $args  Its arguments.
	 */
	public function setting( &$route, &$args ): void {
		if ( 'config' === $args[0] ) {
			$this->everything( $route, $args );
		}
	}

	/**
	 * Event: all prices may have changed.
	 *
	 * @param string $route The model's method.
	 * @param array  $args  Its arguments.
	 */
	public function everything( &$route, &$args ): void {
		$this->guarded(
			function ( $shop, $list, $settings ) {
				$catalog = new \ProductRecs\Catalog_Sync( $shop, $settings, $list );
				$catalog->begin();
			}
		);
	}

	/**
	 * Call a function in a connected shop; whatever it throws never reaches the back office.
	 *
	 * @param callable $work Gets the shop, its work list and its settings.
	 */
	private function guarded( callable $work ): void {
		try {
			$shop     = $this->shop();
			$settings = new \ProductRecs\Settings( $shop );
			if ( $settings->connected() ) {
				$work( $shop, new \ProductRecs\Work_List( $shop ), $settings );
			}
		} catch ( \Throwable $error ) {
			$this->log->write( 'ProductRecs: ' . $error->getMessage() );
		}
	}

	/** Return whether this user may change the settings. */
	private function may(): bool {
		return (bool) $this->user->hasPermission( 'modify', self::ROUTE );
	}

	/** Return the shop. */
	private function shop(): \ProductRecs\OpenCart_Shop {
		return new \ProductRecs\OpenCart_Shop( $this->registry );
	}
}
