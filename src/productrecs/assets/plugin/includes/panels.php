<?php
/**
 * Panels: what the service says in wp-admin, loaded after the page.
 *
 * @package ProductRecs
 */

namespace ProductRecs;

defined( 'ABSPATH' ) || exit;

/** The health of the connection, and what is recommended for a product. No page waits for them. */
class Panels {

	/** Answer for the panels, and show one on the edit page of a product. */
	public static function hooks() {
		add_action( 'wp_ajax_product_recs_panel', guarded( array( __CLASS__, 'answer' ) ) );
		add_action( 'add_meta_boxes_product', guarded( array( __CLASS__, 'preview_box' ) ) );
	}

	/** Add the preview to the product's edit page. */
	public static function preview_box() {
		if ( Settings::connected() ) {
			add_meta_box( 'product-recs', __( 'Recommendations', 'service-recommender' ), guarded( array( __CLASS__, 'preview' ) ), 'product', 'side', 'low' );
		}
	}

	/** Load the script of the panels and the forms. */
	public static function load_script() {
		wp_enqueue_script( 'product-recs-admin', plugins_url( 'assets/admin.js', FILE ), array(), VERSION, true );
	}

	/**
	 * Draw a place for what the service answers: the page does not wait for it.
	 *
	 * @param int $product The product whose list is shown; 0 for the health of the connection.
	 */
	public static function draw( $product = 0 ) {
		self::load_script();
		echo '<div class="pr-panel" aria-live="polite" data-product="' . esc_attr( (string) $product ) . '" data-url="' . esc_url( admin_url( 'admin-ajax.php' ) ) . '" data-nonce="' . esc_attr( wp_create_nonce( 'product_recs_panel' ) ) . '" data-failed="' . esc_attr__( 'This could not be loaded. Load the page again.', 'service-recommender' ) . '"><p>' . esc_html__( 'Loading…', 'service-recommender' ) . '</p></div>';
	}

	/** AJAX: what a panel shows. */
	public static function answer() {
		check_ajax_referer( 'product_recs_panel' );
		$product = isset( $_POST['product'] ) ? (int) $_POST['product'] : 0;
		if ( ! current_user_can( $product ? 'edit_post' : 'manage_woocommerce', $product ) || ! Settings::connected() ) {
			wp_send_json_error( null, 403 );
		}
		Api::hurry();
		ob_start();
		if ( $product ) {
			self::draw_preview( $product );
		} else {
			Health::draw();
		}
		wp_send_json_success( ob_get_clean() );
	}

	/**
	 * Draw the preview's place on a product's edit page.
	 *
	 * @param \WP_Post $post The product.
	 */
	public static function preview( $post ) {
		self::draw( (int) $post->ID );
	}

	/**
	 * Draw what the service recommends for a product; asked by the merchant's own request.
	 *
	 * @param int $id The product.
	 */
	private static function draw_preview( $id ) {
		$reply = Api::read( '/v1/recommendations?num=5&item_id=' . (int) $id . '&key=' . rawurlencode( Settings::get( 'key' ) ) );
		if ( empty( $reply->json['recommendations'] ) ) {
			echo '<p>' . esc_html( $reply->ok() ? __( 'Nothing yet.', 'service-recommender' ) : $reply->remedy() ) . '</p>';
			return;
		}
		echo '<ol>';
		foreach ( $reply->json['recommendations'] as $product ) {
			echo '<li><a href="' . esc_url( (string) get_edit_post_link( (int) $product['id'] ) ) . '">' . esc_html( (string) $product['title'] ) . '</a></li>';
		}
		echo '</ol>';
	}
}
