<?php
/**
 * Shop: orders and carts are noted, widgets stand on pages, and pages or cron start the work.
 *
 * @package ProductRecs
 */

namespace Opencart\Catalog\Controller\Extension\Productrecs\Module;

require_once DIR_EXTENSION . 'productrecs/core/start.php';

/** Events of the shop. An error of this extension never reaches a shopper. */
class Productrecs extends \Opencart\System\Engine\Controller {

	const ROUTE   = 'extension/productrecs/module/productrecs';
	const SECONDS = 8; // of work that a page starts.

	/** Do what is due; anyone may call it, one process works at a time. */
	public function work(): void {
		ignore_user_abort( true );
		$is_left = false;
		try {
			$worker  = new \ProductRecs\Worker( $this->shop() );
			$is_left = $worker->run( self::SECONDS );
		} catch ( \Throwable $error ) {
			$this->log->write( 'ProductRecs: ' . $error->getMessage() );
		}
		$this->response->addHeader( 'Content-Type: application/json' );
		$this->response->setOutput( json_encode( array( 'is_left' => $is_left ) ) );
	}

	/** Job of OpenCart's cron. */
	public function cron(): void {
		try {
			$worker = new \ProductRecs\Worker( $this->shop() );
			$worker->run( 120 );
		} catch ( \Throwable $error ) {
			$this->log->write( 'ProductRecs: ' . $error->getMessage() );
		}
	}

	/**
	 * Event: an order was stored, before it is paid.
	 *
	 * @param string $route  The model's method.
	 * @param array  $args   Its arguments.
	 * @param mixed  $output The order.
	 */
	public function ordered( &$route, &$args, &$output = null ): void {
		if ( ! $output || 0 === strpos( $this->route(), 'api/' ) ) {
			return; // Made in the back office: the browser is not the shopper's.
		}
		$this->guarded(
			function ( $page, $list ) use ( $output ) {
				$list->remember( (int) $output, $page->has_consent() ? \ProductRecs\Page::session() : '', $page->customer() );
			}
		);
	}

	/**
	 * Event: an order changed; so did the stock of its products.
	 *
	 * @param string $route The model's method.
	 * @param array  $args  Its arguments.
	 */
	public function changed( &$route, &$args ): void {
		$id = (int) $args[0];
		$this->guarded(
			function ( $page, $list ) use ( $id ) {
				$list->add( \ProductRecs\Work_List::ORDER, array( $id ) );
				$list->add_all( \ProductRecs\Work_List::PRODUCT, 'SELECT DISTINCT product_id AS id FROM `' . DB_PREFIX . 'order_product` WHERE order_id = ?', array( $id ) );
			}
		);
	}

	/**
	 * Event: a product was put into the cart, or refused.
	 *
	 * @param string $route The controller.
	 */
	public function added( &$route ): void {
		$reply = json_decode( (string) $this->response->getOutput(), true );
		if ( empty( $reply['success'] ) ) {
			return;
		}
		$this->guarded(
			function ( $page, $list, $shop ) {
				$id    = (int) $this->request->post['product_id'];
				$units = isset( $this->request->post['quantity'] ) ? (int) $this->request->post['quantity'] : 1;
				$items = $shop->items( array( $id ) );
				if ( $items[ $id ] ) {
					$page->added( $id, $units, (float) $items[ $id ]['price'], $shop->currency() );
				}
			}
		);
	}

	/** Event: the page that thanks for an order begins; it removes the order from the session. */
	public function thanks(): void {
		$this->registry->set( 'productrecs_order', (object) array( 'id' => isset( $this->session->data['order_id'] ) ? (int) $this->session->data['order_id'] : 0 ) );
	}

	/**
	 * Event: a page's head is drawn.
	 *
	 * @param string $route The template.
	 * @param array  $data  Its values.
	 */
	public function header( &$route, &$data ): void {
		$this->guarded(
			function ( $page, $list, $shop ) use ( &$data ) {
				$worker = new \ProductRecs\Worker( $shop );
				$home   = 'index.php?route='; // Templates have a base address.

				$data['analytics'][] = $page->scripts( 'extension/productrecs/catalog/view/assets/', $worker->has_work() ? $home . self::ROUTE . '.work' : '', $home . 'checkout/cart.add', $home . 'common/cart.info&language=' . $this->config->get( 'config_language' ) );
			}
		);
	}

	/**
	 * Event: a page that has a place for widgets is drawn.
	 *
	 * @param string $route The template.
	 * @param array  $data  Its values.
	 */
	public function place( &$route, &$data ): void {
		$this->guarded(
			function ( $page, $list, $shop ) use ( $route, &$data ) {
				$html = '';
				if ( 'product/product' === $route && ! empty( $data['product_id'] ) ) {
					$html = $page->place( 'product', array( (int) $data['product_id'] ) );
				} elseif ( 'checkout/cart' === $route ) {
					$html = $page->place( 'cart', array_column( $this->cart->getProducts(), 'product_id' ) );
				} elseif ( 'common/home' === $route ) {
					$html = $page->place( 'home' );
				} elseif ( 'product/search' === $route ) {
					$html = $page->place( 'results' );
				} elseif ( 'common/success' === $route && $this->registry->has( 'productrecs_order' ) ) {
					$rows = $shop->rows( 'SELECT product_id FROM `' . DB_PREFIX . 'order_product` WHERE order_id = ?', array( $this->registry->get( 'productrecs_order' )->id ) );
					$html = $page->place( 'thanks', array_column( $rows, 'product_id' ) );
				}
				$data['content_bottom'] = ( isset( $data['content_bottom'] ) ? $data['content_bottom'] : '' ) . $html;
			}
		);
	}

	/**
	 * Call a function in a connected shop; whatever it throws never reaches a shopper.
	 *
	 * @param callable $work Gets the page, the work list and the shop.
	 */
	private function guarded( callable $work ): void {
		try {
			$shop     = $this->shop();
			$settings = new \ProductRecs\Settings( $shop );
			if ( $settings->connected() ) {
				$customer = $this->customer->isLogged() ? (int) $this->customer->getId() : 0;
				$work( new \ProductRecs\Page( $shop, $settings, $customer ), new \ProductRecs\Work_List( $shop ), $shop );
			}
		} catch ( \Throwable $error ) {
			$this->log->write( 'ProductRecs: ' . $error->getMessage() );
		}
	}

	/** Return the page's route. */
	private function route(): string {
		return isset( $this->request->get['route'] ) ? (string) $this->request->get['route'] : '';
	}

	/** Return the shop. */
	private function shop(): \ProductRecs\OpenCart_Shop {
		return new \ProductRecs\OpenCart_Shop( $this->registry );
	}
}
