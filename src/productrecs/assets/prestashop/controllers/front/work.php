<?php
/**
 * Work: the address that pages and cron call to start the background work.
 *
 * @package ProductRecs
 */

defined( '_PS_VERSION_' ) || exit;

/** Does what is due; anyone may call it, one process works at a time. */
class ProductrecsWorkModuleFrontController extends ModuleFrontController {

	const SECONDS = 8; // of work that a call starts.

	/** Answer whether work is left. */
	public function initContent() {
		ignore_user_abort( true );
		$is_left = false;
		try {
			$worker  = new \ProductRecs\Worker( new \ProductRecs\PrestaShop_Shop() );
			$is_left = $worker->run( self::SECONDS );
		} catch ( \Throwable $error ) {
			PrestaShopLogger::addLog( 'ProductRecs: ' . $error->getMessage(), 3 );
		}
		header( 'Content-Type: application/json' );
		header( 'Cache-Control: no-store' );
		$this->ajaxRender( (string) json_encode( array( 'is_left' => $is_left ) ) );
		exit;
	}

	/** The work goes on while the shop is closed to shoppers. */
	protected function displayMaintenancePage() {
	}
}
